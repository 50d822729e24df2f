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
OF_ONE_PASS = ["attention_backward"]
"""Ops whose inputs fit one another: with one that is shifted they compute nothing."""
SHIFT, TIMES, ULPS = 1000, 8, 8
"""Bound of an error: TIMES the error of NumPy, plus ULPS units in the last place of the largest result."""
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


@each_row("name", [name for name in sorted(LOWERINGS) if sampled(name) and name not in OF_ONE_PASS])
def test_kernels_lose_no_more_digits_than_numpy_where_inputs_are_far_from_zero(name: str, compiled: Compiled) -> None:
    op = OPS[name]
    for number in [] if op.random else sampled(name):
        attrs = bind(name, op.attributes, op.samples[number].attrs)
        given = [np.asarray(x) for x in op.samples[number].arrays(f"{name}-{number}")]
        for place in [place for place, x in enumerate(given) if x.dtype == np.float64 and x.ndim]:
            inputs = [x.astype("float32") if x.dtype.kind == "f" and (x.ndim or name not in WIDE) else x for x in given]
            inputs[place] = inputs[place] + np.float32(SHIFT)
            with np.errstate(all="ignore"):
                made = op.body(*inputs, **attrs)
                exact = op.body(*[x.astype("float64") if x.dtype.kind == "f" else x for x in inputs], **attrs)
            wanted = [np.asarray(x) for x in (made if op.multi_output else (made,))]
            found = [np.full(x.shape, 7, x.dtype) for x in wanted]
            if calls_of(name, Work(inputs, found, attrs)) is None or not compiled(name, inputs, found, attrs):
                continue
            for actual, plain, right in zip(found, wanted, exact if op.multi_output else (exact,), strict=True):
                finite = np.isfinite(plain)
                if plain.dtype == np.float32 and finite.any():
                    error, of_numpy = (abs(x[finite] - right[finite]).max() for x in (actual, plain))
                    unit = np.spacing(abs(plain[finite]).max())
                    assert error <= TIMES * of_numpy + ULPS * unit, (number, place)
