"""Histograms, counts, membership and signs: answers are known, and what has none is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError
from engine.ops import OPS
from tests.support.rows import each_row

INF, NAN = np.inf, np.nan


@each_row(
    ("name", "operands", "attrs", "known"),
    [
        ("histc", [np.array([0.0, 1, 2, 2, 9, NAN, -1])], {"bins": 2, "min": 0.0, "max": 2.0}, [1, 3]),
        ("histc", [np.array([3.0, 3.0])], {"bins": 2}, [0, 2]),
        ("histc", [np.zeros(0)], {"bins": 2}, [0, 0]),
        ("bincount", [np.array([1, 1, 3])], {"minlength": 6}, [0, 2, 0, 1, 0, 0]),
        ("bincount", [np.array([1, 1, 3]), np.array([0.5, 0.25, 1.0])], {}, [0, 0.75, 0, 1]),
        ("bincount", [np.zeros(0, np.int64)], {}, []),
        ("isin", [np.array([1, 2, 3]), np.array([[3, 1]])], {}, [True, False, True]),
        ("isin", [np.array([NAN, 2.0]), np.array([NAN, 2.0])], {"invert": True}, [True, False]),
        ("equal", [np.ones(2), np.ones((1, 2))], {}, False),
        ("equal", [np.ones(2), np.ones(2, np.int64)], {}, True),
        ("signbit", [np.array([-0.0, 0.0, -1.0, INF])], {}, [True, False, True, False]),
        ("isposinf", [np.array([INF, -INF, NAN])], {}, [True, False, False]),
        ("isneginf", [np.array([INF, -INF, NAN])], {}, [False, True, False]),
    ],
)
def test_answers_are_known(name: str, operands: list[Any], attrs: dict[str, Any], known: Any) -> None:
    assert OPS[name](*operands, **attrs).numpy().tolist() == known


@each_row(
    ("name", "operands", "attrs", "message"),
    [
        ("histc", [np.array([1.0, INF])], {}, "no finite range"),
        ("bincount", [np.array([-1])], {}, "-1 is negative"),
        ("bincount", [np.array([5])], {"bins": 5}, "5 is out of range"),
        ("bincount", [np.array([10**12])], {}, "must be in 0"),
    ],
)
def test_what_cannot_be_counted_is_refused(name: str, operands: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*operands, **attrs)


def test_weights_of_counts_have_a_gradient() -> None:
    index, scores = np.array([1, 1, 3]), np.array([5.0, 6.0, 7.0, 8.0])
    slope = engine.grad(lambda w: OPS["sum"](OPS["bincount"](index, w) * scores))(np.ones(3))
    assert slope.numpy().tolist() == [6, 6, 8]
