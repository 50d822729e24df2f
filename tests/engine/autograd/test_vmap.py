"""vmap: nested, mixed with derivatives, with random ops, and its refusals."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import EngineError, GradientError, ShapeError
from tests.support.rows import each_row

X = np.linspace(-1.0, 1.0, 15).reshape(5, 3)
W = np.array([0.5, -1.0, 2.0])


def energy(x, w):
    return ops.sum(ops.tanh(x * w) ** 2)


def test_gradients_per_example_are_those_taken_one_by_one():
    by_x, by_w = engine.vmap(engine.grad(energy, (0, 1)), (0, None))(X, W)
    alone = [engine.grad(energy, (0, 1))(x, W) for x in X]
    np.testing.assert_array_equal(by_x.numpy(), np.stack([a.numpy() for a, _ in alone]))
    np.testing.assert_array_equal(by_w.numpy(), np.stack([b.numpy() for _, b in alone]))


def test_the_gradient_of_a_vmap_adds_over_the_examples():
    total = engine.grad(lambda w: ops.sum(engine.vmap(energy, (0, None))(X, w)))(W)
    per_example = engine.vmap(engine.grad(energy, 1), (0, None))(X, W)
    np.testing.assert_allclose(total.numpy(), per_example.numpy().sum(0), rtol=1e-12)


def test_vmaps_nest():
    table = engine.vmap(engine.vmap(lambda a, b: a * b + 1, (None, 0)), (0, None))(np.arange(3.0), np.arange(4.0))
    np.testing.assert_array_equal(table.numpy(), np.outer(np.arange(3.0), np.arange(4.0)) + 1)


def test_axes_in_and_out_are_chosen():
    actual = engine.vmap(lambda x: (x * 2, ops.sum(x)), in_axes=1, out_axes=(1, 0))(X)
    np.testing.assert_array_equal(actual[0].numpy(), X * 2)
    np.testing.assert_allclose(actual[1].numpy(), X.sum(0))


def test_a_result_that_depends_on_no_example_is_repeated():
    actual = engine.vmap(lambda x, w: (x, ops.exp(w)), (0, None))(X, W)[1]
    np.testing.assert_array_equal(actual.numpy(), np.broadcast_to(np.exp(W), (5, 3)))


def test_an_empty_batch_gives_empty_results():
    assert engine.vmap(energy, (0, None))(X[:0], W).shape == (0,)
    assert engine.vmap(engine.grad(energy, 1), (0, None))(X[:0], W).shape == (0, 3)


@pytest.mark.parametrize("forward", [False, True])
def test_a_jacobian_as_one_batch_is_that_taken_line_by_line(forward):
    def function(x):
        return ops.sum(ops.exp(x * W), axis=-1) * ops.sin(x[:, 0])

    lines = engine.jacobian(function, forward=forward)(X)
    batch = engine.jacobian(function, forward=forward, vectorize=True)(X)
    assert batch.shape == (5, 5, 3)
    assert not batch.requires_grad
    np.testing.assert_allclose(batch.numpy(), lines.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("forward", [False, True])
def test_a_hessian_as_one_batch_is_that_taken_row_by_row(forward):
    def function(x):
        return ops.sum(ops.logsumexp(x, axis=1) ** 2)

    rows = engine.hessian(function)(X)
    batch = engine.hessian(function, forward=forward, vectorize=True)(X)
    np.testing.assert_allclose(batch.numpy(), rows.numpy(), rtol=1e-10, atol=1e-13)


def test_hessian_products_batch_over_vectors():
    rows = engine.vmap(lambda v: engine.hvp(lambda x: energy(x, W), (X[0],), (v,))[0])(np.eye(3))
    np.testing.assert_allclose(
        rows.numpy(), engine.hessian(lambda x: energy(x, W))(X[0]).numpy(), rtol=1e-12, atol=1e-14
    )


def test_forward_mode_batches_over_tangents():
    columns = engine.vmap(lambda v: engine.jvp(lambda x: ops.tanh(x) * W, (X[0],), (v,))[1])(np.eye(3))
    np.testing.assert_allclose(columns.numpy(), np.diag((1 - np.tanh(X[0]) ** 2) * W), rtol=1e-12)


def test_history_passes_through_a_vmap_on_the_tape():
    w = engine.tensor(W, requires_grad=True)
    ops.sum(engine.vmap(energy, (0, None))(X, w)).backward()
    v = engine.tensor(W, requires_grad=True)
    energy(engine.tensor(X), v).backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), rtol=1e-12)


def test_closed_over_values_are_the_same_for_all_examples():
    w = engine.tensor(W, requires_grad=True)
    ops.sum(engine.vmap(lambda x: energy(x, w))(X)).backward()
    assert w.grad is not None


def test_random_ops_draw_as_asked():
    def draw(x):
        return ops.dropout(x, p=0.5, training=True)

    engine.seed(1)
    different = engine.vmap(draw, randomness="different")(np.ones((4, 50))).numpy()
    same = engine.vmap(draw, randomness="same")(np.ones((4, 50))).numpy()
    assert all((same[0] == row).all() for row in same)
    assert len({row.tobytes() for row in different}) == 4
    engine.seed(1)
    np.testing.assert_array_equal(engine.vmap(draw, randomness="different")(np.ones((4, 50))).numpy(), different)
    with pytest.raises(EngineError, match="randomness"):
        engine.vmap(draw)(np.ones((4, 5)))


@each_row(
    ("call", "error", "message"),
    [
        (lambda: engine.vmap(energy)(X, np.ones((4, 3))), ShapeError, "5 in argument 0, 4 in argument 1"),
        (lambda: engine.vmap(energy, (None, None))(X, W), ShapeError, "in_axes"),
        (lambda: engine.vmap(energy, (0,))(X, W), ShapeError, "1 axes for 2"),
        (lambda: engine.vmap(energy, 0)(X, 1.0), ShapeError, "no batch axis"),
        (lambda: engine.vmap(energy, (2, None))(X, W), ShapeError, "out of range"),
        (lambda: engine.vmap(lambda x: 3)(X), GradientError, "must return Values"),
        (lambda: engine.vmap(lambda x: x, out_axes=None)(X), ShapeError, "out_axes"),
        (lambda: engine.vmap(lambda x: x, randomness="often")(X), EngineError, "randomness"),
        (lambda: engine.vmap(lambda x: x * float(x[0]))(X), GradientError, "no data"),
    ],
)
def test_what_cannot_be_batched_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
