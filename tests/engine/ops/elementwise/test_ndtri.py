"""Inverse error function, normal quantiles, log-odds, entropy: ends of the domain, inverses, precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("logit", [[0.0, 1.0, 0.5]], {}, [-INF, INF, 0], [[INF, INF, 4]]),
    ("logit", [[-0.1, 1.1, NAN]], {}, [NAN, NAN, NAN], [[NAN, NAN, NAN]]),
    ("logit", [[0.0, 0.25, 1.0]], {"eps": 0.25}, [-math.log(3), -math.log(3), math.log(3)], [[0, 16 / 3, 0]]),
    ("entr", [[0.0, 1.0, -1.0, math.e]], {}, [0, 0, -INF, -math.e], [[INF, -1, NAN, -2]]),
    ("erfinv", [[0.0, 1.0, -1.0, 1.1]], {}, [0, INF, -INF, NAN], [[math.sqrt(math.pi) / 2, INF, INF, NAN]]),
    (
        "ndtri",
        [[0.5, 1.0, 0.0, 1.1, -0.1]],
        {},
        [0, INF, -INF, NAN, NAN],
        [[math.sqrt(2 * math.pi), INF, INF, NAN, NAN]],
    ),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_erfinv_undoes_erf() -> None:
    x = np.concatenate((np.linspace(-3, 3, 101), [1e-300, -1e-20]))
    probability = np.array([math.erf(number) for number in x])
    np.testing.assert_allclose(OPS["erfinv"](probability).numpy(), x, rtol=1e-11)


@each_row(
    ("probability", "wanted"),
    [
        (0.5, 0.476936276204469873),
        (2.0**-60, 7.68679326312823539e-19),
        (0.99, 1.82138636771844968),
        (1 - 2.0**-40, 5.05125408524938997),
        (1 - 2.0**-53, 5.86358474875516791),
    ],
)
def test_erfinv_is_exact_to_the_last_digits(probability: float, wanted: float) -> None:
    assert OPS["erfinv"](np.array(probability)).item() == pytest.approx(wanted, rel=6e-16, abs=0)


@each_row(
    ("probability", "wanted"),
    [
        (1e-300, -37.0470962993611992),
        (1e-5, -4.26489079392282461),
        (0.07, -1.47579102817917069),
        (0.3, -0.524400512708040816),
        (0.9, 1.28155156554460059),
    ],
)
def test_normal_quantiles_are_exact_to_the_last_digits(probability: float, wanted: float) -> None:
    assert OPS["ndtri"](np.array(probability)).item() == pytest.approx(wanted, rel=1e-15, abs=0)


def test_logit_is_precise_near_one_half() -> None:
    distance = np.array([1e-12, -1e-9, 1e-5])
    x = 0.5 + distance
    np.testing.assert_allclose(OPS["logit"](x).numpy(), 4 * (x - 0.5), rtol=1e-9)
