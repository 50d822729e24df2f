"""lgamma and its derivatives: known values, poles, reflection, recurrence."""

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
INF, NAN, PI = math.inf, math.nan, math.pi
EULER = 0.577215664901532860606512090082
ZETA_3 = 1.202056903159594285399738161511

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("lgamma", [[1.0, 2.0, 0.5, 10.0]], {}, [0, 0, math.log(PI) / 2, math.log(362880)], []),
    ("lgamma", [[0.0, -1.0, -1e300, INF, -INF, NAN]], {}, [INF, INF, INF, INF, INF, NAN], []),
    ("lgamma", [[1.0, 2.0]], {}, None, [[-EULER, 1 - EULER]]),
    ("digamma", [[1.0, 2.0, 0.5, INF]], {}, [-EULER, 1 - EULER, -EULER - 2 * math.log(2), INF], []),
    ("digamma", [[0.0, -0.0, -1.0, NAN]], {}, [-INF, INF, NAN, NAN], []),
    ("digamma", [[1.0, 0.5]], {}, None, [[PI**2 / 6, PI**2 / 2]]),
    ("polygamma", [[1.0, 0.5]], {"order": 1}, [PI**2 / 6, PI**2 / 2], [[-2 * ZETA_3, -14 * ZETA_3]]),
    ("polygamma", [[1.0, 0.5]], {"order": 2}, [-2 * ZETA_3, -14 * ZETA_3], [[PI**4 / 15, PI**4]]),
    ("polygamma", [[-0.5]], {"order": 1}, [PI**2 / 2 + 4], []),
    ("polygamma", [[0.0, -2.0]], {"order": 1}, [INF, INF], []),
    ("polygamma", [[1.0]], {"order": 0}, [-EULER], [[PI**2 / 6]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_known(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_lgamma_agrees_with_the_standard_library() -> None:
    x = np.concatenate((np.linspace(-9.93, 30, 400), [1e-300, 1e-9, 1 + 1e-9, 2 - 1e-9, 100.5, 1e6, 1e100]))
    wanted = [math.lgamma(number) for number in x]
    np.testing.assert_allclose(OPS["lgamma"](x).numpy(), wanted, rtol=1e-13, atol=5e-15)


@each_row("order", range(5))
def test_every_order_follows_the_recurrence(order: int) -> None:
    x = np.array([-7.3, -2.6, -0.4, 0.3, 1.7, 9.2, 40.0])
    step = OPS["polygamma"](x + 1, order=order).numpy() - OPS["polygamma"](x, order=order).numpy()
    np.testing.assert_allclose(step, (-1) ** order * math.factorial(order) / x ** (order + 1), rtol=1e-9)


def test_lgamma_differentiates_again_and_again() -> None:
    x = tensor(np.array([1.0]), requires_grad=True)
    y = OPS["lgamma"](x)
    for wanted in (-EULER, PI**2 / 6, -2 * ZETA_3, PI**4 / 15):
        (slope,) = pull_back([y], [tensor(np.ones(1))], [x])
        assert slope is not None
        assert slope.item() == pytest.approx(wanted, rel=1e-13)
        y = slope


def test_float32_is_computed_in_float64() -> None:
    x = np.linspace(0.1, 50, 50).astype(np.float32)
    exact = OPS["lgamma"](x.astype(np.float64)).numpy().astype(np.float32)
    assert OPS["lgamma"](x).numpy().tolist() == exact.tolist()
