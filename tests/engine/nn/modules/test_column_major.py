"""The operations of matrices [features, batch], and whole trainings in that layout."""

import math

import numpy as np
import pytest

import engine
from engine import ops
from tests.support.rows import each_row

A, B = np.sin(np.arange(6.0)).reshape(2, 3), np.cos(np.arange(12.0)).reshape(3, 4)


def gradients(function, *arrays):
    """Return the value and the gradients of the sum of its elements, each weighted with its number."""
    leaves = [engine.parameter(array) for array in arrays]
    y = function(*leaves)
    weights = np.arange(1.0, y.size + 1).reshape(y.shape)
    ops.sum(y * weights).backward()
    return y.numpy(), weights, [leaf.grad.numpy() for leaf in leaves]


def test_a_matrix_product_pulls_back_through_the_other_factor():
    y, g, (da, db) = gradients(ops.matmul, A, B)
    np.testing.assert_allclose(y, A @ B)
    np.testing.assert_allclose(da, g @ B.T)
    np.testing.assert_allclose(db, A.T @ g)


@each_row("shape", [(2, 1), (1, 3), (1, 1), (2, 3)])
def test_a_broadcast_operand_gets_the_sum_over_what_it_was_broadcast_to(shape):
    other = np.full(shape, 2.0)
    axes = tuple(axis for axis in (0, 1) if shape[axis] == 1 and (2, 3)[axis] > 1)
    for op, slope_a, slope_b in (
        (ops.add, 1.0, 1.0),
        (ops.sub, 1.0, -1.0),
        (ops.mul, 2.0, A),
    ):
        for turned in (False, True):
            first, second = (other, A) if turned else (A, other)
            _, g, found = gradients(op, first, second)
            da, db = found[::-1] if turned else found
            sign = -1.0 if turned and op is ops.sub else 1.0
            np.testing.assert_allclose(da, sign * g * slope_a)
            np.testing.assert_allclose(db, sign * (g * slope_b).sum(axis=axes, keepdims=True))


def test_relu_has_slope_0_at_0():
    y, _, (dx,) = gradients(ops.relu, np.array([[-1.0, 0.0, 2.0]]))
    assert (y.tolist(), dx.tolist()) == ([[0, 0, 2]], [[0, 0, 3]])


@pytest.mark.parametrize(("op", "ends"), [(ops.sigmoid, [0, 1]), (ops.tanh, [-1, 1])])
def test_saturated_activations_have_slope_0_and_no_nan(op, ends):
    y, _, (dx,) = gradients(op, np.array([[-1000.0, 1000.0]]))
    assert (y.tolist(), dx.tolist()) == ([ends], [[0, 0]])


def test_gelu_by_the_error_function_and_by_tanh():
    assert ops.gelu(np.float64(1)).item() == pytest.approx(0.841345, abs=1e-6)
    assert ops.gelu(np.float64(1), approximate="tanh").item() == pytest.approx(0.841192, abs=1e-6)


def test_softmax_over_the_classes_of_each_column_sums_to_1():
    y, g, (dx,) = gradients(lambda x: ops.softmax(x, axis=0), B)
    np.testing.assert_allclose(y.sum(axis=0), 1)
    np.testing.assert_allclose(y, np.exp(B) / np.exp(B).sum(axis=0))
    np.testing.assert_allclose(dx, y * (g - (y * g).sum(axis=0)))
    np.testing.assert_allclose(ops.softmax(B.T).numpy(), y.T)


def test_sums_and_means_of_all_and_of_an_axis():
    assert ops.sum(A, keepdims=True).shape == (1, 1)
    y, _, (dx,) = gradients(lambda x: ops.mean(x, keepdims=True), A)
    np.testing.assert_allclose(y, [[A.mean()]])
    np.testing.assert_array_equal(dx, np.full((2, 3), 1 / 6))
    y, g, (dx,) = gradients(lambda x: ops.sum(x, axis=1, keepdims=True), A)
    np.testing.assert_array_equal(dx, np.broadcast_to(g, (2, 3)))


def test_a_transposed_matrix_has_its_gradient_transposed():
    y, g, (dx,) = gradients(ops.transpose, A)
    np.testing.assert_array_equal(y, A.T)
    np.testing.assert_array_equal(dx, g.T)


@each_row(
    ("function", "slope"),
    [
        (lambda x: ops.scale(x, factor=2.5), lambda x: 2.5 + 0 * x),
        (ops.exp, np.exp),
        (ops.log, lambda x: 1 / x),
        (lambda x: x**3, lambda x: 3 * x**2),
        (lambda x: ops.clamp(x, min=0.5, max=2.0, strict=True), lambda x: 1.0 * ((x > 0.5) & (x < 2.0))),
    ],
    ids=["scale", "exp", "log", "pow", "clamp with slope 0 at its bounds"],
)
def test_elementwise_operations_have_their_slopes(function, slope):
    x = np.array([[0.25, 0.5, 1.0], [1.5, 2.0, 3.0]])
    _, g, (dx,) = gradients(function, x)
    np.testing.assert_allclose(dx, g * slope(x))


def test_gradients_are_checked_by_central_differences():
    assert engine.gradcheck(lambda w, b: ops.tanh(w @ A + b), [np.cos(A.T), np.ones((3, 1))], eps=1e-5)


def clusters():
    """Three clusters of 50 examples in four features: x [4, 150], one-hot y [3, 150]."""
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((4, 3)) * 2
    classes = np.arange(150) % 3
    return centres[:, classes] + 0.7 * generator.standard_normal((4, 150)), np.eye(3)[:, classes]


def test_a_stack_is_trained_with_every_object_in_columns():
    x, y = clusters()
    model = engine.Sequential(
        {"layer": "linear", "units": 16, "activation": "relu", "start": "glorot"},
        "batch_norm",
        ("dropout", {"p": 0.3}),
        {"layer": "linear", "units": 3, "start": "glorot"},
        inputs=(4,),
        seed=42,
        dtype="float64",
        layout="col",
        naming="ggmlR",
    )
    optimizer = engine.TapeOptimizer(model.parameters(), "adam", lr=0.02)
    scheduler = engine.Scheduler(optimizer, "cosine", t_max=15, eta_min=1e-5)
    loader = engine.DataLoader(x[:, :120], y[:, :120], batch_size=32, layout="col", seed=1)
    engine.seed(1)
    model.train()
    for _ in range(15):
        for batch in loader.epoch():
            with engine.tape.tape():
                loss = engine.softmax_cross_entropy_loss(model(batch.x), batch.y, layout="col")
            found = engine.gradients_by_name(loss)
            engine.clip_gradients(found, 5.0)
            optimizer.step(found)
            optimizer.zero_grad()
        scheduler.step()
    assert set(found) == set(model.parameters())
    assert optimizer.groups[0].lr == pytest.approx(1e-5)
    logits = engine.predict_in_chunks(model, x[:, 120:], chunk=7)
    assert np.mean(logits.argmax(axis=0) == y[:, 120:].argmax(axis=0)) > 0.9


def test_a_network_of_bare_parameters_is_trained_in_columns():
    x, y = clusters()
    generator = np.random.default_rng(7)
    w1 = engine.parameter(generator.standard_normal((16, 4)) * math.sqrt(2 / 4), name="W1")
    b1 = engine.parameter(np.zeros((16, 1)), name="b1")
    w2 = engine.parameter(generator.standard_normal((3, 16)) * math.sqrt(2 / 16), name="W2")
    b2 = engine.parameter(np.zeros((3, 1)), name="b2")
    optimizer = engine.TapeOptimizer({"W1": w1, "b1": b1, "W2": w2, "b2": b2}, "adam", lr=0.02)
    losses = []
    for _ in range(40):
        logits = w2 @ ops.relu(w1 @ x + b1) + b2
        loss = engine.softmax_cross_entropy_loss(logits, y, layout="col")
        optimizer.step(engine.gradients_by_name(loss))
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.25 * losses[0]
