"""Operations on bits: signs, shifts past the end, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from engine.core.errors import DTypeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row


@each_row(
    ("name", "a", "b", "wanted"),
    [
        ("bitwise_and", [6, -1], [3, 5], [2, 5]),
        ("bitwise_or", [6, -1], [3, 5], [7, -1]),
        ("bitwise_xor", [6, -1], [3, 5], [5, -6]),
        ("bitwise_left_shift", [1, -1, 1, 1], [3, 1, 64, -1], [8, -2, 0, 0]),
        ("bitwise_right_shift", [8, -8, -8, 8], [2, 1, 64, 64], [2, -4, -1, 0]),
        ("bitwise_and", [True, True], [True, False], [True, False]),
        ("logical_xor", [0.0, 2.0, 3.0], [1.0, 5.0, 0.0], [True, False, True]),
    ],
)
def test_pairs_combine_bit_by_bit(name: str, a: list[float], b: list[float], wanted: list[float]) -> None:
    assert OPS[name](tensor(np.array(a)), tensor(np.array(b))).numpy().tolist() == wanted


def test_turning_bits_over() -> None:
    assert OPS["bitwise_not"](tensor(np.array([0, 5, -1]))).numpy().tolist() == [-1, -6, 0]
    assert OPS["bitwise_not"](tensor(np.array([True, False]))).numpy().tolist() == [False, True]


@each_row("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift"])
def test_floats_have_no_bits(name: str) -> None:
    with pytest.raises(DTypeError, match="need integers or bool, got float64; cast it to int64"):
        OPS[name](tensor(np.ones(2)), tensor(np.ones(2)))


def test_truths_do_not_shift() -> None:
    with pytest.raises(DTypeError, match="a shift needs integers, got bool"):
        OPS["bitwise_left_shift"](tensor(np.array([True])), tensor(np.array([True])))
