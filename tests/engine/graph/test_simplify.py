"""Listings: what is merged, and the gradients of slices."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import add

import numpy as np
import pytest

from engine import ops
from engine.core.value import Value
from engine.graph.simplify import MOST_SLICES, simplify

X = Value((4, 6), np.dtype(np.float32), None, name="x")
"""Along its axis of 6 slices of it are put among zeros, and added up."""


def padded(start: int, stop: int, *, axis: int = 1, step: int = 1) -> Value:
    """Return what a slice of X by these limits is the gradient of."""
    part = ops.slice(ops.exp(X), axis=axis, start=start, stop=stop, step=step)
    return ops.slice_scatter(part, axis=axis, extent=X.shape[axis], start=start, step=step)


def listed(y: Value) -> Counter[str]:
    """Return how often each op is in the listing of a value."""
    return Counter(each.op.name for each in simplify({"x": X}, {}, {"y": y}, {}).instructions)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_sum_of_slices_that_leave_nothing_out_is_their_concatenation(order: tuple[int, ...]) -> None:
    slices = [padded(0, 1), padded(1, 4), padded(4, 6)]
    first, second, third = (slices[place] for place in order)
    for y in (first + second + third, first + (second + third)):
        assert listed(y) == {"exp": 1, "slice": 3, "concat": 1, "add": 1}
    listing = simplify({"x": X}, {}, {"y": first + second + third}, {})
    (joined,) = (each for each in listing.instructions if each.op.name == "concat")
    assert [listing.specs[number].shape[1] for number in joined.inputs] == [1, 3, 2]


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(padded(0, 2) + padded(2, 5), id="one is missing"),
        pytest.param(padded(0, 4) + padded(3, 6), id="they overlap"),
        pytest.param(padded(0, 6, step=2) + padded(1, 6, step=2), id="they alternate"),
        pytest.param(padded(0, 2, axis=0) + padded(2, 6), id="they lie along different axes"),
        pytest.param(padded(0, 3) + padded(3, 6) * 2.0, id="one is scaled"),
    ],
)
def test_other_sums_of_slices_stay_sums(y: Value) -> None:
    counts = listed(y)
    assert counts["add"] == 1
    assert counts["slice_scatter"] == 2


@pytest.mark.parametrize(("count", "joined"), [(MOST_SLICES, 1), (MOST_SLICES + 1, 0)])
def test_only_so_many_slices_are_joined(count: int, joined: int) -> None:
    rows = Value((1, count), np.dtype(np.float32), None, name="rows")
    parts = [ops.slice(rows, axis=1, start=place, stop=place + 1) for place in range(count)]
    scattered = [ops.slice_scatter(part, axis=1, extent=count, start=place) for place, part in enumerate(parts)]
    listing = simplify({"rows": rows}, {}, {"y": reduce(add, scattered)}, {})
    assert Counter(each.op.name for each in listing.instructions)["concat"] == joined
