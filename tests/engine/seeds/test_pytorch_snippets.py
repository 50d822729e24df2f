"""The code of PyTorch's C++ autograd documentation, line by line, in Python."""

import numpy as np
import pytest

import engine
from engine.autograd import tape
from engine.core.errors import GradientError


@pytest.fixture(autouse=True)
def _drawn_alike() -> None:
    engine.seed(0)


def drawn(*shape: int) -> engine.Value:
    return engine.randn(shape, requires_grad=True)


def test_the_overview() -> None:
    x = engine.ones((2, 2), requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    out.backward()
    assert out.item() == 27
    assert x.grad.tolist() == [[4.5, 4.5], [4.5, 4.5]]


def test_tracking_is_switched_on_and_cut_off() -> None:
    x = engine.randn((2, 2))
    x.requires_grad_(True)
    assert x.requires_grad
    assert engine.zeros((2, 2), dtype="float32", requires_grad=True).requires_grad
    y = x + 2
    assert not y.detach().requires_grad
    with engine.no_grad():
        z = x * 2
        assert not z.requires_grad
    assert engine.is_grad_enabled()
    engine.set_grad_enabled(False)
    y = x * 2
    engine.set_grad_enabled(True)
    assert not y.requires_grad
    assert (x * 3).requires_grad
    with engine.inference_mode():
        y = x * 2
        with pytest.raises(GradientError, match="does not require a gradient"):
            y.sum().backward()


def test_a_gradient_is_given_for_what_is_no_scalar() -> None:
    x = drawn(3)
    y = x * 2
    y.backward(engine.ones((3,)))
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(GradientError, match="pass gradient="):
        (x * 2).backward()
    (x * 2).backward(gradient=[1.0, 0.0, -1.0])
    assert x.grad.tolist() == [4, 2, 0]


def test_backward_and_grad_as_functions() -> None:
    x, y = drawn(2, 2), drawn(2, 2)
    z = x + 2 * y + x * y
    grads = tape.grad([z], [x, y], [engine.ones((2, 2))])
    assert x.grad is None
    assert y.grad is None
    tape.backward([(x + 2 * y + x * y).sum()], [])
    for leaf, found, expected in ((x, grads[0], 1 + y.data), (y, grads[1], 2 + x.data)):
        np.testing.assert_array_equal(leaf.grad, expected)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("by_place", [True, False])
def test_a_retained_graph_is_differentiated_twice(by_place: bool) -> None:
    x = drawn(2, 2)
    y = x * x
    if by_place:
        y.sum().backward(None, True)
    else:
        y.sum().backward(gradient=None, retain_graph=True)
    grad1 = x.grad.clone()
    y.sum().backward()
    grad2 = x.grad
    np.testing.assert_array_equal(grad2, 2 * grad1.data)
    with pytest.raises(GradientError, match="a second time"):
        y.sum().backward()


@pytest.mark.parametrize("by_place", [True, False])
def test_higher_order_gradients(by_place: bool) -> None:
    x, y = drawn(2, 2), drawn(2, 2)
    z = x + 2 * y + x * y
    if by_place:
        z.sum().backward(None, True, True)
    else:
        z.sum().backward(gradient=None, retain_graph=True, create_graph=True)
    grad_sum = 2 * x.grad + y.grad
    hessian = tape.grad([grad_sum], [x], [engine.ones((2, 2))], True)
    assert hessian[0].tolist() == [[1, 1], [1, 1]]


def test_gradients_accumulate_and_are_cleared() -> None:
    x = drawn(2, 2)
    for i in range(3):
        y = x * i
        y.sum().backward(gradient=None, retain_graph=True)
    assert x.grad.tolist() == [[3, 3], [3, 3]]
    if x.grad is not None:
        x.grad.zero_()
    assert x.grad.tolist() == [[0, 0], [0, 0]]
    x.grad = None
    assert x.grad is None


@pytest.mark.parametrize("name", ["saved", "saved_tensors", "get_saved_variables"])
def test_a_custom_function_multiplies(name: str) -> None:
    class MyMultiply(engine.Function):
        @staticmethod
        def forward(ctx, input, weight):
            ctx.save_for_backward(input, weight)
            ctx.saved_data["calls"] = 1
            return input * weight

        @staticmethod
        def backward(ctx, grad_output):
            saved = getattr(ctx, name)
            input, weight = saved() if callable(saved) else saved
            assert ctx.saved_data == {"calls": 1}
            return grad_output * weight, grad_output * input

    x, w = drawn(2, 2), drawn(2, 2)
    y = MyMultiply.apply(x, w)
    np.testing.assert_array_equal(y.data, x.data * w.data)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, w.data)
    np.testing.assert_array_equal(w.grad, x.data)


def test_the_jacobian() -> None:
    def compute_jacobian(x: engine.Value, y: engine.Value) -> engine.Value:
        m, n = y.shape[0], x.shape[0]
        jacobian = engine.zeros((m, n))
        for i in range(m):
            if x.grad is not None:
                x.grad.zero_()
            grad_output = engine.zeros_like(y)
            grad_output[i] = 1
            y.backward(grad_output, retain_graph=True)
            jacobian[i] = x.grad.clone()
        return jacobian

    x = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert compute_jacobian(x, x * x).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


def test_parameters_of_a_model_are_clipped_and_frozen() -> None:
    model = engine.Sequential(
        {"layer": "linear", "name": "conv", "units": 5}, {"layer": "linear", "units": 3}, inputs=(4,), seed=0
    )
    optimizer = engine.TapeOptimizer(model.parameters(), "sgd", lr=0.1)
    data = np.full((2, 4), 9.0, np.float32)
    optimizer.zero_grad()
    (model(data) ** 2).sum().backward()
    total = engine.clip_grad_norm_(model.parameters(), 1.0)
    norm = np.sqrt(sum(np.square(p.grad.data).sum() for p in model.parameters().values()))
    assert total > 10
    assert norm == pytest.approx(1.0, abs=1e-5)
    for param in model.parameters().values():
        if param.grad is not None:
            param.grad.clamp_(-0.1, 0.1)
            assert np.abs(param.grad.data).max() <= np.float32(0.1)
    engine.clip_grad_value_(model.parameters(), 0.05)
    assert max(np.abs(p.grad.data).max() for p in model.parameters().values()) == np.float32(0.05)
    frozen = [name for name in model.parameters() if "conv" in name]
    for name, param in model.parameters().items():
        if "conv" in name:
            param.requires_grad = False
    before = {name: p.data.copy() for name, p in model.parameters().items()}
    optimizer.zero_grad()
    (model(data) ** 2).sum().backward()
    optimizer.step()
    assert frozen == ["conv.weight", "conv.bias"]
    for name, param in model.parameters().items():
        assert np.array_equal(param.data, before[name]) == (name in frozen), name
    with engine.inference_mode():
        output = model.forward(data)
    assert not output.requires_grad
