"""Norms: every power at the origin, at zeros and at ties; normalisation; the cosine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import DTypeError, ShapeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan
ROOT = math.sqrt(2)

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("norm", [[0.0, 0.0]], {}, 0, [[0, 0]]),
    ("norm", [[3.0, -4.0]], {"p": 2}, 5, [[0.6, -0.8]]),
    ("norm", [[0.0, 0.0]], {"p": 3.0}, 0, [[0, 0]]),
    ("norm", [[1.0, -1.0, 0.0]], {"p": 3.0}, 2 ** (1 / 3), [[2 ** (-2 / 3), -(2 ** (-2 / 3)), 0]]),
    ("norm", [[4.0, 9.0, 0.0]], {"p": 0.5}, 25, [[2.5, 5 / 3, 0]]),
    ("norm", [[3.0, -3.0, 1.0]], {"p": "inf"}, 3, [[0.5, -0.5, 0]]),
    ("norm", [[0.0, 0.0]], {"p": INF}, 0, [[0, 0]]),
    ("norm", [[3.0, -1.0, 1.0]], {"p": "-inf"}, 1, [[0, -0.5, 0.5]]),
    ("norm", [[3.0, -1.0, 0.0]], {"p": 1}, 4, [[1, -1, 0]]),
    ("norm", [[3.0, -1.0, 0.0, NAN]], {"p": 0}, 3, [[0, 0, 0, 0]]),
    ("norm", [[1.0, 0.0]], {"p": -1.0}, 0, [[0, 0]]),
    ("norm", [[2.0, -2.0]], {"p": -1.0}, 1, [[0.25, -0.25]]),
    ("norm", [np.zeros((2, 0))], {"axis": 1}, [0, 0], [np.zeros((2, 0))]),
    ("normalize", [[[0.0, 0.0]]], {}, [[0, 0]], [[[1e12, 1e12]]]),
    ("normalize", [[[3.0, 4.0]]], {"p": 1.0}, [[3 / 7, 4 / 7]], [None]),
    ("l2_norm", [[3.0, 4.0]], {}, [0.6, 0.8], [None]),
    ("l2_norm", [[3.0, 4.0]], {"eps": 10.0}, [0.3, 0.4], [[0.1, 0.1]]),
    ("cosine_similarity", [[0.0, 0.0], [3.0, 4.0]], {"axis": 0}, 0, [[0.6e8, 0.8e8], [0, 0]]),
    ("cosine_similarity", [[[1.0, 1.0]], [[2.0, 0.0]]], {}, [1 / ROOT], [None, [[0, 0.5 / ROOT]]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_axes_and_kept_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for p in (0.0, 1.0, 2.0, 3.0, "inf", "-inf"):
        assert OPS["norm"](x, p=p, axis=(0, 2)).shape == (3,)
        assert OPS["norm"](x, p=p, axis=1, keepdims=True).shape == (2, 1, 4)


def test_float16_accumulates_in_float32() -> None:
    length = OPS["norm"](tensor([300.0, 400.0], dtype="float16"))
    assert (length.dtype.name, length.item()) == ("float16", 500)


@each_row("size", [0, 1, 4096, 5000, 300_001])
def test_a_sum_of_squares_is_as_exact_as_a_pairwise_sum(size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    total = OPS["sum_of_squares"](x)
    assert (total.shape, total.dtype.name) == ((), "float32")
    assert total.item() == pytest.approx(np.square(x.astype(np.float64)).sum(), rel=3e-7)


def test_a_sum_of_squares_of_float16_accumulates_in_float32() -> None:
    assert OPS["sum_of_squares"](np.full(30000, 0.5, np.float16)).item() == 7500


def test_cosines_broadcast() -> None:
    assert OPS["cosine_similarity"](np.ones((4, 3)), np.ones((1, 3))).shape == (4,)


def test_misuse_is_refused() -> None:
    with pytest.raises(DTypeError, match="norm needs floating inputs, got int64"):
        OPS["norm"](np.array([1, 2]))
    with pytest.raises(ShapeError, match="there is no identity element"):
        OPS["norm"](np.zeros((2, 0)), p="inf", axis=1)
