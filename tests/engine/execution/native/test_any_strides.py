"""Law: copies and elementwise kernels on views of any shape, order of axes, steps and directions are NumPy's.

LAW_SEED repeats a run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.kernels.arrangement import copied
from engine.execution.native.lowering import Call, Work
from engine.execution.native.packing import calls_of

CASES = 600
DTYPES = (np.float32, np.float64, np.int64, np.int32, np.float16, np.bool_)
EXTENTS = (1, 2, 3, 7, 8, 9, 16, 17, 33)
"""Around those from which on vector registers are used, and of which they leave a rest."""
STEPS = (1, 1, 1, 2, -1, -2)
LARGEST = 30_000
OPS: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "ge": np.greater_equal,
    "neg": np.negative,
    "where": np.where,
}

RunCalls = Callable[[Sequence[Call]], bool]
Compiled = Callable[..., bool]


def random_shape(draw: np.random.Generator) -> tuple[int, ...]:
    """Return 1 to 5 extents whose product is not large."""
    while True:
        shape = tuple(int(extent) for extent in draw.choice(EXTENTS, draw.integers(1, 6)))
        if math.prod(shape) <= LARGEST:
            return shape


def random_view(draw: np.random.Generator, shape: Sequence[int], dtype: type) -> tuple[Array, Array]:
    """Return a view of a shape, whose axes lie in any order and go in any steps, and the array that it lies in."""
    order, steps, rest = draw.permutation(len(shape)), draw.choice(STEPS, len(shape)), draw.integers(0, 3, len(shape))
    extents = [(extent - 1) * abs(step) + 1 + more for extent, step, more in zip(shape, steps, rest, strict=True)]
    whole = (draw.standard_normal([extents[axis] for axis in order]) * 50).astype(dtype)
    stepped = whole.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    return stepped[tuple(map(slice, shape))], whole


@pytest.mark.law
def test_copies_write_what_they_are_given_and_nothing_else(run_calls: RunCalls) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(CASES):
        shape, dtype = random_shape(draw), DTYPES[draw.integers(len(DTYPES))]
        (source, _), (target, whole) = (random_view(draw, shape, dtype) for _ in range(2))
        before = whole.copy()
        calls = copied(source, target)
        if calls is None:
            continue  # NumPy copies more axes than a kernel has
        run_calls(calls)
        after = whole.copy()
        whole[...] = before
        np.copyto(target, source)
        np.testing.assert_array_equal(after, whole)


@pytest.mark.law
def test_elementwise_kernels_read_operands_of_any_layout(compiled: Compiled) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(CASES):
        shape, op = random_shape(draw), [*OPS][draw.integers(len(OPS))]
        dtypes: Sequence[type] = {"where": (np.bool_, np.float32, np.float32), "neg": (np.float32,)}.get(
            op, (np.float32, np.float32)
        )
        broadcast = [[extent if draw.random() < 0.75 else 1 for extent in shape] for _ in dtypes]
        inputs = [random_view(draw, own, dtype)[0] for own, dtype in zip(broadcast, dtypes, strict=True)]
        wanted = OPS[op](*inputs)
        actual = np.empty_like(wanted, order="C")
        if calls_of(op, Work(inputs, [actual], {})) is None:
            continue
        compiled(op, inputs, [actual], {})
        np.testing.assert_array_equal(actual, wanted)
