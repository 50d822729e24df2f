"""Matrix products: every pair of ranks against NumPy, emptiness, float16, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import ShapeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

PAIRS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((2, 1), (1, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 2, 0), (0, 4)),
    ((0, 2, 3), (3, 4)),
]


@each_row(("left", "right"), PAIRS)
def test_products_and_their_gradients_equal_numpys(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal(left), generator.standard_normal(right)
    leaves = [tensor(a, requires_grad=True), tensor(b, requires_grad=True)]
    result = OPS["matmul"](*leaves)
    np.testing.assert_allclose(result.numpy(), np.matmul(a, b), atol=1e-12)
    assert result.shape == np.matmul(a, b).shape
    g = generator.standard_normal(result.shape)
    gradients = pull_back([result], [tensor(g)], leaves)
    for value, found in zip((a, b), gradients, strict=True):
        assert found is not None
        assert found.shape == value.shape
        # <g, a b> is linear in each factor, so its gradient times the factor is itself.
        assert (found.numpy() * value).sum() == pytest.approx((g * np.matmul(a, b)).sum())


def test_a_product_over_nothing_is_zero() -> None:
    assert OPS["matmul"](np.ones((2, 0)), np.ones((0, 3))).numpy().tolist() == [[0] * 3] * 2


def test_transposed_views_need_no_copy_to_be_right() -> None:
    a, b = tensor(np.arange(6.0).reshape(2, 3)), tensor(np.arange(8.0).reshape(2, 4))
    np.testing.assert_array_equal((a.T @ b).numpy(), a.numpy().T @ b.numpy())
    np.testing.assert_array_equal(([[1.0, 2.0]] @ a).numpy(), [[6, 9, 12]])


def test_float16_products_accumulate_in_float32() -> None:
    ones = np.ones((1, 4096), np.float16)
    assert OPS["matmul"](ones, ones.T).item() == 4096
    wide = np.array([[300.0, 300.0]], np.float16)
    assert OPS["matmul"](wide, np.array([[300.0], [-300.0]], np.float16)).item() == 0


@pytest.mark.parametrize(("a", "b", "wanted"), [("float32", "float64", "float64"), ("int64", "float32", "float32")])
def test_factors_are_brought_to_one_type(a: str, b: str, wanted: str) -> None:
    assert OPS["matmul"](np.ones((2, 2), a), np.ones((2, 2), b)).dtype == wanted


@each_row(("shape", "wanted"), [((4, 3), (4, 2)), ((3,), (2,)), ((5, 4, 3), (5, 4, 2)), ((0, 3), (0, 2))])
def test_linear_is_pytorchs(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    x, weight, bias = generator.standard_normal(shape), generator.standard_normal((2, 3)), generator.standard_normal(2)
    y = OPS["linear"](x, weight, bias)
    assert y.shape == wanted
    np.testing.assert_allclose(y.numpy(), x @ weight.T + bias, atol=1e-12)


REFUSED: list[tuple[str, list[Any], str]] = [
    ("matmul", [np.ones((2, 3)), np.ones((4, 5))], r"inner extents of \[2, 3\] and \[4, 5\] must agree"),
    ("matmul", [np.ones(3), np.ones(4)], r"inner extents of \[3\] and \[4\]"),
    ("matmul", [np.ones(()), np.ones(3)], "use mul for scalars"),
    ("matmul", [np.ones((2, 2, 3)), np.ones((3, 3, 2))], "do not broadcast"),
    ("linear", [np.ones((2, 3)), np.ones((4, 5))], r"needs a weight of shape \[out, 3\], got \[4, 5\]"),
    ("linear", [np.ones((2, 3)), np.ones(3)], r"needs a weight of shape \[out, 3\], got \[3\]"),
    ("dot", [np.ones((2, 2)), np.ones(2)], r"dot needs two vectors, got shapes \[2, 2\] and \[2\]"),
]


@each_row(("name", "inputs", "message"), REFUSED)
def test_what_does_not_fit_is_refused(name: str, inputs: list[Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        OPS[name](*inputs)
