"""Bags of embeddings: empty bags, padding, ties, weights, and offsets that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import EngineError
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
TABLE = [[1.0, 9.0], [2.0, 9.0], [4.0, 7.0]]
NUMBERS = np.array([1, 0, 2])
STARTS = np.array([0, 2, 2])

# op, inputs, attributes, value, gradient of the sum of the result by each floating input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    (
        "embedding_bag",
        [TABLE, NUMBERS, STARTS],
        {"mode": "sum"},
        [[3, 18], [0, 0], [4, 7]],
        [[[1, 1], [1, 1], [1, 1]]],
    ),
    ("embedding_bag", [TABLE, NUMBERS, STARTS], {}, [[1.5, 9], [0, 0], [4, 7]], [[[0.5, 0.5], [0.5, 0.5], [1, 1]]]),
    (
        "embedding_bag",
        [TABLE, NUMBERS, STARTS],
        {"mode": "max"},
        [[2, 9], [0, 0], [4, 7]],
        [[[0, 0], [1, 1], [1, 1]]],
    ),
    (
        "embedding_bag",
        [TABLE, NUMBERS, STARTS],
        {"mode": "max", "padding_idx": -2},
        [[1, 9], [0, 0], [4, 7]],
        [[[1, 1], [0, 0], [1, 1]]],
    ),
    (
        "embedding_bag",
        [TABLE, np.array([[-2, 0], [1, 1]])],
        {"padding_idx": 1},
        [[1, 9], [0, 0]],
        [[[1, 1], [0, 0], [0, 0]]],
    ),
    (
        "embedding_bag",
        [TABLE, NUMBERS, STARTS, [2.0, 3.0, 0.5]],
        {"mode": "sum", "padding_idx": 0},
        [[4, 18], [0, 0], [2, 3.5]],
        [[[0, 0], [2, 2], [0.5, 0.5]], [11, 0, 11]],
    ),
    (
        "embedding_bag",
        [TABLE, NUMBERS, np.array([0, 1, 3])],
        {"mode": "max", "include_last_offset": True},
        [[2, 9], [4, 9]],
        [[[0, 1], [1, 1], [1, 0]]],
    ),
    ("embedding_bag", [TABLE, np.zeros((2, 0), int)], {"mode": "max"}, np.zeros((2, 2)), [np.zeros((3, 2))]),
    ("embedding_bag", [TABLE, np.zeros(0, int), np.zeros(0, int)], {}, np.zeros((0, 2)), [np.zeros((3, 2))]),
    ("bag_of_each", [np.array([[0, 2, 2], [0, 0, 1]])], {"count": 4}, [[0, 0, 2, 2], [1, 2, 2, 2]], []),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_answers_are_known(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


REFUSED: list[tuple[list[Any], dict[str, Any], str]] = [
    ([NUMBERS], {}, "a vector of indices needs offsets"),
    ([np.ones((2, 2), int), STARTS], {}, "rows of indices are the bags"),
    ([NUMBERS, np.array([1, 2])], {}, "offsets must begin with 0"),
    ([NUMBERS, np.array([0, 2, 1])], {}, "offsets must begin with 0, never fall"),
    ([NUMBERS, np.array([0, 4])], {}, "be at most 3, the number of elements"),
    ([NUMBERS, np.zeros(0, int)], {}, "3 indices need at least one offset"),
    ([NUMBERS, np.zeros(0, int)], {"include_last_offset": True}, "include_last_offset needs at least one offset"),
    ([NUMBERS, STARTS, np.ones(3)], {"mode": "mean"}, r"per_sample_weights \[3\] go with mode 'sum'"),
    ([NUMBERS, STARTS, np.ones(2)], {"mode": "sum"}, r"must have the shape \[3\] of the indices"),
    ([NUMBERS, STARTS], {"padding_idx": 3}, "padding_idx 3 is out of range"),
]


@each_row(("inputs", "attrs", "message"), REFUSED)
def test_bags_that_do_not_fit_are_refused(inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS["embedding_bag"](np.array(TABLE), *inputs, **attrs)
