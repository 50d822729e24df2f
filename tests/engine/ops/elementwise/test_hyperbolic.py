"""Inverse hyperbolic functions, polar coordinates and sinc: origins, ends of the domain, large arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("hypot", [[0.0, 3.0, 3e200], [0.0, 4.0, 4e200]], {}, [0, 5, 5e200], [[0, 0.6, 0.6], [0, 0.8, 0.8]]),
    ("atan2", [[0.0, 1.0, 0.0], [0.0, 0.0, -2.0]], {}, [0, math.pi / 2, math.pi], [[0, 0, -0.5], [0, -1, 0]]),
    ("copysign", [[2.0, 0.0, INF], [-0.0, 1.0, -1.0]], {}, [-2, 0, -INF], [[-1, 0, -1], [0, 0, 0]]),
    ("asinh", [[0.0, 1e200]], {}, [0, math.asinh(1e200)], [[1, 1e-200]]),
    ("acosh", [[1.0, 0.5, 1e200]], {}, [0, NAN, math.acosh(1e200)], [[INF, NAN, 1e-200]]),
    ("atanh", [[-1.0, 0.0, 1.0, 2.0]], {}, [-INF, 0, INF, NAN], [[INF, 1, INF, -1 / 3]]),
    ("sinc", [[0.0, 0.5, 1e-10]], {}, [1, 2 / math.pi, 1], [[0, -4 / math.pi, -(math.pi**2) / 3 * 1e-10]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_known(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_the_derivatives_of_sinc_at_zero_are_those_of_its_series() -> None:
    x = leaf = tensor(np.zeros(1), requires_grad=True)
    y = OPS["sinc"](x)
    found = []
    for _ in range(6):
        (gradient,) = pull_back([y], [tensor(np.ones(1))], [leaf])
        assert gradient is not None
        found.append(gradient.item())
        y = gradient
    p = math.pi
    np.testing.assert_allclose(found, [0, -(p**2) / 3, 0, p**4 / 5, 0, -(p**6) / 7], rtol=1e-12)


def test_series_and_recurrence_meet_smoothly() -> None:
    for order in range(1, 7):
        place = (order / 2 + 1) / math.pi
        x = tensor(np.array([np.nextafter(place, 0), np.nextafter(place, 9)]))
        below, above = OPS["sinc_derivative"](x, order=order).numpy()
        assert below == pytest.approx(above, rel=1e-12)
