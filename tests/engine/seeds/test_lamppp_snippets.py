"""The code of Lamp++'s "Understanding Autograd", line by line and with the numbers it prints."""

import math

import numpy as np

import engine
from engine import ops
from tests.support.rows import each_row


def test_the_simplest_possible_example_prints_4() -> None:
    data = engine.tensor([2.0], device="cpu", dtype="float32")
    x = engine.tensor(data, requires_grad=True)
    y = x * x
    y.backward()
    assert x.grad.tolist() == [4.0]
    assert "4." in str(x.grad)


def test_variables_are_made_with_their_four_components() -> None:
    tensor = engine.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=(2, 3), device="cpu")
    var = engine.tensor(tensor, requires_grad=True)
    assert var.data.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert var.grad_or_zeros().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert (var.requires_grad, var.grad_fn, var.device) == (True, None, "cpu")
    for make, bounds in ((engine.zeros, (0, 0)), (engine.ones, (1, 1)), (engine.rand, (0, 1))):
        created = make([2, 3], device="cpu", dtype="float32", requires_grad=True)
        assert (created.shape, created.dtype, created.requires_grad) == ((2, 3), "float32", True)
        assert bounds[0] <= created.data.min() <= created.data.max() <= bounds[1]
    nested = engine.tensor([[1.0, 2.0], [3.0, 4.0]], device="cpu", dtype="float32", requires_grad=True)
    assert nested.shape == (2, 2)


UNARY = {
    "exp": ops.exp,
    "log": ops.log,
    "sqrt": ops.sqrt,
    "sin": ops.sin,
    "cos": ops.cos,
    "sum": lambda a: ops.sum(a, 0),
    "max": lambda a: ops.max(a, axis=0),
    "min": lambda a: ops.min(a, axis=0),
    "prod": lambda a: ops.prod(a, 0),
    "transpose": ops.transpose,
    "reshape": lambda a: ops.reshape(a, (4,)),
    "squeeze": lambda a: ops.squeeze(ops.expand_dims(a, 0), 0),
    "expand_dims": lambda a: ops.expand_dims(a, 1),
}


@each_row("name", UNARY)
def test_an_operation_makes_a_gradient_node(name: str) -> None:
    a = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    result = UNARY[name](a)
    assert result.requires_grad
    assert result.grad_fn is not None
    result.backward(implicit_seed="ones")
    assert a.grad.shape == (2, 2)


def test_what_needs_no_gradient_passes_on_that_of_the_other() -> None:
    a, b = engine.tensor([2.0], requires_grad=True), engine.tensor([3.0])
    c = a + b
    assert c.requires_grad
    assert not (b + b).requires_grad
    left, right = engine.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), engine.ones([2, 2], requires_grad=True)
    d = ops.sum(left * right, 0)
    assert d.tolist() == [4, 6]
    for result in (left == right, left != right, left > right, left < right):
        assert (result.requires_grad, result.grad_fn) == (False, None)
    assert (left == None, left != None) == (False, True)  # noqa: E711 - the comparison is what is tested


def test_the_cube_and_the_chain() -> None:
    x = engine.tensor([2.0], requires_grad=True)
    y = x * x * x
    y.backward()
    assert x.grad.tolist() == [12.0]
    x = engine.tensor(np.array([-1.0, 0.5]), requires_grad=True)
    a = x * 2
    b = ops.exp(a)
    c = ops.sum(b)
    c.backward()
    np.testing.assert_allclose(x.grad, 2 * np.exp(2 * x.data), rtol=1e-14)


def test_gradients_accumulate_2_then_5() -> None:
    x = engine.tensor([1.0], requires_grad=True)
    y1 = x * 2
    y1.backward()
    assert x.grad.tolist() == [2.0]
    y2 = x * 3
    y2.backward()
    assert x.grad.tolist() == [5.0]
    x.zero_grad()
    assert x.grad_or_zeros().tolist() == [0.0]


def test_the_training_loop() -> None:
    inputs = np.random.default_rng(0).standard_normal((64, 3)).astype(np.float32)
    targets = inputs @ np.array([[1.0], [-2.0], [0.5]], np.float32) + np.float32(0.25)
    weights, bias = engine.zeros([3, 1], requires_grad=True), engine.zeros([1], requires_grad=True)
    for _ in range(20):
        for start in range(0, 64, 16):
            weights.zero_grad()
            bias.zero_grad()
            output = ops.matmul(inputs[start : start + 16], weights) + bias
            loss = ((output - targets[start : start + 16]) ** 2).mean()
            loss.backward()
            learning_rate = 0.1
            weights = engine.tensor(weights.data - learning_rate * weights.grad, requires_grad=True)
            bias = engine.tensor(bias.data - learning_rate * bias.grad, requires_grad=True)
    np.testing.assert_allclose(weights.data, [[1.0], [-2.0], [0.5]], atol=1e-4)
    np.testing.assert_allclose(bias.data, [0.25], atol=1e-4)


def test_gradients_are_checked_and_changed_by_hand() -> None:
    var = engine.tensor([3.0, 4.0], requires_grad=True)
    assert var.requires_grad
    assert var.grad_fn is None
    custom_grad = engine.tensor([1.0, -1.0], device=var.device)
    var.incr_grad(custom_grad)
    assert var.grad.tolist() == [1, -1]
    var.zero_grad()
    loss = ops.sum(var * var)
    loss.backward()
    assert ops.sum(var.grad * var.grad).item() == 100.0
    assert not any(math.isnan(x) for x in var.grad.tolist())
