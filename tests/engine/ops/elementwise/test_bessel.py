"""Modified Bessel functions: known values, symmetry, large arguments, recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF = math.inf
I0, I1 = 1.26606587775200833560, 0.565159103992485027208  # at 1
I2 = I0 - 2 * I1

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("i0", [[0.0, 1.0, -1.0]], {}, [1, I0, I0], [[0, I1, -I1]]),
    ("i1", [[0.0, 1.0, -1.0]], {}, [0, I1, -I1], [[0.5, (I0 + I2) / 2, (I0 + I2) / 2]]),
    ("i0e", [[0.0, 1.0, -1.0]], {}, [1, I0 / math.e, I0 / math.e], [[0, (I1 - I0) / math.e, (I0 - I1) / math.e]]),
    ("i1e", [[0.0, 1.0, -1.0]], {}, [0, I1 / math.e, -I1 / math.e], []),
    ("i0", [[20.0, 50.0]], {}, [43558282.559553533, 2.93255378384933598e20], []),
    ("i0e", [[1e10, INF]], {}, [3.98942280406422025e-6, 0], []),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_known(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_an_overflow_of_the_exponential_is_none_of_the_function() -> None:
    values = OPS["i0"](np.array([712.0, INF, -INF])).numpy()
    assert np.isfinite(values).tolist() == [True, False, False]


@each_row("order", [1, 2, 3])
@each_row("scaled", [False, True])
def test_orders_are_linked_by_the_recurrence(order: int, scaled: bool) -> None:
    x = np.array([0.3, 2.0, 15.0, 20.0, 20.5, 24.1, 29.5, 80.0])
    below, here, above = (OPS["bessel_i"](x, order=order + k, scaled=scaled).numpy() for k in (-1, 0, 1))
    np.testing.assert_allclose(below, above + 2 * order / x * here, rtol=1e-13)
