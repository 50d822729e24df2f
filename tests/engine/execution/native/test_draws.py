"""Random draws: compiled kernels and NumPy give the same numbers for a key, to the bit."""

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from engine.execution.native.kernels import draws
from engine.execution.native.lowering import LOWERINGS
from engine.ops import OPS
from tests.support.rows import each_row

KEYS = [np.array(key) for key in ([0, 0], [1, 2], [-1, 2**62], [2**63 - 1, -(2**63)])]
SHAPES = [(5,), (3, 7), (5, 7001), ()]  # of one iteration that threads share, and of three


@each_row("p", [0.0, 0.1, 0.25, 0.5, 0.9999, 1.0])
@each_row("shape", SHAPES)
def test_masks(shape, p, run_both):
    for key in KEYS:
        for dtype in (FLOAT32, FLOAT64, FLOAT16, *filter(None, [BFLOAT16])):
            actual, expected = run_both("dropout_mask", key, shape=shape, p=p, dtype=dtype)
            np.testing.assert_array_equal(actual[0], expected[0])
        actual, expected = run_both("bernoulli", key, shape=shape, p=p)
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (0.125, 0.3), (7.0, 7.0), (1e6, 1e6 + 0.5)])
@each_row("shape", SHAPES)
def test_uniform_numbers(shape, low, high, run_both):
    for key in KEYS:
        for dtype in (FLOAT32, FLOAT64):
            actual, expected = run_both("random_uniform", key, shape=shape, low=low, high=high, dtype=dtype)
            np.testing.assert_array_equal(actual[0], expected[0])


@each_row(("mean", "std"), [(0.0, 1.0), (1.5, 0.3)])
@each_row("shape", SHAPES)
def test_normal_numbers(shape, mean, std, run_both):
    for key in KEYS:
        for dtype in (FLOAT32, FLOAT64):
            actual, expected = run_both("random_normal", key, shape=shape, mean=mean, std=std, dtype=dtype)
            np.testing.assert_array_equal(actual[0], expected[0])


@each_row("rate", [1.0, 0.3])
@each_row("shape", SHAPES)
def test_exponential_numbers(shape, rate, run_both):
    for key in KEYS:
        for dtype in (FLOAT32, FLOAT64):
            actual, expected = run_both("exponential", key, shape=shape, rate=rate, dtype=dtype)
            np.testing.assert_array_equal(actual[0], expected[0])


@each_row(
    ("low", "high"), [(0, 1), (0, 10), (-7, 1000), (0, 2**32), (-(2**40), 2**41), (0, 3 * 2**30), (-1, 2**63 - 1)]
)
@each_row("shape", SHAPES)
def test_integers(shape, low, high, run_both):
    for key in KEYS:
        actual, expected = run_both("random_integers", key, shape=shape, low=low, high=high)
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row("number", [0, 5, -3, 2**62])
def test_new_keys(number, run_both):
    for key in KEYS:
        actual, expected = run_both("fold_in", key, np.array(number))
        np.testing.assert_array_equal(actual[0], expected[0])


@pytest.mark.parametrize("p", [0.1, 0.25])
@pytest.mark.parametrize(("first", "count"), [(0, 7), (1, 100), (3, 19990), (12345, 11)])
def test_a_part_of_a_mask_is_that_of_the_whole(first, count, p, compiled, monkeypatch):
    monkeypatch.setitem(
        LOWERINGS, "dropout_mask", lambda work: draws.mask_calls(work, p, 0.0, 1 / (1 - p), first=first)
    )
    whole = OPS["dropout_mask"].body(KEYS[1], shape=(20000,), p=p)
    part = np.zeros(count, np.float32)
    assert compiled("dropout_mask", [KEYS[1]], [part], {})
    np.testing.assert_array_equal(part, whole[first : first + count])
