"""Sorting and its kin: ties go to the first, NaN is the largest, medians are the lower ones."""

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

# op, inputs, attributes, value (of the first result), gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("median", [[4.0, 1.0, 3.0, 2.0]], {}, 2, [[0, 0, 0, 1]]),
    ("median", [[2.0, 2.0, 5.0]], {}, 2, [[0.5, 0.5, 0]]),
    ("median", [[[2.0, 2.0, 5.0]]], {"axis": 1}, [2], [[[0, 1, 0]]]),
    ("median", [[1.0, NAN, 3.0]], {}, NAN, [[0, 1, 0]]),
    ("median", [[-INF, -INF, 1.0]], {}, -INF, [[0.5, 0.5, 0]]),
    ("nanmedian", [[1.0, NAN, 3.0]], {}, 1, [[1, 0, 0]]),
    ("nanmedian", [[NAN, NAN]], {}, NAN, [[0.5, 0.5]]),
    ("nanmedian", [[[NAN, 4.0, 2.0, 3.0]]], {"axis": 1, "keepdims": True}, [[3]], [[[0, 0, 0, 1]]]),
    ("max_with_index", [[1.0, 3.0, 3.0]], {}, 3, [[0, 1, 0]]),
    ("min_with_index", [[1.0, 1.0, 3.0]], {}, 1, [[1, 0, 0]]),
    ("topk", [[1.0, 3.0, 3.0]], {"k": 1}, [3], [[0, 1, 0]]),
    ("kthvalue", [[3.0, 1.0, 2.0]], {"k": 2}, 2, [[0, 0, 1]]),
    ("mode", [[3.0, 1.0, 3.0, 1.0, 2.0]], {}, 1, [[0, 0, 0, 1, 0]]),
    ("sort", [[3.0, NAN, 1.0]], {}, [1, 3, NAN], [[1, 1, 1]]),
    ("sort", [5.0], {}, 5, [1]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


@each_row(
    ("name", "attrs", "wanted"),
    [
        ("argsort", {}, [1, 4, 0, 2, 3]),
        ("argsort", {"descending": True}, [3, 0, 2, 1, 4]),
        ("topk", {"k": 3}, [3, 0, 2]),
        ("topk", {"k": 3, "largest": False}, [1, 4, 0]),
        ("kthvalue", {"k": 4}, 2),
        ("max_with_index", {}, 3),
        ("mode", {}, 4),
    ],
)
def test_equal_elements_keep_their_order(name: str, attrs: dict[str, Any], wanted: Any) -> None:
    created = OPS[name](np.array([2.0, 1.0, 2.0, NAN, 1.0]), **attrs)
    assert (created[1] if isinstance(created, tuple) else created).numpy().tolist() == wanted


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
def test_whole_types_are_sorted_without_overflow(dtype: str) -> None:
    values = np.array([1, 0, 1], dtype)
    assert OPS["sort"](values, descending=True)[0].numpy().tolist() == [1, 1, 0]
    lowest = np.array([np.iinfo(np.int64).min, 5])
    assert OPS["argsort"](lowest, descending=True).numpy().tolist() == [1, 0]


@pytest.mark.parametrize(("name", "k", "bounds"), [("topk", 4, "0..3"), ("kthvalue", 0, "1..3"), ("topk", -1, "0..3")])
def test_a_rank_out_of_range_is_refused(name: str, k: int, bounds: str) -> None:
    with pytest.raises(AttributeValueError, match=f"{name}: k {k} must be in {bounds}, the extent of axis -1"):
        OPS[name](np.ones(3), k=k)


@each_row("name", ["median", "nanmedian", "mode", "max_with_index", "min_with_index"])
def test_nothing_has_no_extreme(name: str) -> None:
    with pytest.raises(ShapeError, match=r"cannot reduce shape \[2, 0\] over an axis of extent 0"):
        OPS[name](np.zeros((2, 0)), axis=1)
