"""Write data/extremes.npz: ops at extreme finite numbers, with what PyTorch gives to second order.

Run with a Python that has torch 2.13, numpy and expecttest:  python tests/engine/golden/make_extremes.py
An elementwise op of one input is asked at every number of `SIZES`, one of two or three at every combination of fewer.
Reductions, normalisations and losses are asked at their samples, multiplied by each of `FACTORS`. test_extremes.py
reads the file and needs none of those but NumPy.
"""

from __future__ import annotations

import copy
import itertools
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from call import NotOffered
from entry import Entry
from make_golden import DATA, Store, candidates_of, elements, record, stored, tensors_of
from mapping import ELEMENTWISE, NETWORKS, REDUCTIONS
from torch.testing._internal.common_methods_invocations import op_db

# fmt: off
SIZES = {
    torch.float64: [
        [5e-324, 1e-310, 2.3e-308, 1e-200, 1e-20, 1e-8, 0.3, 1.0, 2.0, 7.5, 40.0, 300.0, 710.0, 1e5, 1e16, 1e150, 1e200,
         1.7e308],
        [1e-310, 1e-160, 0.3, 2.0, 40.0, 1e160, 1.7e308],
        [1e-310, 0.3, 1e160, 1.7e308],
    ],
    torch.float32: [
        [1e-45, 1e-40, 1.2e-38, 1e-25, 1e-10, 1e-4, 0.3, 1.0, 2.0, 7.5, 20.0, 89.0, 1e3, 1e8, 1e18, 1e25, 3.4e38],
        [1e-40, 1e-22, 0.3, 2.0, 20.0, 1e22, 3.4e38],
        [1e-40, 0.3, 1e22, 3.4e38],
    ],
}
# fmt: on
"""Sizes of the numbers that an op of one, two or three inputs is asked at, besides 0."""
FACTORS = (1e-310, 1e-160, 1e-30, 1e30, 1e160, 1e306)
MOST_ELEMENTS, MOST_SAMPLES = 60, 5
"""Of an op that is no elementwise one: the size of a sample, and how many are taken."""
REFUSED = {"native_batch_norm", "nn.functional.batch_norm", "nn.functional.hardshrink"}
"""Samples that our op refuses: a negative momentum, a negative width."""


def grids(dtype: torch.dtype, inputs: int) -> list[torch.Tensor]:
    """Every combination of the numbers, with both signs and both zeros: one vector an input."""
    numbers = [sign * size for size in (0.0, *SIZES[dtype][inputs - 1]) for sign in (1, -1)]
    columns = zip(*itertools.product(numbers, repeat=inputs), strict=True)
    return [torch.tensor(column, dtype=dtype) for column in columns]


def placed(value: Any, grid: list[torch.Tensor]) -> Any:
    """Put the next vector in the place of each floating tensor of a nest."""
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point():
            raise NotOffered("an input that is not floating")
        return grid.pop(0).clone().requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(placed(item, grid) for item in value)
    return {key: placed(item, grid) for key, item in value.items()} if isinstance(value, dict) else value


def scaled(value: Any, factor: float) -> Any:
    """Multiply the floating tensors of a nest."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return (value.detach() * factor).requires_grad_(value.requires_grad)
    return type(value)(scaled(item, factor) for item in value) if isinstance(value, list | tuple) else value


def on_grids(info: Any, entry: Entry) -> Iterator[tuple[Any, Any]]:
    """Samples of an elementwise op on the numbers, one for each set of attributes, with what distinguishes it."""
    for dtype in SIZES:
        if dtype not in info.dtypes:
            continue
        for sample in info.sample_inputs("cpu", dtype, requires_grad=info.supports_autograd):
            count = len(tensors_of([sample.input, sample.args, sample.kwargs]))
            if not 1 <= count <= 3:
                continue
            changed, grid = copy.copy(sample), grids(dtype, count)
            try:
                changed.input, changed.args = placed(sample.input, grid), placed(tuple(sample.args), grid)
                changed.kwargs = placed(dict(sample.kwargs), grid)
                call = entry.call([changed.input, *changed.args], dict(changed.kwargs))
            except NotOffered:
                continue
            yield changed, (call.op, str(call.attrs), [isinstance(v, torch.Tensor) or v for v in call.inputs.values()])


def scaled_samples(info: Any, entry: Entry) -> Iterator[tuple[Any, Any]]:
    """The first small samples of an op of each set of arguments, multiplied by each factor."""
    seen: set[Any] = set()
    for _, sample in candidates_of(info, entry, Counter()):
        kind = (tuple(sorted(sample.kwargs)), len(sample.args))
        if elements([sample.input, sample.args]) > MOST_ELEMENTS or kind in seen or len(seen) == MOST_SAMPLES:
            continue
        seen.add(kind)
        for factor in FACTORS:
            changed = copy.copy(sample)
            changed.input, changed.args = scaled(sample.input, factor), scaled(tuple(sample.args), factor)
            yield changed, (kind, factor)


def recorded(info: Any, entry: Entry, sample: Any) -> dict[str, Any] | None:
    """Run a sample, to second order if PyTorch can; None if it refuses."""
    for again in (True, False):
        try:
            return record(info, entry, 0, sample, again)
        except (RuntimeError, ValueError, IndexError, NotImplementedError):
            continue
    return None


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    infos = {info.name + ("|" + info.variant_test_name if info.variant_test_name else ""): info for info in op_db}
    store, samples = Store(), []
    for name, entry in {**ELEMENTWISE, **REDUCTIONS, **NETWORKS}.items():
        if name in REFUSED:
            continue
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        seen = set()
        for sample, kind in (on_grids if name in ELEMENTWISE else scaled_samples)(infos[name], entry):
            key = repr((kind, next(t.dtype for t in tensors_of([sample.input, sample.args]))))
            created = None if key in seen else recorded(infos[name], entry, sample)
            seen.add(key)
            if created is not None and not isinstance(created["outputs"][0], bool):
                samples.append({"torch": name, **stored(store, created)})
    store.write(DATA / "extremes.npz", samples)


if __name__ == "__main__":
    main()
