"""Counts, reductions that skip NaN, and pairs of reductions."""

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
NAN = math.nan

# op, inputs, attributes, value (of the first result), gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("nansum", [[1.0, NAN, 3.0]], {}, 4, [[1, 0, 1]]),
    ("nansum", [[NAN, NAN]], {}, 0, [[0, 0]]),
    ("nanmean", [[1.0, NAN, 3.0]], {}, 2, [[0.5, 0, 0.5]]),
    ("nanmean", [[[NAN, NAN], [1.0, NAN]]], {"axis": 1}, [NAN, 1], []),
    ("var_mean", [[1.0, 3.0]], {}, 2, [[-2, 2]]),
    ("var_mean", [[5.0]], {}, NAN, [[NAN]]),
    ("var_mean", [[5.0]], {"correction": 0}, 0, [[0]]),
    ("std_mean", [[4.0, 4.0]], {}, 0, [[0, 0]]),
    ("aminmax", [[1.0, 1.0, 3.0]], {}, 1, [[0.5, 0.5, 0]]),
    ("count_nonzero", [[[0.0, 2.0], [NAN, -1.0]]], {"axis": 0}, [1, 2], []),
    ("count_equal", [np.array([1, 2, 3]), np.array([1, 0, 3])], {}, 2, []),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_pairs_hold_both_results() -> None:
    x = np.array([[1.0, 4.0], [2.0, 0.0]])
    pairs = {name: [part.numpy().tolist() for part in OPS[name](x, axis=1)] for name in ("aminmax", "var_mean")}
    assert pairs == {"aminmax": [[1, 0], [4, 2]], "var_mean": [[4.5, 2], [2.5, 1]]}


def test_sums_and_counts_of_integers_are_int64() -> None:
    assert OPS["nansum"](np.array([1, 2], np.int8)).dtype.name == "int64"
    assert OPS["count_nonzero"](np.array([True, False])).item() == 1


def test_only_equal_shapes_are_compared() -> None:
    with pytest.raises(ShapeError, match=r"count_equal: shapes \[2\] and \[1\] must agree"):
        OPS["count_equal"](np.ones(2), np.ones(1))
