"""Scattering: duplicates, ties, zeros, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import EngineError, GradientError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row


def _gradients(name: str, x: Any, index: Any, src: Any, **attrs: Any) -> tuple[Any, Any]:
    left, right = (tensor(np.array(a, float), requires_grad=True) for a in (x, src))
    OPS[name](left, np.array(index), right, axis=0, **attrs).sum().backward()
    return left.grad.numpy(), right.grad.numpy()


def test_of_duplicates_the_last_counts_and_the_gradient_is_refused() -> None:
    created = OPS["scatter"](np.zeros(3), [1, 1], [5.0, 6.0], axis=0)
    np.testing.assert_array_equal(created.numpy(), [0, 6, 0])
    with pytest.raises(GradientError, match="scatter: two indices name the same place"):
        _gradients("scatter", [0, 0, 0], [1, 1], [5, 6])
    with pytest.raises(GradientError, match="two indices name the same place"):
        _gradients("scatter", [0, 0, 0], [1, -2], [5, 6])


def test_duplicates_may_be_added_or_taken_as_pytorch_does() -> None:
    for attrs in ({"accumulate": True}, {"unsafe": True}):
        np.testing.assert_array_equal(_gradients("scatter", [0, 0, 0], [1, 1], [5, 6], **attrs)[1], [1, 1])
    np.testing.assert_array_equal(_gradients("scatter", [0, 0, 0], [1, 1], [5, 6], unsafe=True)[0], [1, 0, 1])


def test_equal_indices_in_other_columns_are_no_duplicates() -> None:
    src = tensor(np.ones((1, 2)), requires_grad=True)
    OPS["scatter"](np.zeros((2, 2)), np.array([[1, 1]]), src, axis=0).sum().backward()
    np.testing.assert_array_equal(src.grad.numpy(), [[1, 1]])


def test_a_number_or_a_larger_value_may_be_scattered() -> None:
    assert OPS["scatter"](np.zeros(3), [2], 4.0, axis=0).numpy().tolist() == [0, 0, 4]
    assert OPS["scatter"](np.zeros(3), [2], [4.0, 9], axis=0).numpy().tolist() == [0, 0, 4]


REDUCED: list[tuple[str, bool, list[float]]] = [
    ("sum", True, [9, 2, 3]),
    ("sum", False, [8, 2, 3]),
    ("prod", True, [15, 2, 3]),
    ("mean", True, [3, 2, 3]),
    ("mean", False, [4, 2, 3]),
    ("amax", True, [5, 2, 3]),
    ("amin", True, [1, 2, 3]),
    ("amin", False, [3, 2, 3]),
]


@each_row(("reduce", "include_self", "wanted"), REDUCED)
def test_reductions(reduce: str, include_self: bool, wanted: list[float]) -> None:
    attrs = {"axis": 0, "reduce": reduce, "include_self": include_self}
    created = OPS["scatter_reduce"]([1.0, 2, 3], [0, 0], [5.0, 3], **attrs)
    assert created.numpy().tolist() == wanted
    if reduce != "mean":
        assert OPS["scatter_reduce"]([1, 2, 3], [0, 0], [5, 3], **attrs).numpy().tolist() == wanted


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_ties_share_the_gradient(reduce: str) -> None:
    of_x, of_src = _gradients("scatter_reduce", [3, 9], [0, 0], [3, 3], reduce=reduce)
    np.testing.assert_allclose(of_x, [1 / 3, 1])
    np.testing.assert_allclose(of_src, [1 / 3, 1 / 3])


@each_row(
    ("x", "src", "of_x", "of_src"),
    [
        (2.0, [0.0, 3], 0, [6, 0]),
        (0.0, [2.0, 3], 6, [0, 0]),
        (2.0, [0.0, 0], 0, [0, 0]),
        (0.0, [0.0, 0], 0, [0, 0]),
    ],
)
def test_the_gradient_of_a_product_with_zeros(x: float, src: list[float], of_x: float, of_src: list[float]) -> None:
    found = _gradients("scatter_reduce", [x], [0, 0], src, reduce="prod")
    np.testing.assert_array_equal(found[0], [of_x])
    np.testing.assert_array_equal(found[1], of_src)


def test_the_second_gradient_of_a_product_with_zeros() -> None:
    x, src = tensor(np.array([2.0]), requires_grad=True), tensor(np.array([0.0, 0.0]), requires_grad=True)
    one = [tensor(np.ones(1))]
    (first,) = pull_back([OPS["scatter_reduce"](x, np.array([0, 0]), src, axis=0, reduce="prod")], one, [src])
    assert first is not None
    (second,) = pull_back([first[0:1]], one, [src])
    assert second is not None
    np.testing.assert_array_equal(second.numpy(), [0, 2])


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("scatter", [np.zeros(3), [3], [1.0]], {"axis": 0}, "scatter: index 3 is out of range for an axis of extent 3"),
    ("scatter", [np.zeros(3), [0, 1], [1.0]], {"axis": 0}, r"the values \[1\] are fewer than the indices \[2\]"),
    (
        "scatter",
        [np.zeros((2, 2)), [[0, 0, 0]], np.zeros((1, 3))],
        {"axis": 0},
        r"must fit in \[2, 2\] on every axis but 0",
    ),
    ("scatter", [np.zeros(3), [0.5], [1.0]], {"axis": 0}, "needs integer indices"),
    ("scatter", [np.zeros(3, int), [0], [1.5]], {"axis": 0}, "do not fit into int64"),
    ("scatter_reduce", [np.zeros(3), [0], [1.0]], {"axis": 0, "reduce": "median"}, "one of 'sum'"),
    ("scatter_reduce", [[1, 2], [0], [1]], {"axis": 0, "reduce": "mean"}, "mean of int64 is not defined"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*inputs, **attrs)
