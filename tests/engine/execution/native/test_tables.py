"""Compiled lookups and sums by index against NumPy's, and what is no index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
DTYPES = ("float32", "float64")
INDICES = ("int32", "int64")
FEW_USED = 40_000
"""Rows of a table so large that it gets no sum of float64 for each number."""


def numbers(*shape: int) -> Array:
    """Draw normal numbers."""
    return np.random.default_rng([*shape]).standard_normal(shape)


def indices(low: int, high: int, *shape: int) -> Array:
    """Draw whole numbers."""
    return np.random.default_rng([*shape, high]).integers(low, high, shape)


@each_row("kind", INDICES)
@each_row("dtype", DTYPES)
def test_rows_are_looked_up(dtype: str, kind: str, run_both: RunBoth) -> None:
    """Counted from the end too; rows may have several axes or be single numbers."""
    index = indices(-5, 5, 4, 3).astype(kind)
    for table in (numbers(5, 17), numbers(5, 2, 3), numbers(5)):
        ((actual,), (wanted,)) = run_both("embedding", table.astype(dtype), index)
        np.testing.assert_array_equal(actual, wanted)


@each_row("kind", INDICES)
@each_row("dtype", DTYPES)
@each_row("padding", [None, 2, -1])
@each_row("rows", [7, FEW_USED])
def test_rows_are_added_up_by_index(dtype: str, kind: str, padding: int | None, rows: int, run_both: RunBoth) -> None:
    """In the table's rows that some index names; the others and the padding row are 0."""
    index = indices(-7, 7, 30, 4).astype(kind) // 2
    rtol = 1e-5 if dtype == "float32" else 1e-13
    for x in (numbers(30, 4, 17), numbers(30, 4), numbers(30, 4, 40)[..., 3:9]):
        ((actual,), (wanted,)) = run_both("add_rows", x.astype(dtype), index, rows=rows, padding_idx=padding)
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("rows", [600, FEW_USED])
def test_lists_of_rows_are_added_up_one_after_another(
    dtype: str, padding: int | None, rows: int, run_both: RunBoth
) -> None:
    """As by a table for each; more rows than one digit of the sort counts, of which no list has all."""
    lists = [(count, indices(-600, 600, count)) for count in (700, 1, 300)]
    operands = [part for count, index in lists for part in (numbers(count, 5).astype(dtype), index)]
    ((actual,), (wanted,)) = run_both("add_all_rows", *operands, rows=rows, padding_idx=padding)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance)
    tables = [run_both("add_rows", *operands[at : at + 2], rows=rows, padding_idx=padding)[0][0] for at in (0, 2, 4)]
    np.testing.assert_array_equal(actual, tables[0] + tables[1] + tables[2])


@pytest.mark.parametrize("rows", [2, 100 * FEW_USED])
def test_a_long_sum_of_rows_keeps_its_digits(rows: int, run_both: RunBoth) -> None:
    """Of a hundred thousand rows with one index."""
    x = np.full((100_000, 2), 0.1, np.float32)
    ((actual,), _) = run_both("add_rows", x, np.ones(len(x), np.int64), rows=rows)
    np.testing.assert_allclose(actual[1], [10_000, 10_000], rtol=1e-6)
    assert not actual[0].any()
    assert not actual[2:].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_picked_and_placed_along_the_last_axis(dtype: str, run_both: RunBoth) -> None:
    """Several of a row; what is placed twice adds up."""
    index = indices(-6, 6, 3, 4, 9)
    ((actual,), (wanted,)) = run_both("gather", numbers(3, 4, 6).astype(dtype), index, axis=-1)
    np.testing.assert_array_equal(actual, wanted)
    ((actual,), (wanted,)) = run_both("scatter_add", numbers(3, 4, 9).astype(dtype), index, axis=2, shape=(3, 4, 6))
    np.testing.assert_allclose(actual, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_picked_and_placed_along_other_axes(dtype: str, kind: str, run_both: RunBoth) -> None:
    """By an index for each, or by one that is repeated for all elements behind the axis."""
    for axis, shape in ((0, (9, 4, 6)), (1, (3, 9, 6)), (-2, (3, 2, 6))):
        extent = (3, 4, 6)[axis]
        own = indices(-extent, extent, *shape).astype(kind)
        for index in (own, np.broadcast_to(own[..., :1], shape)):
            ((actual,), (wanted,)) = run_both("gather", numbers(3, 4, 6).astype(dtype), index, axis=axis)
            np.testing.assert_array_equal(actual, wanted)
            x = numbers(*shape).astype(dtype)
            ((actual,), (wanted,)) = run_both("scatter_add", x, index, axis=axis, shape=(3, 4, 6))
            np.testing.assert_allclose(actual, wanted, rtol=1e-6, atol=1e-6)


@each_row(
    ("op", "shapes", "attrs"),
    [
        ("embedding", [(5, 3), (2,)], {"padding_idx": None, "scale_grad_by_freq": False}),
        ("gather", [(1, 5), (1, 2)], {"axis": 1}),
        ("scatter_add", [(1, 2), (1, 2)], {"axis": 1, "shape": (1, 5)}),
        ("gather", [(5, 1), (2, 1)], {"axis": 0}),
        ("scatter_add", [(2, 1), (2, 1)], {"axis": 0, "shape": (5, 1)}),
        ("index_get", [(5, 3), (2,)], {"axes": (0,)}),
        ("index_scatter", [(2, 3), (2,)], {"axes": (0,), "shape": (5, 3)}),
        ("index_scatter", [(2, 1), (2,)], {"axes": (0,), "shape": (5, 1)}),
    ],
)
@each_row("wrong", [5, -6, 2**40])
def test_an_index_outside_is_reported_and_nothing_beyond_memory_is_touched(
    op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], wrong: int, compiled: Callable[..., bool]
) -> None:
    """The executor then calls NumPy's kernel, which raises the error."""
    index = np.array([[1, wrong]]).reshape(shapes[1])
    picked = (*shapes[1], *shapes[0][1:]) if op in ("embedding", "index_get") else shapes[1]
    out = np.zeros(attrs.get("shape", picked))
    assert not compiled(op, [numbers(*shapes[0]), index], [out], attrs)
    index[index == wrong] = 4
    assert compiled(op, [numbers(*shapes[0]), index], [out], attrs)


@pytest.mark.parametrize("rows", [7, FEW_USED])
def test_rows_without_a_place_in_the_table_are_left_out(rows: int, compiled: Callable[..., bool]) -> None:
    """The step that looked them up reports them, but only when the whole plan has run."""
    out = np.zeros((rows, 3))
    attrs = {"rows": rows, "padding_idx": None}
    assert compiled("add_rows", [np.ones((3, 3)), np.array([2**40, 3, -(2**40)])], [out], attrs)
    np.testing.assert_array_equal(out[1:], np.ones((rows - 1, 3)) * (np.arange(1, rows) == 3)[:, None])


def test_rows_that_lie_in_lots_are_added_where_they_are(run_both):
    rng = np.random.default_rng(4)
    wide = rng.standard_normal((5, 20))
    x = np.lib.stride_tricks.as_strided(wide[:, 2:], (5, 3, 4), (wide.strides[0], 4 * 8, 8))
    index = rng.integers(0, 6, (5, 3))
    (found,), (expected,) = run_both("add_rows", x, index, rows=6)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
