"""Whether numbers agree within a tolerance: infinities, NaN, integers, and which of the two it is relative to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.ops import OPS
from tests.support.rows import each_row

INF, NAN = math.inf, math.nan

PAIRS: list[tuple[Any, Any, dict[str, Any], bool]] = [
    (1.0, 1.0 + 5e-6, {}, True),
    (1.0, 1.0 + 2e-5, {}, False),
    (0.0, 5e-9, {}, True),
    (10.0, 8.0, {"rtol": 0.2}, False),
    (8.0, 10.0, {"rtol": 0.2}, True),
    (1.0, 1.5, {"rtol": 0.0, "atol": 0.5}, True),
    (INF, INF, {}, True),
    (INF, -INF, {"rtol": 1.0}, False),
    (1.0, INF, {"rtol": 1.0}, False),
    (NAN, NAN, {}, False),
    (NAN, NAN, {"equal_nan": True}, True),
    (NAN, 1.0, {"equal_nan": True}, False),
    (np.array(2**40), np.array(2**40 + 5), {"rtol": 0.0, "atol": 4.0}, False),
    (np.array(2**40), np.array(2**40 + 5), {"rtol": 0.0, "atol": 5.0}, True),
    (np.array(True), np.array(False), {}, False),
]


@each_row(("a", "b", "attrs", "wanted"), PAIRS)
def test_two_numbers_are_close_or_not(a: Any, b: Any, attrs: dict[str, Any], wanted: bool) -> None:
    for name in ("isclose", "allclose"):
        created = OPS[name](np.asarray(a), np.asarray(b), **attrs)
        assert created.dtype == np.bool_
        assert created.item() == wanted


def test_arrays_broadcast_and_one_different_element_decides_for_all() -> None:
    a = np.array([[1.0, 2.0], [1.0, 2.5]])
    assert OPS["isclose"](a, np.array([1.0, 2.0])).numpy().tolist() == [[True, True], [True, False]]
    assert not OPS["allclose"](a, np.array([1.0, 2.0])).item()
    assert OPS["allclose"](np.ones((0, 2)), np.ones(2)).item()
