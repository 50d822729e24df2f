"""Predictions in chunks are those of all examples at once."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError
from tests.support.rows import each_row


def model(layout):
    return engine.Sequential(
        ("linear", {"units": 8, "activation": "relu"}), "batch_norm", ("dropout", {"p": 0.5}), ("linear", {"units": 3}),
        inputs=(4,), seed=0, dtype="float64", layout=layout,
    )  # fmt: skip


@each_row("chunk", [1, 7, 30, 64])
def test_chunks_of_columns_give_what_all_columns_give(chunk):
    net, x = model("col"), np.sin(np.arange(120.0)).reshape(4, 30)
    net(x)
    whole = net.eval()(x).numpy()
    parts = engine.predict_in_chunks(net, x, chunk=chunk)
    assert parts.shape == (3, 30)
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-12)
    rows = model("row")
    rows.load_state_dict(net.state_dict())
    np.testing.assert_allclose(engine.predict_in_chunks(rows, x.T, chunk=chunk).T, whole, rtol=1e-12, atol=1e-12)


def test_modes_come_back_and_nothing_is_recorded():
    net = model("row")
    net.dropout_0.eval()
    engine.predict_in_chunks(net, np.ones((3, 4)))
    assert net.training
    assert net.linear_0.training
    assert not net.dropout_0.training
    assert not net.buffers()["batch_norm_0.running_mean"].numpy().any()


def test_no_rows_give_no_rows_and_a_faulty_chunk_is_refused():
    assert engine.predict_in_chunks(model("row"), np.ones((0, 4))).shape == (0, 3)
    with pytest.raises(AttributeValueError, match="chunk"):
        engine.predict_in_chunks(model("row"), np.ones((2, 4)), chunk=0)


def test_the_share_of_right_classes_of_what_was_predicted():
    net, x = model("col"), np.sin(np.arange(120.0)).reshape(4, 30)
    y = np.arange(30) % 3
    optimizer = engine.TapeOptimizer(net.parameters(), "adam", lr=0.05)
    engine.seed(0)
    for _ in range(60):
        optimizer.step(engine.gradients_by_name(engine.softmax_cross_entropy_loss(net(x), y, layout="col")))
    probabilities = ops.softmax(engine.predict_in_chunks(net, x, chunk=7), axis=0).numpy()
    np.testing.assert_allclose(probabilities.sum(axis=0), 1)
    share = np.mean(probabilities.argmax(axis=0) == y)
    assert ops.accuracy(probabilities.T, y).item() == pytest.approx(share)
    assert share > 0.6


LOGITS = np.sin(np.arange(12.0)).reshape(4, 3) * 3
CLASSES = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3)[CLASSES]


def loss_and_gradient(loss, *operands, **options):
    x = engine.parameter(operands[0])
    y = loss(x, *operands[1:], **options)
    y.backward()
    return y.item(), x.grad.numpy()


@each_row(
    ("target", "probabilities"),
    [(CLASSES, ONE_HOT), (ONE_HOT, ONE_HOT), (0.8 * ONE_HOT + 0.2 / 3, 0.8 * ONE_HOT + 0.2 / 3)],
    ids=["classes", "one-hot", "soft"],
)
@each_row("layout", ["row", "col"])
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
