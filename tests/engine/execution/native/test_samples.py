"""Every sample of every op that has a compiled kernel: the kernel's results beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.attributes import bind
from engine.core.dtypes import is_float
from engine.core.registry import OPS
from engine.core.value import Array
from engine.execution.native import kernels
from engine.execution.native.lowering import LOWERINGS, Work
from engine.execution.native.packing import calls_of
from tests.support.rows import each_row

assert kernels  # declares the lowerings
TOLERANCES = {"float32": 2e-5, "float64": 1e-12}
WIDE = ["adam_rates", "adam_update", "sgd_update", "momentum_update", "lazy_adam_update"]
"""Ops whose numbers without axes are float64."""
Compiled = Callable[[str, Sequence[Array], Sequence[Array], Any], bool]


def sampled(name: str) -> list[int]:
    """Return the numbers of the samples of an op that is a step of plans."""
    op = OPS.get(name)
    return [] if op is None or op.composite or op.view or op.memory.packs else list(range(len(op.samples)))


@each_row("dtype", list(TOLERANCES))
@each_row("name", [name for name in sorted(LOWERINGS) if sampled(name)])
def test_kernels_give_the_results_of_numpy_on_samples(name: str, dtype: str, compiled: Compiled) -> None:
    op = OPS[name]
    for number in sampled(name):
        attrs = bind(name, op.attributes, op.samples[number].attrs)
        given = [np.asarray(x) for x in op.samples[number].arrays(f"{name}-{number}")]
        inputs = [x.astype(dtype) if x.dtype.kind == "f" and (x.ndim or name not in WIDE) else x for x in given]
        if is_float(attrs.get("dtype") or np.dtype(bool)) and not any(x.dtype.kind == "f" for x in given):
            attrs["dtype"] = np.dtype(dtype)
        with np.errstate(all="ignore"):
            made = op.body(*inputs, **attrs)
        wanted = [np.asarray(x) for x in (made if op.multi_output else (made,))]
        found = [np.full(x.shape, 7, x.dtype) for x in wanted]
        if calls_of(name, Work(inputs, found, attrs)) is None:
            continue
        assert compiled(name, inputs, found, attrs), number
        for actual, expected in zip(found, wanted, strict=True):
            if expected.dtype.kind == "f" and not op.random:
                np.testing.assert_allclose(actual, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])
            else:
                np.testing.assert_array_equal(actual, expected)
