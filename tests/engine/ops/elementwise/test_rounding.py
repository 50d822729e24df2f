"""Rounding and division with a remainder: halves, signs, infinities, integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import DTypeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("round", [[0.5, 1.5, 2.5, -0.5]], {}, [0, 2, 2, -0.0], [[0, 0, 0, 0]]),
    ("round", [[0.25, 0.35, 125.0]], {"decimals": 1}, [0.2, 0.4, 125], [[0, 0, 0]]),
    ("round", [[125.0, 135.0]], {"decimals": -1}, [120, 140], [[0, 0]]),
    ("floor", [[-1.5, -0.0, 1.5, INF, NAN]], {}, [-2, -0.0, 1, INF, NAN], [[0] * 5]),
    ("ceil", [[-1.5, 1.5, -INF]], {}, [-1, 2, -INF], [[0] * 3]),
    ("trunc", [[-1.5, 1.5]], {}, [-1, 1], [[0, 0]]),
    ("frac", [[-1.5, 1.25, INF]], {}, [-0.5, 0.25, NAN], [[1, 1, 1]]),
    ("fmod", [[-7.0, 7.0, 5.0, 1.0], [3.0, -3.0, INF, 0.0]], {}, [-1, 1, 5, NAN], [[1] * 4, [2, 2, 0, -INF]]),
    ("remainder", [[-7.0, 7.0, 5.0], [3.0, -3.0, INF]], {}, [2, -2, 5], [[1] * 3, [3, 3, 0]]),
    ("floor_divide", [[-7.0, 7.0, 1.0], [3.0, -3.0, 0.0]], {}, [-3, -3, INF], [[0] * 3, [0] * 3]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_a_small_negative_half_rounds_to_minus_zero() -> None:
    assert math.copysign(1, OPS["round"](-0.5).item()) == -1


def test_the_flat_gradient_stays_zero_under_an_infinite_cotangent() -> None:
    x = tensor([1.5], requires_grad=True)
    (OPS["floor"](x) * INF).sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [0]


@each_row("name", ["floor", "ceil", "trunc", "round"])
@each_row("dtype", ["bool", "uint8", "int64"])
def test_whole_types_stay_as_they_are(name: str, dtype: str) -> None:
    result = OPS[name](tensor(np.array([0, 1], dtype)))
    assert (result.dtype.name, result.numpy().tolist()) == (dtype, [0, 1])


@pytest.mark.parametrize(
    ("name", "wanted"), [("floor_divide", [-3, 2, -3, 2]), ("remainder", [2, 1, -2, -1]), ("fmod", [-1, 1, 1, -1])]
)
def test_integers_divide_exactly(name: str, wanted: list[int]) -> None:
    result = OPS[name](tensor(np.array([-7, 7, 7, -7])), tensor(np.array([3, 3, -3, -3])))
    assert (result.dtype.name, result.numpy().tolist()) == ("int64", wanted)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_an_integer_division_by_zero_is_refused(name: str) -> None:
    with pytest.raises(DTypeError, match=f"{name}: integer division by 0; cast the inputs to float32"):
        OPS[name](tensor(np.array([1, 2])), tensor(np.array([1, 0])))


def test_what_cannot_be_rounded_is_refused() -> None:
    with pytest.raises(DTypeError, match="frac needs a floating input, got int64"):
        OPS["frac"](tensor(np.array([1])))
    with pytest.raises(DTypeError, match="got bool"):
        OPS["remainder"](tensor(np.array([True])), tensor(np.array([True])))
