"""Derivatives of functions: values known by hand, nesting, and agreement of the different ways."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import ops
from engine.autograd.differentiate import (
    grad,
    gradcheck,
    gradgradcheck,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_grad,
    vhp,
    vjp,
)
from engine.autograd.function import Context
from tests.support.rows import each_row

X = np.array([1.0, 2.0])


def cube(x: engine.Value) -> engine.Value:
    return ops.sum(x * x * x)


def test_grad_and_value() -> None:
    value, gradient = value_and_grad(cube)(X)
    assert value.item() == 9
    np.testing.assert_array_equal(gradient.numpy(), [3, 12])


def test_grad_by_several_arguments_gives_a_tuple() -> None:
    by_a, by_b = grad(lambda a, b: ops.sum(a * b), (0, 1))(X, X + 1)
    np.testing.assert_array_equal(by_a.numpy(), X + 1)
    np.testing.assert_array_equal(by_b.numpy(), X)


def test_grad_nests_to_any_order() -> None:
    function = lambda x: x * x * x * x  # noqa: E731
    derivative = function
    for expected in [32.0, 48.0, 48.0, 24.0, 0.0]:
        derivative = grad(derivative)
        assert derivative(np.float64(2.0)).item() == expected


def test_a_constant_function_has_gradient_zero() -> None:
    np.testing.assert_array_equal(grad(lambda x: engine.tensor(1.0))(X).numpy(), [0, 0])


def test_hvp_equals_the_hessian_times_the_vector() -> None:
    vector = np.array([1.0, -2.0])
    whole = hessian(cube)(X).numpy()
    np.testing.assert_array_equal(whole, np.diag([6.0, 12.0]))
    np.testing.assert_array_equal(hvp(cube, (X,), (vector,))[0].numpy(), whole @ vector)


def test_jacobians_by_rows_and_by_columns_agree() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    function = lambda x: ops.exp(x).sum(axis=1)  # noqa: E731
    by_rows = jacobian(function)(matrix).numpy()
    expected = np.zeros((2, 2, 3))
    expected[0, 0], expected[1, 1] = np.exp(matrix)
    np.testing.assert_allclose(by_rows, expected)
    for options in ({"forward": True}, {"vectorize": True}, {"forward": True, "vectorize": True}):
        np.testing.assert_allclose(jacobian(function, **options)(matrix).numpy(), expected)


def test_jvp_is_the_jacobian_times_the_tangent() -> None:
    weights = np.random.default_rng(0).standard_normal((3, 2))
    function = lambda x: ops.tanh(ops.matmul(x, weights))  # noqa: E731
    point, tangent = np.array([0.1, -0.4, 0.7]), np.array([1.0, 2.0, -1.0])
    value, pushed = jvp(function, (point,), (tangent,))
    np.testing.assert_allclose(value.numpy(), np.tanh(point @ weights))
    np.testing.assert_allclose(pushed.numpy(), jacobian(function)(point).numpy() @ tangent)


def test_jvp_of_a_linear_function_and_of_a_constant_one() -> None:
    assert jvp(lambda x: x * 3.0, (X,), (X,))[1].numpy().tolist() == [3, 6]
    assert jvp(lambda x: engine.tensor(X), (X,), (X,))[1].numpy().tolist() == [0, 0]


def test_gradients_of_gradients_through_jvp() -> None:
    second = grad(lambda x: ops.sum(jvp(cube, (x,), (X,))[1]))(X)
    np.testing.assert_array_equal(second.numpy(), 6 * X * X)


def test_vjp_takes_a_cotangent_of_exactly_the_outputs_shape() -> None:
    output, pull = vjp(lambda x: x * 2.0, X)
    assert output.numpy().tolist() == [2, 4]
    assert pull(np.array([1.0, 10.0]))[0].numpy().tolist() == [2, 20]
    with pytest.raises(engine.ShapeError, match="must be equal"):
        pull(np.array([1.0]))


def test_gradcheck_passes_what_is_right_and_catches_what_is_wrong() -> None:
    good = lambda x, y: ops.sin(x) * y  # noqa: E731
    assert gradcheck(good, [X, X + 1])
    assert gradgradcheck(good, [X, X + 1])
    with pytest.raises(engine.GradientError, match="argument 0 is off"):
        gradcheck(lambda x: ops.exp(x) + ops.stop_gradient(ops.exp(x)), [X])
    with pytest.raises(engine.DTypeError, match="float64"):
        gradcheck(good, [X.astype("float32"), X])


def test_integers_have_no_gradient() -> None:
    with pytest.raises(engine.DTypeError, match="argument 0 is int64"):
        grad(lambda x: ops.sum(x))(np.arange(3))


def test_the_products_with_a_hessian_agree_from_both_sides() -> None:
    def function(x: engine.Value, y: engine.Value) -> engine.Value:
        return ops.sum(ops.sin(x) * y * y) + ops.sum(x * x * x)

    generator = np.random.default_rng(0)
    x, y, u, v = generator.standard_normal((4, 3))
    left, right = vhp(function, (x, y), (u, v)), hvp(function, (x, y), (u, v))
    by_x = -np.sin(x) * y * y * u + 6 * x * u + np.cos(x) * 2 * y * v
    by_y = np.cos(x) * 2 * y * u + 2 * np.sin(x) * v
    for got in (left, right):
        np.testing.assert_allclose(got[0].numpy(), by_x)
        np.testing.assert_allclose(got[1].numpy(), by_y)
    assert vhp(cube, (X,), (np.ones(2),))[0].numpy().tolist() == [6, 12]
    with pytest.raises(engine.ShapeError):
        vhp(cube, (X,), (np.ones(3),))


class WrongSquare(engine.Function):
    """The square with a gradient that is off by a hundredth part."""

    @staticmethod
    def forward(context: Context, x: engine.Value) -> engine.Value:
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context: Context, g: engine.Value) -> engine.Value:
        return g * context.saved[0] * 2.02


class FlatSquare(engine.Function):
    """The square with a right gradient that has no recorded dependencies."""

    @staticmethod
    def forward(context: Context, x: engine.Value) -> engine.Value:
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context: Context, g: engine.Value) -> engine.Value:
        return g * context.saved[0].detach() * 2


def test_the_checks_catch_a_wrong_rule_of_either_order() -> None:
    with pytest.raises(engine.GradientError, match="argument 0 is off by up to"):
        gradcheck(WrongSquare.apply, [X])
    assert gradcheck(FlatSquare.apply, [X])
    with pytest.raises(engine.GradientError, match="argument 0 is off by up to"):
        gradgradcheck(FlatSquare.apply, [X])
    for check in (gradcheck, gradgradcheck):
        with pytest.raises(engine.DTypeError, match="float64"):
            check(lambda x: x * x, [X.astype("float32")])


MIDDLE = (
    lambda generator, a, b: ops.sin(a) * b,
    lambda generator, a, b: ops.tanh(a) + b,
    lambda generator, a, b: a * 0.5 - ops.exp(b * 0.1),
    lambda generator, a, b: ops.matmul(generator.standard_normal((3, 3)), a) + b[::2].sum(),
    lambda generator, a, b: ops.concat(a[1:], b[:1], axis=0),
    lambda generator, a, b: ops.where(generator.random(3) < 0.5, a, b * b),
    lambda generator, a, b: ops.cumsum(a, axis=0) / (b * b + 1),
    lambda generator, a, b: ops.softmax(a, axis=0) * ops.maximum(a, b),
)


@pytest.mark.slow
@each_row("seed", range(200))
def test_forward_mode_is_the_jacobian_times_the_tangent_on_a_random_graph(seed: int) -> None:
    def function(x: engine.Value) -> engine.Value:
        generator = np.random.default_rng(seed)
        created = [x]
        for _ in range(generator.integers(1, 7)):
            step = MIDDLE[generator.integers(len(MIDDLE))]
            created.append(step(generator, *(created[generator.integers(len(created))] for _ in range(2))))
        return ops.stack(created[-1], created[-2] * 2)

    point, tangent = np.random.default_rng(1000 + seed).standard_normal((2, 3))
    value, pushed = jvp(function, (point,), (tangent,))
    assert value.shape == pushed.shape == (2, 3)
    np.testing.assert_allclose(pushed.numpy(), jacobian(function)(point).numpy() @ tangent, rtol=1e-10, atol=1e-12)


def test_what_a_function_closes_over_is_differentiated_too():
    by_both = engine.grad(lambda w: engine.grad(lambda x: x * x * w)(3.0))
    assert by_both(2.0).item() == 6.0
    assert engine.grad(lambda w: engine.jvp(lambda x: x * x * w, (3.0,), (1.0,))[1])(2.0).item() == 6.0
    assert engine.grad(lambda w: engine.vjp(lambda x: x * x * w, 3.0)[1](1.0)[0])(2.0).item() == 6.0
    w = engine.tensor(2.0, requires_grad=True)
    engine.grad(lambda x: x * x * w)(3.0).backward()
    assert w.grad.item() == 6.0
    assert not engine.grad(lambda x: x * x)(3.0).requires_grad


def test_gradcheck_calls_the_function_with_values_and_leaves_the_arguments_alone() -> None:
    a = X.copy()
    value = engine.tensor(X, requires_grad=True)
    for check in (gradcheck, gradgradcheck):
        assert check(lambda x: (x * x).sum(), [a])
        assert check(lambda x, index: (x * x)[index].exp(), [value, np.array([1, 0])])
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(value.numpy(), X)
