"""Losses over classes in both layouts, and for every kind of target."""

import numpy as np
import pytest

import engine
from engine import ops

LOGITS = np.sin(np.arange(12.0)).reshape(4, 3) * 3
CLASSES = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3)[CLASSES]


def loss_and_gradient(loss, *operands, **options):
    x = engine.parameter(operands[0])
    y = loss(x, *operands[1:], **options)
    y.backward()
    return y.item(), x.grad.numpy()


@pytest.mark.parametrize(
    ("target", "probabilities"),
    [(CLASSES, ONE_HOT), (ONE_HOT, ONE_HOT), (0.8 * ONE_HOT + 0.2 / 3, 0.8 * ONE_HOT + 0.2 / 3)],
    ids=["classes", "one-hot", "soft"],
)
@pytest.mark.parametrize("layout", ["row", "col"])
def test_classes_one_hot_and_soft_targets_agree_with_the_exact_log_softmax(target, probabilities, layout):
    turn = np.transpose if layout == "col" else np.asarray
    found, gradient = loss_and_gradient(engine.softmax_cross_entropy_loss, turn(LOGITS), turn(target), layout=layout)
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    assert found == pytest.approx(-(probabilities * np.log(p)).sum() / 4, rel=1e-14)
    np.testing.assert_allclose(turn(gradient), (p - probabilities) / 4, rtol=1e-12, atol=1e-16)


def test_a_hopeless_logit_costs_its_exact_price():
    assert engine.softmax_cross_entropy_loss(np.array([[1000.0, 0.0]]), np.array([1])).item() == 1000


@pytest.mark.parametrize("layout", ["row", "col"])
def test_probabilities_are_limited_before_their_logarithm(layout):
    turn = np.transpose if layout == "col" else np.asarray
    p = np.array([[0.0, 1.0], [0.25, 0.75]])
    y = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = engine.probability_cross_entropy_loss(turn(p), turn(y), layout=layout).item()
    assert found == pytest.approx((-np.log(1e-7) - 0.5 * np.log(0.25 * 0.75)) / 2)


def test_a_weighted_squared_error_is_divided_by_its_weights():
    x, y, w = np.array([1.0, 2.0, 4.0]), np.zeros(3), np.array([1.0, 0.0, 2.0])
    found, gradient = loss_and_gradient(ops.mse_loss, x, y, w)
    assert found == (1 + 32) / 3
    np.testing.assert_allclose(gradient, 2 * w * x / 3)
    assert ops.mse_loss(x, y, w, reduction="sum").item() == 33
    with pytest.raises(engine.ShapeError, match="weight"):
        ops.mse_loss(x, y, np.ones((2, 3)))
