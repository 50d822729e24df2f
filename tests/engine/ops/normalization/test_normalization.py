"""Normalisation: PyTorch's edge cases, running statistics, accuracy in float32, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import DTypeError, ShapeError
from engine.core.modes import training_mode
from engine.core.value import Array, Value, tensor
from engine.ops.normalization.channel_norm import batch_norm
from engine.ops.normalization.normalization import layer_norm, rms_norm, standardize
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

ONE, ZERO = np.ones(1), np.zeros(1)


def normalized(x: object, **attrs: Any) -> tuple[Array, Array, Array]:
    """Batch norm of one channel with unit weight, from mean 0 and variance 1."""
    y, mean, var = batch_norm(np.asarray(x, np.float64), ONE, ZERO, ZERO, ONE, **attrs)
    return y.numpy(), mean.numpy(), var.numpy()


def test_batch_norm_moves_its_statistics_by_the_unbiased_variance() -> None:
    y, mean, var = normalized([[1], [3]], training=True)
    np.testing.assert_allclose(y, [[-0.9999950000374997], [0.9999950000374997]], rtol=1e-14)
    assert mean == pytest.approx([0.2], rel=1e-14)
    assert var == pytest.approx([1.1], rel=1e-14)


def test_the_gradient_of_batch_norm_goes_through_the_batch_statistics(derive: Derive) -> None:
    def weighted(x: Value) -> Value:
        return batch_norm(x, ONE, ZERO, ZERO, ONE, training=True)[0] * np.array([[1.0], [2.0]])

    _, (gradient,) = derive(weighted, [[1], [3]])
    np.testing.assert_allclose(gradient, [[-4.999925000854692e-06], [4.999925000854692e-06]], rtol=1e-8)


def test_batch_norm_out_of_training_uses_its_statistics_and_keeps_them() -> None:
    y, mean, var = batch_norm([[3.0]], [2.0], [1.0], [1.0], [4.0], training=False, eps=0.0)
    assert y.numpy().tolist() == [[3.0]]
    assert (mean.numpy().tolist(), var.numpy().tolist()) == ([1.0], [4.0])


def test_batch_norm_takes_the_mode_in_force() -> None:
    x = np.array([[1.0], [3.0]])
    with training_mode(False):
        assert np.array_equal(normalized(x)[0], normalized(x, training=False)[0])
    with training_mode(True):
        assert np.array_equal(normalized(x)[0], normalized(x, training=True)[0])


@each_row("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 2)])
def test_batch_norm_standardizes_each_channel(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(5, 2, shape)
    y, mean, var = batch_norm(x, np.ones(3), np.zeros(3), np.zeros(3), np.ones(3), training=True, momentum=1.0, eps=0.0)
    axes = (0, *range(2, len(shape)))
    np.testing.assert_allclose(y.numpy().mean(axes), 0, atol=1e-13)
    np.testing.assert_allclose(y.numpy().std(axes), 1, rtol=1e-13)
    np.testing.assert_allclose(mean.numpy(), x.mean(axes), rtol=1e-13)
    np.testing.assert_allclose(var.numpy(), x.var(axes, ddof=1), rtol=1e-13)


def test_batch_statistics_of_many_float32_rows_are_accurate() -> None:
    x = np.random.default_rng(0).normal(10, 1, (65536, 4)).astype(np.float32)
    parts = (np.full(4, start, np.float32) for start in (1, 0, 0, 1))
    _, mean, var = batch_norm(x, *parts, training=True, momentum=1.0)
    np.testing.assert_allclose(mean.numpy(), x.mean(0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(var.numpy(), x.var(0, ddof=1, dtype=np.float64), rtol=1e-5)


def test_half_precision_is_normalized_in_single() -> None:
    x = np.array([[300.0], [-300.0]], np.float16)  # 300 squared is beyond float16
    for y in (
        batch_norm(x, *(np.full(1, start, np.float32) for start in (1, 0, 0, 1)), training=True)[0],
        layer_norm(x.T),
        rms_norm(x.T),
    ):
        assert y.dtype == np.float16
        assert y.numpy().reshape(-1).tolist() == [1, -1]


def test_one_value_per_channel_is_refused_in_training_only() -> None:
    with pytest.raises(
        ShapeError, match=r"expected more than 1 value per channel when training, got input size \[1, 1\]"
    ):
        normalized([[1]], training=True)
    normalized([[1]], training=False)


def test_layer_norm_of_constants_is_zero_with_the_gradient_of_eps(derive: Derive) -> None:
    def weighted(x: Value) -> Value:
        return layer_norm(x) * np.array([1.0, 2.0, 4.0])

    value, (gradient,) = derive(weighted, [[2, 2, 2]])
    assert value.tolist() == [[0, 0, 0]]
    np.testing.assert_allclose(gradient, [[-421.6370213557839, -105.40925533894597, 527.0462766947298]], rtol=1e-12)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_weight_says_how_many_axes_layer_norm_takes(axes: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    over = tuple(range(3 - axes, 3))
    expected = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + 1e-5)
    weight, bias = (np.full(x.shape[3 - axes :], number) for number in (2.0, 0.5))
    np.testing.assert_allclose(layer_norm(x, axes=axes).numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(layer_norm(x, weight).numpy(), expected * 2, rtol=1e-13)
    np.testing.assert_allclose(layer_norm(x, weight, bias).numpy(), expected * 2 + 0.5, rtol=1e-12)


def test_rms_norm_divides_by_the_root_of_the_mean_square(derive: Derive) -> None:
    value, (gradient,) = derive(rms_norm, [[3, 4]])
    np.testing.assert_allclose(value, [[0.848528137423857, 1.131370849898476]], rtol=1e-14)
    np.testing.assert_allclose(gradient, [[0.04525483399593905, -0.03394112549695427]], rtol=1e-12)
    assert rms_norm([[0.0, 0.0]]).numpy().tolist() == [[0, 0]]
    assert rms_norm([[3.0, 4.0]], [2.0, 1.0], eps=12.5).numpy() == pytest.approx(np.array([[1.2, 0.8]]))


def test_a_transposed_input_is_standardized_alike() -> None:
    x = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)
    whole = standardize(np.ascontiguousarray(x.T), axis=1)
    turned = standardize(tensor(x).transpose(), axis=1)
    for a, b in zip(whole, turned, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-6, atol=1e-7)


REFUSED = [
    (
        lambda: layer_norm(np.zeros((2, 3)), np.ones(2)),
        ShapeError,
        r"weight has shape \[2\].*\[3\]: they must be equal",
    ),
    (lambda: layer_norm(np.zeros((2, 3)), np.ones(3), np.ones(2)), ShapeError, r"bias has shape \[2\]"),
    (lambda: layer_norm(np.zeros((2, 3)), axes=3), ShapeError, "axes 3 must be at most the 2 axes"),
    (lambda: rms_norm(np.zeros(3, np.int64)), DTypeError, "rms_norm needs floating inputs, got int64"),
    (lambda: normalized([1.0], training=True), ShapeError, "2 or 3 or 4 or 5 axes"),
    (lambda: normalized([[1, 2]], training=True), ShapeError, r"weight has shape \[1\].*needs shape \[2\]"),
]


@each_row(("call", "error", "message"), REFUSED)
def test_inputs_that_do_not_fit_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
