"""What the engine's tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.value import Array, Value, tensor

pytest.register_assert_rewrite("tests.engine.laws")

Derive = Callable[..., tuple[Array, list[Array | None]]]


@pytest.fixture
def derive() -> Derive:
    """Give a function that applies an op and differentiates the sum of its result.

    Lists become float64 arrays; arrays keep their type, and only floating ones get a gradient.
    """

    def run(function: Callable[..., Value], *inputs: Any, **attrs: Any) -> tuple[Array, list[Array | None]]:
        arrays = [array if isinstance(array, np.ndarray) else np.asarray(array, np.float64) for array in inputs]
        leaves = [tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
        result = function(*leaves, **attrs)
        seed = tensor(np.ones(result.shape, result.dtype))
        gradients = pull_back([result], [seed], [leaf for leaf in leaves if leaf.requires_grad])
        return result.numpy(), [None if gradient is None else gradient.numpy() for gradient in gradients]

    return run


@pytest.fixture
def waves() -> Callable[..., Array]:
    """Give sines of the counting numbers in a shape, which every machine makes alike (as make_golden.py does)."""

    def make(*shape: int, start: float = 0.0) -> Array:
        return np.round(np.sin(np.arange(int(np.prod(shape))) * 1.7 + start), 6).reshape(shape)

    return make
