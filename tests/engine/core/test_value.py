"""A value by itself: what may require a gradient, what is shared, what is read without leaving a trace."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import DTypeError, GradientError, ShapeError, ops
from engine.autograd import tape
from engine.core.registry import OPS
from engine.core.value import Node, Value
from tests.support.rows import each_row


def leaf(*numbers: float) -> Value:
    return engine.tensor(np.array(numbers, float), requires_grad=True)


def numbers(value: Value | None) -> list[float]:
    assert value is not None
    return value.numpy().tolist()


@each_row("gradient", [np.array([1.0]), np.ones((1, 2)), np.array([1.0, 1.0], "float32"), [1, 1], 1.0])
def test_an_assigned_gradient_must_fit(gradient: object) -> None:
    x = leaf(1, 2)
    with pytest.raises((ShapeError, DTypeError), match=r"does not fit a value of float64\[2\]: shape and dtype"):
        x.grad = gradient
    assert x.grad is None


def test_an_assigned_gradient_is_added_to() -> None:
    x = leaf(1, 2)
    x.grad = np.array([1.0, 1.0])
    first = x.grad
    x.sum().backward()
    assert x.grad is first
    assert numbers(x.grad) == [2, 2]
    x.grad = None
    with pytest.raises(GradientError, match="its own gradient"):
        x.grad = x
    scalar = engine.tensor(3.0, requires_grad=True)
    scalar.grad = 2.0
    assert scalar.grad.numpy().dtype == np.float32


def test_an_assigned_gradient_that_cannot_be_written_is_replaced() -> None:
    x = leaf(1, 2)
    x.grad = ops.broadcast_to(engine.tensor(np.array([3.0])), shape=(2,))
    x.sum().backward()
    assert numbers(x.grad) == [4, 4]


def test_gradients_are_given_to_float_leaves_only() -> None:
    x = engine.tensor([1.0]).requires_grad_()
    y = x * 2
    assert y.requires_grad_() is y
    with pytest.raises(GradientError, match="you can only change requires_grad flags of leaf values"):
        y.requires_grad_(False)
    assert not x.requires_grad_(False).requires_grad
    for make in (lambda: engine.tensor([1]).requires_grad_(), lambda: engine.tensor([True], requires_grad=True)):
        with pytest.raises(DTypeError, match="only floating values can require gradients"):
            make()


@each_row(("first", "second", "result"), [(1, 1, 1), (1, 0, 1), (0, 1, 1), (0, 0, 0)])
def test_a_result_requires_a_gradient_when_an_input_does(first: int, second: int, result: int) -> None:
    a, b = engine.tensor([1.0], requires_grad=bool(first)), engine.tensor([1.0], requires_grad=bool(second))
    for c in (a + b, ops.matmul(a, b), ops.concat(a, b, axis=0)):
        assert c.requires_grad == bool(result)
        assert (c.node is not None) == bool(result)
        assert c.is_leaf != bool(result)


def test_a_detached_value_shares_memory_and_versions_and_has_no_history() -> None:
    x = leaf(1, 2)
    y = x * 2
    detached = y.detach()
    assert (detached.requires_grad, detached.is_leaf, detached.node) == (False, True, None)
    assert detached.numpy() is y.numpy()
    detached[0] = 9
    assert numbers(y) == [9, 4]
    assert y.version == detached.version == 1
    squared = leaf(3) * 1
    product = (squared * squared).sum()
    squared.detach().fill_(0)
    with pytest.raises(GradientError, match="is at version 1; expected version 0"):
        product.backward()


def test_one_element_becomes_a_number() -> None:
    for shape in ((), (1,), (1, 1)):
        assert engine.full(shape, 2.5).item() == 2.5
    with pytest.raises(ShapeError, match=r"exactly one element; the value has shape \[2\]"):
        engine.tensor([1.0, 2.0]).item()


def test_the_operations_of_the_cpp_examples() -> None:
    a = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert a.grad is None
    copied = a.clone()
    assert copied.requires_grad
    assert not np.shares_memory(copied.numpy(), a.numpy())
    assert numbers(engine.zeros_like(a)) == [[0, 0], [0, 0]]
    assert numbers(engine.ones_like(a, dtype="int64")) == [[1, 1], [1, 1]]
    assert numbers(a.mm(a)) == [[7, 10], [15, 22]]
    assert numbers(a.pow(2)) == [[1, 4], [9, 16]]
    assert a.mean().item() == 2.5
    copied.sum().backward()
    assert numbers(a.grad) == [[1, 1], [1, 1]]


def test_the_jacobian_example_of_the_cpp_documentation() -> None:
    x = leaf(1, 2, 3)
    y = ops.stack(x[0] * x[1], ops.sin(x[2]))
    jacobian = engine.zeros((2, 3), dtype="float64")
    for row in range(2):
        if x.grad is not None:
            x.grad.zero_()
        gradient = engine.zeros_like(y)
        gradient[row] = 1
        y.backward(gradient, retain_graph=True)
        assert x.grad is not None
        jacobian[row] = x.grad.clone()
    assert numbers(jacobian) == [[2, 1, 0], [0, 0, np.cos(3)]]


def test_reading_a_value_records_nothing() -> None:
    x = leaf(1, 2)
    y = x * 2
    before = next(Node.numbers)
    _ = (y.data, y.shape, y.dtype, y.ndim, y.size, y.nbytes, y.grad, y.requires_grad, y.node, y.numpy(), y[0:1].detach)
    created = next(Node.numbers)
    assert created == before + 2  # the slice is an operation, and the only one
    _ = (len(y), repr(y), float(y.detach().numpy()[0]), y.spec, y.key, y.version, y.is_leaf, bool(y.size), y.detach())
    assert next(Node.numbers) == created + 1


def test_the_four_parts_of_a_variable() -> None:
    x = engine.tensor([2.0], requires_grad=True, name="x")
    assert numbers(x) == [2]
    assert (x.requires_grad, x.node, x.grad) == (True, None, None)
    assert numbers(x.grad_or_zeros()) == [0]
    y = x * x
    y.backward()
    assert numbers(x.grad_or_zeros()) == [4]
    assert y.node is not None
    assert y.node.op.name == "mul"
    with pytest.raises(GradientError, match="does not require a gradient"):
        engine.tensor([2.0]).grad_or_zeros()


@pytest.mark.parametrize("data", [[[1, 2], [3]], [[1.0], 2.0], [[[1], [2]], [[3], [4, 5]]]])
def test_ragged_lists_are_refused(data: list[object]) -> None:
    with pytest.raises(ShapeError, match="ragged: every list of one level needs the same length"):
        engine.tensor(data)


def test_nested_lists_give_the_shape() -> None:
    x = engine.tensor([[[1.0], [2.0]], [[3.0], [4.0]]], requires_grad=True)
    assert (x.shape, x.dtype, x.requires_grad) == ((2, 2, 1), np.float32, True)


COMPARISONS = {
    np.equal: lambda a, b: a == b,
    np.not_equal: lambda a, b: a != b,
    np.greater: lambda a, b: a > b,
    np.less: lambda a, b: a < b,
    np.greater_equal: lambda a, b: a >= b,
    np.less_equal: lambda a, b: a <= b,
}


@each_row("reference", COMPARISONS)
def test_comparisons_are_bool_and_have_no_history(reference: np.ufunc) -> None:
    a, b = leaf(1, 2, 3), leaf(3, 2, 1)
    before = next(Node.numbers)
    result = COMPARISONS[reference](a, b)
    assert next(Node.numbers) == before + 1
    assert (result.dtype, result.requires_grad, result.node) == (np.bool_, False, None)
    assert numbers(result) == reference([1, 2, 3], [3, 2, 1]).tolist()


@each_row(
    ("make", "value", "slope"),
    [
        (lambda x: 2 / x, [1, 0.5], [-0.5, -0.125]),
        (lambda x: x / 2, [1, 2], [0.5, 0.5]),
        (lambda x: 2 - x, [0, -2], [-1, -1]),
        (lambda x: x - 2, [0, 2], [1, 1]),
        (lambda x: 2 * x, [4, 8], [2, 2]),
        (lambda x: 2 + x, [4, 6], [1, 1]),
        (lambda x: -x, [-2, -4], [-1, -1]),
        (lambda x: x**2, [4, 16], [4, 8]),
        (lambda x: 2**x, [4, 16], [4 * np.log(2), 16 * np.log(2)]),
    ],
)
def test_numbers_stand_on_both_sides(make: object, value: list[float], slope: list[float]) -> None:
    x = leaf(2, 4)
    y = make(x)
    y.sum().backward()
    assert numbers(y) == value
    np.testing.assert_allclose(numbers(x.grad), slope)


def test_reshape_squeeze_and_a_change_of_type_go_back_the_way_they_came() -> None:
    x = leaf(1, 2)
    wide = x.reshape(shape=(2, 1)).expand_dims(axis=0).to(dtype="float32")
    assert (wide.shape, wide.dtype) == ((1, 2, 1), np.float32)
    back = wide.squeeze(axis=0).squeeze(axis=1)
    assert back.shape == (2,)
    (back * np.array([3, 4], "float32")).sum().backward()
    assert x.grad is not None
    assert (numbers(x.grad), x.grad.dtype) == ([3, 4], np.float64)
    with pytest.raises(ShapeError, match="cannot squeeze axis 1 of extent 2: only axes of extent 1 can go"):
        wide.squeeze(axis=1)


@each_row("axis", [None, 0, (0, 1)])
@each_row("keepdims", [False, True])
@each_row("name", ["sum", "prod", "amax", "amin"])
def test_reductions_take_any_axes_and_keep_them_on_request(name: str, axis: object, keepdims: bool) -> None:
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    x = engine.tensor(array, requires_grad=True)
    y = OPS[name](x, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(y.numpy(), getattr(np, name)(array, axis=axis, keepdims=keepdims))
    y.sum().backward()
    reduced = getattr(np, name)(array, axis=axis, keepdims=True)
    wanted = {"sum": np.ones((2, 2)), "prod": reduced / array}.get(name, array == reduced)
    np.testing.assert_allclose(x.grad.numpy(), wanted)


def test_reductions_of_numpy_are_those_of_the_value() -> None:
    array = np.array([[1.0, 2.0], [3.0, 5.0]])
    x = engine.tensor(array, requires_grad=True)
    for name in ("sum", "mean", "max", "min", "prod", "cumsum", "argmax", "argmin"):
        y, axis = getattr(np, name)(x, axis=0), getattr(np, name)(array, axis=0)
        assert isinstance(y, engine.Value), name
        np.testing.assert_allclose(y.detach().numpy(), axis)
    np.sum(x).backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 2)))
    with pytest.raises(engine.EngineError, match="out"):
        np.sum(x, out=np.zeros(()))


def test_a_variable_of_lamppp_is_zeroed_and_added_to() -> None:
    x = leaf(1)
    (x * 2).backward()
    assert numbers(x.grad) == [2]
    (x * 3).backward()
    assert numbers(x.grad) == [5]
    x.zero_grad(set_to_none=False)
    assert numbers(x.grad) == [0]
    (x * 3).backward()
    assert numbers(x.grad) == [3]
    x.zero_grad()
    assert x.grad is None
    x.incr_grad(np.array([4.0]))
    x.incr_grad(np.array([1.0], "float32"))
    assert numbers(x.grad) == [5]
    for wrong in (np.ones(2), np.ones((1, 1)), 1.0):
        with pytest.raises(ShapeError, match="does not fit a leaf of shape"):
            x.incr_grad(wrong)
    with pytest.raises(ShapeError, match=r"shape \[1\] does not fit a leaf of shape \[2\]"):
        leaf(1, 2).incr_grad(np.ones(1))


def test_gradients_added_in_place_are_seen_by_what_saved_them() -> None:
    x, w = leaf(2), leaf(3)
    (x * 5).backward()
    assert x.grad is not None
    product = (w * x.grad).sum()
    (x * 5).backward()
    with pytest.raises(GradientError, match="is at version 1; expected version 0"):
        product.backward()
    assert tape.grad((w * x.grad).sum(), w)[0].item() == 10
