"""Arithmetic beyond the four operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import ShapeError
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF = math.inf

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("scale", [[1.0, INF]], {"factor": 2.0}, [2, INF], [[2, 2]]),
    ("scale", [[1.0, -1.0]], {"factor": 2.0, "bias": 3.0}, [5, 1], [[2, 2]]),
    ("add1", [[1.0, 2.0, 3.0], [10.0]], {}, [11, 12, 13], [[1, 1, 1], [3]]),
    ("cbrt", [[-8.0, 0.0, 27.0]], {}, [-2, 0, 3], [[1 / 12, INF, 1 / 27]]),
    ("addcmul", [[1.0], [2.0], [3.0]], {"value": 0.5}, [4], [[1], [1.5], [1]]),
    ("addcdiv", [[1.0], [6.0], [3.0]], {"value": 0.5}, [2], [[1], [1 / 6], [-1 / 3]]),
    ("ldexp", [[3.0, -1.0], np.array([-2, 10])], {}, [0.75, -1024], [[0.25, 1024]]),
    ("ldexp", [[3.0], [0.5]], {}, [3 * math.sqrt(2)], [[math.sqrt(2)], [3 * math.sqrt(2) * math.log(2)]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_answers_are_known(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_add1_takes_one_number() -> None:
    with pytest.raises(ShapeError, match=r"add1 needs a second input of one element, got shape \[2\]; use add"):
        OPS["add1"](np.ones(2), np.ones(2))
