"""Predictions in chunks are those of all examples at once."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError


def model(layout):
    return engine.Sequential(
        ("linear", {"units": 8, "activation": "relu"}), "batch_norm", ("dropout", {"p": 0.5}), ("linear", {"units": 3}),
        inputs=(4,), seed=0, dtype="float64", layout=layout,
    )  # fmt: skip


@pytest.mark.parametrize("chunk", [1, 7, 30, 64])
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
