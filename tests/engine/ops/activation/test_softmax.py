"""softmax and log_softmax: infinities, empty axes, half precision, layouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy import inf, nan

from engine.core.errors import ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops.activation.softmax import log_softmax, softmax
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]


def test_softmax_gives_nothing_to_minus_infinity(derive: Derive) -> None:
    value, (gradient,) = derive(softmax, [0, -inf, 1])
    np.testing.assert_allclose(value, [0.26894142136999516, 0, 0.7310585786300049], rtol=1e-14)
    np.testing.assert_allclose(gradient, 0, atol=1e-16)


@pytest.mark.parametrize("op", [softmax, log_softmax])
def test_nothing_but_minus_infinity_gives_nan(op: object) -> None:
    np.testing.assert_array_equal(op(tensor([-inf, -inf])).numpy(), [nan, nan])


def test_the_gradient_of_log_softmax_passes_minus_infinity(derive: Derive) -> None:
    def first(x: Value) -> Value:
        return log_softmax(x)[0]

    value, (gradient,) = derive(first, [0, -inf, 1])
    assert value == pytest.approx(-1.3132616875182228, rel=1e-14)
    np.testing.assert_allclose(gradient, [0.7310585786300049, 0, -0.7310585786300049], rtol=1e-14)


def test_large_logits_do_not_overflow() -> None:
    assert softmax(tensor(np.array([6e4, 6e4], np.float16))).numpy().tolist() == [0.5, 0.5]
    assert softmax(tensor([1e38, 1e38])).numpy().tolist() == [0.5, 0.5]
    assert log_softmax(tensor([1e4, 0.0])).numpy().tolist() == [0, -1e4]


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (0,)])
def test_an_empty_axis_gives_an_empty_result(shape: tuple[int, ...]) -> None:
    assert softmax(tensor(np.zeros(shape))).shape == shape


@each_row("op", [softmax, log_softmax])
@each_row("shape", [(2000, 5), (2000, 1), (2, 1000, 3), (50, 100)])
def test_short_rows_in_numbers_give_what_each_gives_alone(op: object, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    before = x.copy()
    whole = op(tensor(x)).numpy()
    turned = op(tensor(np.moveaxis(x, -1, 0)), axis=0).numpy()
    np.testing.assert_allclose(whole, np.moveaxis(turned, 0, -1), rtol=1e-13)
    assert np.array_equal(x, before)


def test_an_axis_that_is_not_there_is_refused() -> None:
    with pytest.raises(ShapeError, match="axis 2 is out of range"):
        softmax(tensor([[1.0]]), axis=2)
