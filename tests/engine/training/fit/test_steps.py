"""Losses over many batches: their value, how uncertain it is, and joining."""

import math
import statistics

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.training.fit.steps import LossTally
from tests.support.rows import each_row

BATCHES = [(1.5, 4.0), (0.25, 4.0), (3.0, 1.0), (-1.0, 2.5)]


def tally(batches, summed=False):
    created = LossTally(summed)
    for loss, weight in batches:
        created.add(loss, weight)
    return created


def test_a_mean_weighs_batches_and_a_sum_adds_them():
    mean, total = tally(BATCHES), tally([(loss, 1.0) for loss, _ in BATCHES], summed=True)
    assert mean.value == pytest.approx(sum(loss * weight for loss, weight in BATCHES) / 11.5)
    assert total.value == 3.75
    deviation = statistics.stdev(loss for loss, _ in BATCHES)
    assert mean.uncertainty == pytest.approx(deviation / 2)
    assert total.uncertainty == pytest.approx(deviation)


def test_without_batches_there_is_no_mean_and_below_two_no_uncertainty():
    assert math.isnan(tally([]).value)
    assert tally([], summed=True).value == 0
    assert math.isnan(tally([(1.0, 2.0)]).uncertainty)


def test_a_batch_that_weighs_nothing_says_nothing():
    assert tally([(math.nan, 0.0), *BATCHES]) == tally(BATCHES)
    assert math.isnan(tally([(math.nan, 0.0)]).value)


def test_what_is_not_finite_shows():
    assert math.isnan(tally([(1.0, 1.0), (math.nan, 1.0)]).value)
    assert tally([(1.0, 1.0), (math.inf, 1.0)]).value == math.inf
    assert math.isnan(tally([(1.0, 1.0), (math.inf, 1.0)]).uncertainty)


NUMBERS = st.tuples(st.floats(-1e3, 1e3), st.floats(0.5, 8))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NUMBERS, max_size=6), st.lists(NUMBERS, max_size=6))
def test_joined_tallies_are_those_of_all_batches(first, second):
    joined, whole = tally(first), tally([*first, *second])
    joined.merge(tally(second))
    assert (joined.batches, joined.weight) == (whole.batches, pytest.approx(whole.weight))
    assert joined.value == pytest.approx(whole.value, rel=1e-9, abs=1e-9, nan_ok=True)
    assert joined.uncertainty == pytest.approx(whole.uncertainty, rel=1e-6, abs=1e-6, nan_ok=True)


def test_it_is_written_and_read_to_the_bit():
    for created in (tally(BATCHES), tally([(0.1, 1.0)] * 3, summed=True), tally([])):
        assert LossTally.from_json(created.to_json()) == created


@each_row("damage", [{"batches": -1}, {"batches": 1.0}, {"total": None}, {"mean": "x"}])
def test_a_damaged_one_is_refused(damage):
    with pytest.raises((KeyError, TypeError, ValueError)):
        LossTally.from_json({**tally(BATCHES).to_json(), **damage})
