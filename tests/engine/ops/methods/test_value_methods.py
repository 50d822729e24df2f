"""Values as arrays of NumPy and tensors of PyTorch are used: iterated over, given to NumPy, cast, sliced backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import DTypeError, EngineError, GradientError, ShapeError
from engine.core.registry import ALIASES, OPS
from engine.core.value import Value
from engine.ops.methods.value_methods import CASTS, UFUNCS
from tests.support.rows import each_row

X = np.array([[1.5, -2.0, 3.25], [0.5, 4.0, -1.0]])


def leaf(array: Any = X) -> Value:
    return engine.tensor(np.array(array), requires_grad=True)


def test_a_value_is_iterated_over_and_unpacked_along_its_first_axis() -> None:
    x = leaf()
    first, second = x
    assert [row.numpy().tolist() for row in list(x)] == X.tolist()
    (first * 2 + second * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [[2, 2, 2], [3, 3, 3]]
    with pytest.raises(ShapeError, match="no axes cannot be iterated over"):
        list(engine.tensor(1.0))
    assert 4.0 in x
    assert 7.0 not in x


def test_numpy_takes_values_whose_gradient_is_not_lost() -> None:
    x, tracked = engine.tensor(X), leaf()
    assert np.asarray(x) is x.numpy()
    assert np.array(x) is not x.numpy()
    assert np.asarray(x, dtype="float32").dtype == np.float32
    np.testing.assert_allclose(x, X)
    with engine.no_grad():
        np.testing.assert_allclose(tracked, X)
    np.testing.assert_allclose(tracked.detach(), X)
    for call in (np.asarray, np.dot, lambda y: np.concatenate([y, y]), lambda y: engine.tensor([y[0], y[1]])):
        with pytest.raises((GradientError, EngineError, TypeError)):
            call(*([tracked, X.T] if call is np.dot else [tracked]))
    with pytest.raises(GradientError, match=r"gradient would be lost.*x\.detach\(\)"):
        np.asarray(tracked)


KNOWN = {*UFUNCS, *OPS, *ALIASES}
FUNCTIONS = sorted(name for name, f in vars(np).items() if isinstance(f, np.ufunc) and f.__name__ in KNOWN)


@each_row("name", FUNCTIONS)
def test_a_function_of_numpy_on_a_value_is_the_op(name: str) -> None:
    ufunc = getattr(np, name)
    arrays = [np.array([0.25, 0.5, 0.75]), np.array([2.0, 1.0, 3.0])][: ufunc.nin]
    if name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_invert", "invert", "left_shift",
                "right_shift", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "bitwise_count"):  # fmt: skip
        arrays = [np.array([6, 5, 3]), np.array([1, 2, 0])][: ufunc.nin]
    elif name in ("arccosh", "acosh"):
        arrays = [array + 1 for array in arrays]
    elif name == "ldexp":
        arrays[1] = np.array([2, 1, 3])
    wanted = ufunc(*arrays)
    for actual in (ufunc(engine.tensor(arrays[0]), *arrays[1:]), ufunc(*arrays[:-1], engine.tensor(arrays[-1]))):
        assert isinstance(actual, Value)
        np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-12)


def test_a_function_of_numpy_is_differentiated() -> None:
    x = leaf()
    np.exp(X * x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad, X * np.exp(X * X))


@each_row(
    ("call", "message"),
    [
        (np.spacing, r"np\.spacing has no op for values; use np\.spacing\(x\.numpy\(\)\)"),
        (lambda x: np.exp(x, out=np.empty((2, 3))), r"np\.exp with out= does not take values; use engine\.ops\.exp"),
        (np.add.reduce, r"np\.add\.reduce does not take values; use engine\.ops\.add"),
        (lambda x: np.multiply(X, x, where=X > 0), "with where="),
    ],
)
def test_what_numpy_cannot_do_with_values_is_refused_with_advice(call: Callable[[Value], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(leaf())


def test_operators_of_whole_division() -> None:
    x = leaf()
    for got, wanted in ((x // 2, X // 2), (7 // x, 7 // X), (x % 2, X % 2), (7 % x, 7 % X), (abs(x), abs(X)), (+x, X)):
        np.testing.assert_array_equal(got.numpy(), wanted)
    (abs(x) + x % 2).sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad, np.sign(X) + 1)
    y = engine.tensor(X)
    y //= 2
    y %= 2
    np.testing.assert_array_equal(y, X // 2 % 2)


SLICES = [np.s_[::-1], np.s_[:, ::-1], np.s_[1::-1, ::-2], np.s_[0:5:-1], np.s_[-1:-4:-2], np.s_[:, ::-1, None]]


@each_row("index", [*SLICES, (np.s_[::-1], np.array([2, 0]))], ids=str)
def test_a_slice_may_go_backwards(index: Any) -> None:
    x = leaf()
    weights = np.arange(1.0, X[index].size + 1).reshape(X[index].shape)
    np.testing.assert_array_equal(x[index].numpy(), X[index])
    (x[index] * weights).sum().backward()
    wanted = np.zeros_like(X)
    wanted[index] = weights
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad, wanted)


def test_values_are_read_and_cast_as_tensors_of_pytorch() -> None:
    x = leaf()
    assert x.tolist() == X.tolist()
    assert (x.numel(), x.dim(), int(engine.tensor([3])), engine.tensor(2.5).tolist()) == (6, 2, 3, 2.5)
    for name, dtype in CASTS.items():
        if name != "bfloat16":
            assert getattr(x, name)().dtype == dtype
    assert x.double() is x
    assert x.cpu() is x


def test_to_takes_dtypes_a_device_or_another_value() -> None:
    x = leaf()
    assert x.to(device="cpu") is x
    assert x.to("cpu") is x
    assert x.to("cpu", "float32").dtype == x.to(dtype=np.float32).dtype == x.to(engine.tensor([1.0])).dtype == "float32"
    assert x.to("float64", copy=True) is not x
    x.to("float32").sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == "float64"
    with pytest.raises(engine.DeviceError, match="'cuda'"):
        x.to("cuda")
    with pytest.raises(engine.DeviceError, match="'cuda'"):
        x.to(device="cuda")
    with pytest.raises(DTypeError):
        x.to(dtype="float31")
