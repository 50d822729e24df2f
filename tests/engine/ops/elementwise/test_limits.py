"""Steps and limits: bounds, ties, NaN and infinities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan
BIG = float(np.finfo(np.float64).max)

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("fmax", [[2.0, NAN, 2.0, NAN], [2.0, 2.0, NAN, NAN]], {}, [2, 2, 2, NAN], [[1, 0, 1, 1], [0, 1, 0, 0]]),
    ("fmin", [[2.0, NAN, 2.0, 3.0], [2.0, 2.0, NAN, 1.0]], {}, [2, 2, 2, 1], [[1, 0, 1, 0], [0, 1, 0, 1]]),
    ("clamp_min", [[1.0, 2.0, 3.0, NAN], [2.0] * 4], {}, [2, 2, 3, NAN], [[0, 1, 1, 0], [1, 0, 0, 0]]),
    ("clamp_max", [[1.0, 2.0, 3.0, NAN], [2.0] * 4], {}, [1, 2, 2, NAN], [[1, 1, 0, 0], [0, 0, 1, 0]]),
    (
        "clamp_tensor",
        [[-1.0, 0.0, 0.5, 1.0, 2.0], 0.0, 1.0],
        {},
        [0, 0, 0.5, 1, 1],
        [[0, 1, 1, 1, 0], 1, 1],
    ),
    ("clamp_tensor", [[0.0, 9.0], [5.0, 5.0], [3.0, 3.0]], {}, [3, 3], [[0, 0], [0, 0], [1, 1]]),
    ("threshold", [[0.0, 0.5, 1.0, NAN]], {"threshold": 0.5, "value": 7.0}, [7, 7, 1, NAN], [[0, 0, 1, 1]]),
    ("step", [[-1.0, 0.0, 1.0, NAN]], {}, [0, 0, 1, 0], [[0] * 4]),
    ("heaviside", [[-1.0, 0.0, 1.0], 0.5], {}, [0, 0.5, 1], [[0, 0, 0], 1]),
    ("nan_to_num", [[NAN, INF, -INF, 1.0]], {}, [0, BIG, -BIG, 1], [[0, 0, 0, 1]]),
    ("nan_to_num", [[NAN, INF, -INF]], {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}, [1, 2, 3], [[0, 0, 0]]),
    ("isinf", [[NAN, INF, -INF, 1.0]], {}, [False, True, True, False], []),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_the_largest_number_depends_on_the_type() -> None:
    largest = OPS["nan_to_num"](tensor([INF], dtype="float16"))
    assert largest.numpy().tolist() == [65504]
    assert OPS["nan_to_num"](tensor(np.array([3]))).numpy().tolist() == [3]


def test_clip_is_another_name_of_clamping_by_tensors() -> None:
    assert tensor([-3.0, 0.5, 3.0]).clip(-1.0, 1.0).numpy().tolist() == [-1, 0.5, 1]
