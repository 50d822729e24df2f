"""Listings: what is merged, and the gradients of slices and of tables that are read several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np
import pytest

from engine import ops
from engine.core.modes import tracing
from engine.core.value import Value, tensor
from engine.execution.plan.numpy_executor import NumpyExecutor
from engine.execution.plan.planner import make_plan
from engine.graph.simplify import MOST_SLICES, MOST_SUMMANDS, simplify

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


INDEX = [Value((4,), np.dtype(np.int64), None, name=f"index{place}") for place in range(MOST_SUMMANDS + 1)]
"""Which rows of a table were read, again and again."""
NAMED = {str(value.name): value for value in INDEX}


def table(place: int, *, rows: int = 9, dtype: str = "float32") -> Value:
    """Return the gradient of a table at one of its readings."""
    return ops.add_rows(ops.cast(ops.exp(X), dtype=dtype), INDEX[place], rows=rows)


def listed_tables(y: Value) -> Counter[str]:
    """Return how often each op that adds is in the listing of a sum of tables."""
    counts = Counter(each.op.name for each in simplify({"x": X, **NAMED}, {}, {"y": y}, {}).instructions)
    return Counter({name: counts[name] for name in ("add", "add_rows", "add_all_rows") if counts[name]})


@pytest.mark.parametrize(
    "total",
    [
        pytest.param(lambda t: t(0) + t(1), id="two"),
        pytest.param(lambda t: t(0) + t(1) + t(2), id="three"),
        pytest.param(lambda t: t(2) + (t(0) + t(1)), id="the last one before"),
    ],
)
def test_tables_that_are_added_up_are_one(total: Callable[[Callable[[int], Value]], Value]) -> None:
    assert listed_tables(total(table)) == {"add_all_rows": 1}
    x = np.linspace(-1, 1, X.size, dtype=np.float32).reshape(X.shape)
    data = {value.name: (np.arange(4) * (place + 3)) % 9 for place, value in enumerate(INDEX)}
    plan = make_plan({"x": X, **NAMED}, {}, {"y": total(table)}, {})
    wanted = total(lambda place: ops.add_rows(ops.exp(tensor(x)), tensor(data[f"index{place}"]), rows=9))
    executor = NumpyExecutor(plan, {})
    for name, array in {"x": x, **data}.items():
        executor.inputs[name][...] = array
    executor.run()
    np.testing.assert_array_equal(executor.outputs["y"], wanted.numpy())


@pytest.mark.parametrize(
    ("y", "counts"),
    [
        pytest.param(table(0) + table(1, rows=10)[:9], {"add": 1, "add_rows": 2}, id="of other rows"),
        pytest.param(table(0) + table(1) * 2.0, {"add": 1, "add_rows": 2}, id="one is scaled"),
        pytest.param(table(0) + table(0), {"add": 1, "add_rows": 1}, id="one twice"),
        pytest.param(table(0, dtype="float16") + table(1, dtype="float16"), {"add": 1, "add_rows": 2}, id="rounded"),
        pytest.param((table(0) + table(1)) + (table(2) + table(3)), {"add": 1, "add_all_rows": 2}, id="sums of two"),
        pytest.param(
            reduce(add, map(table, range(MOST_SUMMANDS + 1))),
            {"add": 1, "add_all_rows": 1, "add_rows": 1},
            id="too many",
        ),
    ],
)
def test_other_sums_of_tables_stay_sums(y: Value, counts: dict[str, int]) -> None:
    assert listed_tables(y) == counts


def test_large_constants_are_computed_once_and_in_not_more_than_so_many_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tracing(lambda: pytest.fail("nothing is random")):
        positions = ops.sinusoidal_encoding(length=64, dims=128)
        waves = ops.sin(positions) * 2.0
        product = ops.matrix_product(positions, positions, transpose_b=True)
        rows = ops.broadcast_to(ops.arange(128), shape=(64, 128))
        first = ops.exp(ops.slice(ops.stop_gradient(positions), axis=0, start=0, stop=2))
    assert listed(waves) == listed(first) == {}
    assert listed(product) == {"matrix_product": 1}  # of few numbers, but many operations
    monkeypatch.setattr("engine.graph.simplify.FOLD_OPERATIONS", 4 * 64 * 128)
    assert listed(waves) == {"mul": 1}
    assert listed(rows) == {"broadcast_to": 1}  # which takes no memory
