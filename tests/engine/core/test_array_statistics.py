import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from engine.core.array_statistics import BINS, array_statistics

DTYPES = ["float16", "float32", "float64"]


def test_numbers_are_those_of_the_whole_array_whatever_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.random.default_rng(0).normal(size=(37, 29)).astype(np.float32)
    array[3, :5] = 0
    whole = array_statistics(array)
    monkeypatch.setattr(import_module("engine.core.array_statistics"), "CHUNK", 64)
    pieces = array_statistics(array)
    assert (pieces.counts, pieces.edges, pieces.zeros, pieces.min) == (whole.counts, whole.edges, 5, whole.min)
    exact = array.astype(np.float64)
    for found in (whole, pieces):
        assert found.norm == pytest.approx(np.linalg.norm(exact), rel=1e-14)
        assert found.mean == pytest.approx(exact.mean(), rel=1e-12)
        assert (found.min, found.max, found.abs_max) == (exact.min(), exact.max(), np.abs(exact).max())
        expected = np.histogram(exact, BINS)
        assert found.counts == expected[0].tolist()
        assert found.edges == pytest.approx(expected[1].tolist())


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: of_numpy.arrays(dtype, of_numpy.array_shapes(min_dims=0, min_side=0, max_side=6))
    )
)
def test_any_array_can_be_summed_up(array: np.ndarray[Any, Any]) -> None:
    found = array_statistics(array)
    finite = array[np.isfinite(array)]
    assert found.elements == array.size
    assert (found.nan, found.inf) == (np.isnan(array).sum(), np.isinf(array).sum())
    assert found.zeros == (array == 0).sum()
    assert sum(found.counts) == finite.size
    assert len(found.edges) == (len(found.counts) + 1 if finite.size else 0)
    assert sorted(found.edges) == found.edges
    assert all(map(math.isfinite, found.edges))
    if finite.size:
        assert (found.edges[0], found.edges[-1]) == (float(finite.min()), float(finite.max()))
    if found.nan:
        assert math.isnan(found.norm)
    elif found.inf:
        assert found.norm == math.inf
    elif array.size:
        assert found.mean is not None
        assert found.min is not None
        assert found.max is not None
        assert found.abs_max is not None
        assert found.abs_max * (1 - 1e-12) <= found.norm or found.norm == math.inf
        assert found.min - 1e-9 * found.abs_max <= found.mean <= found.max + 1e-9 * found.abs_max


def test_squares_that_would_overflow_or_vanish_do_not() -> None:
    for size in (1e200, 1e-200, 1e308, 5e-324):
        assert array_statistics(np.full(4, size)).norm == pytest.approx(2 * size, rel=1e-9)
        assert array_statistics(np.full(4, size)).mean == size


def test_nothing_is_reported_of_what_is_not_there() -> None:
    found = array_statistics(np.zeros((0, 3), np.float32))
    assert (found.norm, found.mean, found.min, found.abs_max, found.counts) == (0.0, None, None, None, [])
    blank = array_statistics(np.array([np.nan, np.nan]))
    assert (blank.nan, blank.min, blank.counts) == (2, None, [])
