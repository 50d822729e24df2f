"""Picking and placing by index: duplicates add up, indices are checked, padding rows learn nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import DTypeError, EngineError, ShapeError
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]
TABLE = np.arange(6.0).reshape(3, 2)


def test_rows_picked_twice_get_both_gradients() -> None:
    table = tensor(TABLE, requires_grad=True)
    rows = OPS["embedding"](table, np.array([1, 1, 0]))
    rows.backward(np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]))
    assert table.grad is not None
    assert table.grad.numpy().tolist() == [[4, 4], [3, 3], [0, 0]]


def test_the_padding_row_gets_no_gradient_but_is_read() -> None:
    table = tensor(TABLE, requires_grad=True)
    rows = OPS["embedding"](table, np.array([1, 1, 0]), padding_idx=0)
    assert rows.numpy().tolist() == [[2, 3], [2, 3], [0, 1]]
    rows.backward(np.ones((3, 2)))
    assert table.grad is not None
    assert table.grad.numpy().tolist() == [[0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_indices_may_be_of_any_integer_type(dtype: str) -> None:
    index = np.array([2, 0], dtype)
    assert OPS["embedding"](TABLE, index).numpy().tolist() == [[4, 5], [0, 1]]
    assert OPS["gather"](TABLE, index[None], axis=0).numpy().tolist() == [[4, 1]]


def test_negative_indices_count_from_the_end(derive: Derive) -> None:
    index = np.array([-1, 0])
    found, (slope,) = derive(lambda table: OPS["embedding"](table, index), TABLE)
    assert found.tolist() == [[4, 5], [0, 1]]
    assert slope is not None
    assert slope.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_gathered_duplicates_add_up(derive: Derive) -> None:
    index = np.array([0, 0, 2])
    found, (slope,) = derive(lambda x: OPS["gather"](x, index, axis=0), [5.0, 6.0, 7.0])
    assert found.tolist() == [5, 5, 7]
    assert slope is not None
    assert slope.tolist() == [2, 0, 1]


def test_gather_takes_along_an_axis() -> None:
    index = np.array([[1, 1], [0, 1], [-1, 0]])
    assert OPS["gather"](TABLE, index, axis=1).numpy().tolist() == [[1, 1], [2, 3], [5, 4]]


def test_scatter_add_is_the_transpose_of_gather() -> None:
    generator = np.random.default_rng(0)
    x, index = generator.standard_normal((4, 5)), generator.integers(0, 5, (4, 3))
    g = generator.standard_normal((4, 3))
    picked = OPS["gather"](x, index, axis=1).numpy()
    placed = OPS["scatter_add"](g, index, axis=1, shape=(4, 5)).numpy()
    assert (picked * g).sum() == pytest.approx((x * placed).sum())


def test_add_rows_equals_numpys_add_at() -> None:
    generator = np.random.default_rng(0)
    index, rows = generator.integers(0, 7, 100), generator.standard_normal((100, 3))
    wanted = np.zeros((7, 3))
    np.add.at(wanted, index, rows)
    np.testing.assert_allclose(OPS["add_rows"](rows, index, rows=7).numpy(), wanted)
    assert OPS["add_rows"](np.zeros((0, 3)), np.zeros(0, np.int64), rows=2).numpy().tolist() == [[0] * 3] * 2


def test_index_select_takes_whole_slices() -> None:
    assert OPS["index_select"](TABLE, np.array([1, 1, 0]), axis=1).numpy().tolist() == [[1, 1, 0], [3, 3, 2], [5, 5, 4]]


def test_one_hot_marks_the_index() -> None:
    assert OPS["one_hot"](np.array([[0], [2]]), classes=3).numpy().tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    assert OPS["one_hot"](np.array([0]), classes=1).dtype == "float32"


REFUSED: list[tuple[str, list[Any], dict[str, Any], type[EngineError], str]] = [
    ("embedding", [TABLE, np.array([0, 3])], {}, ShapeError, "embedding: index 3 .* an axis of extent 3"),
    ("embedding", [TABLE, np.array([-4])], {}, ShapeError, "index -4 is out of range"),
    ("embedding", [TABLE, np.array([0.5])], {}, DTypeError, "embedding needs integer indices, got float64"),
    ("embedding", [np.ones(()), np.array([0])], {}, ShapeError, "a table with at least one axis"),
    ("gather", [TABLE, np.array([[2]])], {"axis": 1}, ShapeError, "gather: index 2 .* an axis of extent 2"),
    ("gather", [TABLE, np.array([0])], {"axis": 0}, ShapeError, r"indices of shape \[1\] must fit in \[3, 2\]"),
    ("gather", [TABLE, np.zeros((4, 1), int)], {"axis": 1}, ShapeError, "must fit in"),
    ("gather", [TABLE, np.zeros((3, 2))], {"axis": 1}, DTypeError, "gather needs integer indices"),
    ("scatter_add", [TABLE, np.zeros((3, 1), int)], {"axis": 0, "shape": (3, 2)}, ShapeError, "must have one shape"),
    ("index_select", [TABLE, np.zeros((1, 1), int)], {}, ShapeError, "needs a vector of indices"),
    ("one_hot", [np.array([3])], {"classes": 3}, ShapeError, "one_hot: index 3 is out of range"),
    ("one_hot", [np.array([0])], {"classes": 0}, ShapeError, "at least one class, got 0"),
    ("one_hot", [np.array([0.0])], {"classes": 2}, DTypeError, "one_hot needs integer indices"),
]


@each_row(("name", "inputs", "attrs", "error", "message"), REFUSED)
def test_a_bad_index_is_refused(
    name: str, inputs: list[Any], attrs: dict[str, Any], error: type[EngineError], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[name](*inputs, **attrs)
