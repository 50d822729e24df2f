"""prelu, celu, xielu and the shrinkages: kinks, learnt slopes, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, ShapeError
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan
SOFT = math.log1p(math.e)  # softplus(1)

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("prelu", [[-2.0, 0.0, 3.0], 0.25], {}, [-0.5, 0, 3], [[0.25, 0.25, 1], -2]),
    ("prelu", [[[-1.0, -1.0], [2.0, -3.0]], [0.5, 0.1]], {}, [[-0.5, -0.1], [2, -0.3]], [None, [-1, -4]]),
    ("prelu", [[INF], [0.5]], {}, [INF], [[1], [0]]),
    ("celu", [[-INF, 0.0, 2.0, 1000.0]], {"alpha": 2.0}, [-2, 0, 2, 1000], [[0, 1, 1, 1]]),
    ("hardshrink", [[-0.5, -0.6, 0.5, 0.6, NAN]], {}, [0, -0.6, 0, 0.6, NAN], [[0, 1, 0, 1, 1]]),
    ("softshrink", [[-0.5, -0.75, 0.5, 0.75, INF]], {}, [0, -0.25, 0, 0.25, INF], [[0, 1, 0, 1, 1]]),
    ("tanhshrink", [[0.0, 1000.0]], {}, [0, 999], [[0, 1]]),
    ("xielu", [[0.0, 2.0], 1.0, 1.0], {"eps": 0.0}, [0, 4 * SOFT + 1], [[0.5, 4 * SOFT + 0.5], None, None]),
    ("xielu", [[-1.0], 1.0, 1.0], {}, [(0.5 + SOFT) / math.e - 0.5], []),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


@each_row(
    ("name", "inputs", "attrs", "error", "message"),
    [
        ("prelu", [(2, 3), (2,)], {}, ShapeError, r"the input \[2, 3\] has 3 channels on axis 1"),
        ("prelu", [(4,), (4,)], {}, ShapeError, "has 1 channels"),
        ("celu", [(2,)], {"alpha": 0.0}, AttributeValueError, "alpha must not be 0"),
        ("xielu", [(2,), (2,), ()], {}, ShapeError, r"alpha_n has shape \[2\]: it must hold one element"),
    ],
)
def test_misuse_is_refused(
    name: str, inputs: list[tuple[int, ...]], attrs: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[name](*(np.ones(shape) for shape in inputs), **attrs)
