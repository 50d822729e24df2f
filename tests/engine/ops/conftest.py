"""What the tests of the op families share: one way to state a known answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.value import tensor
from engine.ops import OPS

CheckEdge = Callable[..., None]


@pytest.fixture
def check_edge() -> CheckEdge:
    """Give a function that compares an op's first result, and the gradients of its sum, with known answers.

    Lists become float64 arrays, arrays keep their type. A known answer of None is not compared.
    """

    def check(name: str, inputs: Sequence[Any], attrs: dict[str, Any], value: Any, gradients: Sequence[Any]) -> None:
        arrays = [array if isinstance(array, np.ndarray) else np.asarray(array, np.float64) for array in inputs]
        leaves = [tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
        created = OPS[name](*leaves, **attrs)
        result = created[0] if isinstance(created, tuple) else created
        if value is not None:
            np.testing.assert_allclose(result.numpy(), value, rtol=1e-12, atol=1e-300)
        if gradients:
            seed = tensor(np.ones(result.shape, result.dtype))
            found = pull_back([result], [seed], [leaf for leaf in leaves if leaf.requires_grad])
            for slope, wanted in zip(found, gradients, strict=True):
                if wanted is not None:
                    assert slope is not None
                    np.testing.assert_allclose(slope.numpy(), wanted, rtol=1e-12, atol=1e-300)

    return check
