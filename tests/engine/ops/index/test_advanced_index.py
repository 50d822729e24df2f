"""Indexing with arrays and masks by NumPy's rule, and writing at indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import DTypeError, EngineError, GradientError
from engine.core.modes import tracing
from engine.core.value import Value, tensor
from engine.ops import OPS
from tests.support.rows import each_row

X = np.arange(120.0).reshape(5, 2, 3, 4)
ROWS, COLUMNS = np.array([0, -1, 2]), np.array([1, 1, -2])
MASK = X[:, :, 0, 0] % 3 == 0

INDICES: list[Any] = [
    (ROWS,),
    (ROWS[:, None], slice(None), COLUMNS),
    (slice(None), [0, 1, 1], COLUMNS),
    (slice(None), [0, 1], slice(None), [0, 3]),
    (slice(None), [0, 1], None, [0, 2]),
    (slice(None), [0, 1], ..., [0, 2], slice(None)),
    (slice(None), [0, 1], ..., [0, 2]),
    (..., ROWS),
    (1, slice(None), COLUMNS),
    (slice(None), 0, COLUMNS),
    (slice(None), 1, slice(None), ROWS),
    (slice(1, 4, 2), [1, 0], slice(0, 2)),
    (None, ROWS, 0),
    (np.array(3),),
    (np.array(3), slice(None), ROWS),
    (MASK,),
    (slice(None), X[0, :, :, 0] > 4),
    (X > 60,),
    (X[:, 0, 0, 0] > 1000,),
    (X[:, 0, 0, 0] > 30, slice(None), [1, 0, 2]),
    ([],),
    ([True, False, True, True, False],),
]


@each_row("index", INDICES)
def test_an_index_gives_what_numpy_gives(index: Any) -> None:
    for given in (index, tuple(tensor(e) if isinstance(e, np.ndarray) else e for e in index)):
        result = tensor(X)[given]
        wanted = X[index]
        assert result.shape == wanted.shape
        np.testing.assert_array_equal(result.numpy(), wanted)


def test_duplicate_indices_add_their_gradients() -> None:
    x = tensor(np.zeros(3), requires_grad=True)
    x[[0, 0, 2]].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 0, 1])
    y = tensor(np.zeros((2, 2)), requires_grad=True)
    (y[[0, 0, 1], [1, 1, 0]] * np.array([1.0, 2, 4])).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), [[0, 3], [4, 0]])


def test_float16_gradients_of_duplicates_add_up_in_float32() -> None:
    x = tensor(np.zeros(1, "float16"), requires_grad=True)
    x[np.zeros(4096, int)].backward(np.ones(4096, "float16"))
    assert x.grad.numpy() == 4096


@each_row(
    ("index", "message"),
    [
        ([5], r"index_get: index 5 is out of range for an axis of extent 5"),
        (([0], 2), "index 2 is out of range for axis 1 of extent 2"),
        (([0, 1], [0, 1, 0]), "do not broadcast"),
        ([0.5], "an index must hold integers or be a bool mask, got float64"),
        ((..., 0, ...), "one Ellipsis"),
        (np.ones((5, 3), bool), r"a mask of shape \[5, 3\] does not fit the axes of shape \[5, 2\]"),
        (np.array(True), "a mask needs at least one axis"),
        ("a", "not str"),
        (np.ones((5, 2, 3, 4, 1), bool), "too many indices: 5 for 4 axes"),
    ],
)
def test_a_bad_index_is_refused(index: Any, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        tensor(X)[index]


def _no_key() -> Value:
    raise AssertionError("no random op runs here")


def test_in_a_graph_a_mask_must_be_known() -> None:
    x = Value((2, 3), np.dtype("float32"), None)
    with tracing(_no_key):
        assert x[np.array([True, False])].shape == (1, 3)
        for give in (lambda: x[x > 0.0], lambda: x.masked_select(x > 0.0), lambda: (x > 0.0).nonzero()):
            with pytest.raises(EngineError, match="use where or masked_fill, which keep the shape"):
                give()


def test_selection_by_values() -> None:
    x = tensor(np.array([[1.0, -2], [0, 3]]), requires_grad=True)
    np.testing.assert_array_equal(OPS["nonzero"](x).numpy(), [[0, 0], [0, 1], [1, 1]])
    picked = OPS["masked_select"](x, x > 0.0)
    picked.backward(np.array([5.0, 7]))
    np.testing.assert_array_equal(picked.numpy(), [1, 3])
    np.testing.assert_array_equal(x.grad.numpy(), [[5, 0], [0, 7]])
    assert OPS["masked_select"](x, np.array([False, False])).shape == (0,)
    np.testing.assert_array_equal(OPS["masked_select"](2.0, np.array([True, False, True])).numpy(), [2, 2])


TABLE = np.zeros((3, 2))
WRITTEN: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("index_put", [TABLE, 1.0, [0, 2]], {"axes": (0,)}, [[1, 1], [0, 0], [1, 1]]),
    ("index_put", [TABLE, [1.0, 2], [0, -1], [1, 0]], {"axes": (0, 1)}, [[0, 1], [0, 0], [2, 0]]),
    ("index_put", [TABLE, 1.0, [0, 0, 2]], {"axes": (0,), "accumulate": True}, [[2, 2], [0, 0], [1, 1]]),
    ("index_put", [TABLE, [[1.0], [2], [3]], [0, 0, 2]], {"axes": (0,)}, [[2, 2], [0, 0], [3, 3]]),
    ("index_add", [TABLE, [1, 1], [[1.0, 2], [3, 4]]], {"alpha": 2.0}, [[0, 0], [8, 12], [0, 0]]),
    ("index_copy", [TABLE, [1], [[1.0], [2], [3]]], {"axis": 1}, [[0, 1], [0, 2], [0, 3]]),
    ("index_fill", [TABLE, [1, 1], 7.0], {}, [[0, 0], [7, 7], [0, 0]]),
    ("set_rows", [TABLE, [[1.0, 2]], [2]], {}, [[0, 0], [0, 0], [1, 2]]),
    ("masked_fill", [TABLE, [True, False], 4.0], {}, [[4, 0]] * 3),
]


@each_row(("name", "inputs", "attrs", "wanted"), WRITTEN)
def test_writing_at_indices(name: str, inputs: list[Any], attrs: dict[str, Any], wanted: Any) -> None:
    result = OPS[name](*inputs, **attrs)
    assert result.dtype == TABLE.dtype
    np.testing.assert_array_equal(result.numpy(), wanted)


def _gradient_of_values(**attrs: Any) -> Any:
    values = tensor(np.zeros(3), requires_grad=True)
    created = OPS["index_put"](np.zeros(2), values, np.array([1, 1, 0]), axes=(0,), **attrs)
    created.backward(np.array([5.0, 7]))
    return values.grad.numpy()


def test_the_gradient_of_values_overwritten_by_others_is_refused() -> None:
    with pytest.raises(GradientError, match="index_put: two indices name the same place"):
        _gradient_of_values()
    np.testing.assert_array_equal(_gradient_of_values(accumulate=True), [7, 7, 5])
    np.testing.assert_array_equal(_gradient_of_values(unsafe=True), [7, 7, 5])


def test_what_is_overwritten_gets_no_gradient_even_with_duplicates() -> None:
    x = tensor(np.zeros(3), requires_grad=True)
    OPS["index_put"](x, 1.0, np.array([1, 1]), axes=(0,)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1, 0, 1])


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("index_get", [TABLE, [0]], {"axes": (0, 1)}, r"axes \[0, 1\] must name the axis of each of the 1 indices"),
    ("index_get", [TABLE, [0], [0]], {"axes": (1, 0)}, "in increasing order"),
    ("index_get", [TABLE, [0.5]], {"axes": (0,)}, "needs integer indices"),
    ("index_put", [TABLE, [1.0, 2, 3], [0]], {"axes": (0,)}, "does not broadcast|do not broadcast"),
    ("index_scatter", [TABLE, [0]], {"axes": (0,), "shape": (3, 2)}, r"take values \[1, 2\], not \[3, 2\]"),
    ("index_set", [TABLE, [1.0], [0]], {"axes": (0,)}, r"take values \[1, 2\], not \[1\]"),
    ("index_add", [TABLE, [0], [[1.0]]], {}, r"1 slices of \[3, 2\] have shape \[1, 2\], not \[1, 1\]"),
    ("index_fill", [TABLE, [0], [1.0]], {}, "a value with 0 axes"),
    ("set_rows", [TABLE, [[1.0]], [0]], {}, r"take rows \[1, 2\], not \[1, 1\]"),
    ("masked_fill", [TABLE, [1, 0], 4.0], {}, "needs a bool mask, got int64"),
    ("masked_select", [TABLE, [1, 0]], {}, "a mask must be bool, got int64"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*inputs, **attrs)


def test_fractions_are_not_lost_in_integers() -> None:
    with pytest.raises(DTypeError, match="index_put: float32 values do not fit into int64"):
        OPS["index_put"](np.zeros(2, int), 0.5, [0], axes=(0,))
