"""Logarithms of sums, and 0 log 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("logaddexp", [[-INF], [-INF]], {}, [-INF], [[NAN], [NAN]]),
    ("logaddexp", [[-INF, 1000.0], [0.0, 1000.0]], {}, [0, 1000 + math.log(2)], [[0, 0.5], [1, 0.5]]),
    ("logaddexp2", [[-INF], [-INF]], {}, [-INF], [[NAN], [NAN]]),
    ("logaddexp2", [[2000.0], [2000.0]], {}, [2001], [[0.5], [0.5]]),
    ("xlogy", [[0.0, 0.0, 0.0, 2.0], [0.0, -1.0, 3.0, 1.0]], {}, [0] * 4, [[0, 0, math.log(3), 0], [NAN, 0, 0, 2]]),
    ("xlogy", [[0.0, 1.0], [NAN, 0.0]], {}, [NAN, -INF], []),
    ("xlog1py", [[0.0, 2.0], [-1.0, 0.0]], {}, [0, 0], [[0, 0], [NAN, 2]]),
    ("exp2", [[3.0, -INF]], {}, [8, 0], [[8 * math.log(2), 0]]),
    ("log2", [[8.0, 0.0]], {}, [3, -INF], [[1 / (8 * math.log(2)), INF]]),
    ("log10", [[1000.0, 0.0]], {}, [3, -INF], [[1 / (1000 * math.log(10)), INF]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


@each_row("name", ["exp2", "log2", "log10", "logaddexp", "xlogy"])
def test_integers_give_floats(name: str) -> None:
    op = OPS[name]
    assert op(*[np.array([2])] * len(op.inputs)).dtype.name == "float32"
