"""Casts: compiled and NumPy's conversions agree to the bit."""

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.execution.native.kernels import casting
from tests.extent import FULL
from tests.support.rows import each_row

KNOWN = ("bool", "uint8", "int32", "int64", "float32", "float64")
PAIRS = [
    (found, wanted)
    for row, found in enumerate(KNOWN)
    for column, wanted in enumerate(KNOWN)
    if found != wanted and wanted != "uint8" and (FULL or (row + column) % 2)
]
"""Each pair is a kernel of its own: `make test` compiles half of them, from every dtype; `make chaos` all."""
ODD = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, 3e-8, 6e-8, 65504, 65519, 65520, 1e30, 0.1, -2.5, 1e5]
TIES = [1 + step * 2.0**-bits for bits in (8, 11) for step in (1, 3)]
"""Halfway between two numbers of bfloat16 and of float16: the one rounds down to be even, the other up."""
HALVES = [np.dtype(np.float16), *([] if BFLOAT16 is None else [BFLOAT16])]


@each_row(("found", "wanted"), PAIRS)
def test_numbers(found, wanted, run_both):
    x = np.random.default_rng(0).uniform(-9, 9, (7, 11)).astype(np.int64 if found == "uint8" else found).astype(found)
    for view in (x, x[::2, 1::3], x.T):
        actual, expected = run_both("cast", view, dtype=np.dtype(wanted))
        np.testing.assert_array_equal(actual[0], expected[0])


@pytest.mark.parametrize("half", HALVES)
def test_every_half_as_float32(half, run_both, compiled):
    every = np.arange(2**16, dtype=np.uint16).view(half)
    with np.errstate(invalid="ignore"):
        numbers = every[~np.isnan(every)]
    actual, expected = run_both("cast", numbers, dtype=np.dtype(np.float32))
    np.testing.assert_array_equal(actual[0], expected[0])
    out = np.zeros(3, np.float32)
    assert compiled("cast", [np.full(3, np.nan, half)], [out], {"dtype": out.dtype})
    assert np.isnan(out).all()


@pytest.mark.parametrize("instruction", [True, False], ids=("by instruction", "by bits"))
@pytest.mark.parametrize("half", HALVES)
def test_rounding_to_halves(half, instruction, run_both, compiled, monkeypatch):
    if not instruction:
        monkeypatch.setattr(casting, "multiplies_pairs", lambda: False)
        monkeypatch.setattr(casting, "converting", casting.converting.__wrapped__)
    rng = np.random.default_rng(1)
    spread = 10 ** rng.uniform(-9, 6, 5000)
    x = np.concatenate([np.array([*ODD, *TIES]), spread, -spread]).astype(np.float32)
    (actual,), (expected,) = run_both("cast", x, dtype=half)
    # Instructions for bfloat16 take subnormal numbers for zeros, as the executor's arithmetic does.
    tiny = (np.abs(x) < np.finfo(np.float32).tiny) & (actual == 0)
    np.testing.assert_array_equal(np.where(tiny, expected, actual).astype(np.float32), expected.astype(np.float32))
    there = np.full_like(x, 7)
    assert compiled("round_through", [x], [there], {"through": half})
    np.testing.assert_array_equal(there, actual.astype(np.float32))


def test_float64_is_no_half_type_where_there_is_no_bfloat16(run_both, monkeypatch):
    monkeypatch.setattr("engine.execution.native.lowering.BFLOAT16", None)
    (found,), (expected,) = run_both("cast", np.array([True, False]), dtype="float64")
    np.testing.assert_array_equal(found, expected)
