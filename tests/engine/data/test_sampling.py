"""Weighted draws: as often as the weights say, the same for a seed and an epoch, and no row of weight 0."""

import numpy as np
import pytest

from engine.core.errors import DataError
from engine.core.options import Reader, read_options
from engine.data.batches import Batches
from engine.data.sampling import Sampler, Sampling, class_weights, make_sampler
from engine.data.source import open_source
from tests.support.rows import each_row

ROWS = 12
WEIGHTS = np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 1], np.float32)
LABELS = np.array(["a"] * 9 + ["b"] * 2 + ["c"])
COLUMNS = {"x": np.arange(ROWS), "w": WEIGHTS, "label": LABELS}
SOURCE = open_source(COLUMNS, {"x": "x"})
ALL = np.arange(ROWS)


def drawn(sampling, epoch=0, seed=0, shuffle=True, examples=ALL):
    sampler = make_sampler(sampling, SOURCE, examples)
    return Batches(examples, 4, shuffle, drop_last=False, seed=seed, sampler=sampler).order(epoch)


@pytest.mark.parametrize("sampling", [Sampling(weights="w"), Sampling(weights="w", replacement=False, examples=5)])
def test_draws_are_a_function_of_seed_and_epoch_and_never_of_weight_0(sampling):
    draws = {(seed, epoch): tuple(drawn(sampling, epoch, seed)) for seed in (0, 1) for epoch in range(20)}
    assert len(set(draws.values())) > 35
    assert tuple(drawn(sampling, 7, 1)) == draws[1, 7]
    rows = {row for draw in draws.values() for row in draw}
    assert rows == set(np.flatnonzero(WEIGHTS))
    assert {len(draw) for draw in draws.values()} == {sampling.examples or ROWS}


def test_draws_with_replacement_come_as_often_as_their_weights():
    counts = np.bincount(drawn(Sampling(weights="w", examples=160_000)), minlength=ROWS)
    np.testing.assert_allclose(counts / 160_000, WEIGHTS / WEIGHTS.sum(), atol=0.005)


def test_balanced_classes_come_equally_often():
    rows = drawn(Sampling(weights="balanced", of="label", examples=90_000))
    counts = [np.count_nonzero(LABELS[rows] == name) for name in "abc"]
    np.testing.assert_allclose(counts, 30_000, rtol=0.02)


def test_draws_without_replacement_are_distinct_and_favour_weight():
    sampling = Sampling(weights="w", replacement=False, examples=1)
    sampler = make_sampler(sampling, SOURCE, ALL)
    random = np.random.default_rng(1)
    first = np.bincount([sampler.draw(random)[0] for _ in range(8000)], minlength=ROWS)
    np.testing.assert_allclose(first / 8000, WEIGHTS / WEIGHTS.sum(), atol=0.02)
    everything = drawn(Sampling(weights="w", replacement=False))
    assert sorted(everything.tolist()) == np.flatnonzero(WEIGHTS).tolist()
    pairs = [tuple(Sampler(np.array([8.0, 1, 1]), False, 2).draw(random)) for _ in range(5000)]
    assert set(pairs) == {(0, 1), (0, 2), (1, 2)}
    # Both of the small ones: each first with 1/10, then the other before the large one with 1/9.
    assert pairs.count((1, 2)) / 5000 == pytest.approx(2 / 90, abs=0.01)


def test_only_the_given_examples_are_drawn_and_order_is_for_the_shuffle():
    rows = drawn(Sampling(weights="w", examples=100), shuffle=False, examples=np.array([2, 3, 5, 8]))
    assert set(rows.tolist()) == {2, 3, 5}
    assert rows.tolist() == sorted(rows.tolist())
    mixed = drawn(Sampling(weights="w", examples=100), examples=np.array([2, 3, 5, 8]))
    assert mixed.tolist() != rows.tolist()
    assert sorted(mixed.tolist()) == rows.tolist()


def test_batches_count_what_is_drawn():
    sampler = make_sampler(Sampling(weights="w", examples=30), SOURCE, ALL)
    assert Batches(ALL, 4, True, drop_last=False, seed=0, sampler=sampler).per_epoch == 8
    assert Batches(ALL, 4, True, drop_last=True, seed=0, sampler=sampler).per_epoch == 7


def test_tiny_weights_do_no_harm():
    sampler = Sampler(np.array([1e-310, 1.0, 1e-310]), False, 3)
    assert sampler.draw(np.random.default_rng(0)).tolist() == [0, 1, 2]
    often = Sampler(np.array([1.0, 1e-310]), True, 1000).draw(np.random.default_rng(0))
    assert set(often.tolist()) == {0}


def test_draws_are_the_same_on_every_machine():
    assert drawn(Sampling(weights="w", examples=6), shuffle=False).tolist() == WITH
    assert drawn(Sampling(weights="w", examples=6, replacement=False), shuffle=False).tolist() == WITHOUT


WITH = [3, 3, 3, 6, 10, 10]
WITHOUT = [1, 2, 3, 6, 7, 10]


@each_row(
    ("values", "message"),
    [
        (np.array([1, np.nan, 1]), "column 'w' holds nan"),
        (np.array([1, -2, 1]), "column 'w' holds -2"),
        (np.array([np.inf, 1, 1]), "column 'w' holds inf"),
        (np.array([1e308, 1e308, 1e308]), "column 'w' add up to inf"),
        (np.zeros(3), "column 'w' add up to 0"),
        (np.array(["a", "b", "c"]), "column 'w' is to hold weights"),
        (np.zeros((3, 2)), "column 'w' must have one value a row"),
    ],
)
def test_columns_that_are_no_weights_are_named(values, message):
    source = open_source({"x": np.zeros(3), "w": values}, {"x": "x"})
    with pytest.raises(DataError, match=message):
        make_sampler(Sampling(weights="w"), source, np.arange(3))


def test_more_examples_than_have_a_weight_are_refused():
    with pytest.raises(DataError, match="9 rows of column 'w' have a weight, fewer than the 10"):
        make_sampler(Sampling(weights="w", replacement=False, examples=10), SOURCE, ALL)
    with pytest.raises(DataError, match="no column called 'v'"):
        make_sampler(Sampling(weights="v"), SOURCE, ALL)


@each_row(
    ("document", "pointer"),
    [
        ({}, "/sampling"),
        ({"weights": "balanced"}, "/sampling/of"),
        ({"weights": "w", "of": "label"}, "/sampling/of"),
        ({"weights": "w", "examples": 0}, "/sampling/examples"),
        ({"weights": 3}, "/sampling/weights"),
    ],
)
def test_faulty_options_are_findings(document, pointer):
    reader = Reader()
    read_options(reader, document, "/sampling", Sampling)
    assert [finding.pointer for finding in reader.findings] == [pointer]


def test_the_column_to_read_is_known():
    assert Sampling(weights="w").column == "w"
    assert Sampling(weights="balanced", of="label").column == "label"


@each_row(
    ("labels", "classes", "weights"),
    [
        ([0, 0, 0, 1], 2, [4 / 6, 4 / 2]),
        ([0, 1, 2], 3, [1, 1, 1]),
        ([0, 0, 3], 4, [3 / 4, 0, 0, 3 / 2]),
        ([[0, 1], [1, 1]], 2, [4 / 2, 4 / 6]),
        ([], 2, [0, 0]),
    ],
)
def test_balanced_class_weights_are_those_of_scikit_learn_and_0_for_absent_classes(labels, classes, weights):
    found = class_weights(np.array(labels, int), classes, "balanced")
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, weights, rtol=1e-15)


def test_class_weights_may_be_given_and_ignored_labels_do_not_count():
    assert class_weights(np.array([0]), 3, [1, 0.5, 2]).tolist() == [1, 0.5, 2]
    ignoring = class_weights(np.array([0, -100, 1, 1]), 2, "balanced", ignored=-100)
    np.testing.assert_allclose(ignoring, [3 / 2, 3 / 4])
    for weights, message in [
        ([1, 2], "each of the 3 classes, not 2"),
        ([1, -1, 2], "at least 0"),
        ([1, np.inf, 2], "fin"),
    ]:
        with pytest.raises(DataError, match=message):
            class_weights(np.array([0]), 3, weights)
    for labels in ([0, 3], [-1, 0], [0.5]):
        with pytest.raises(DataError, match="integers from 0 to 2"):
            class_weights(np.array(labels), 3, "balanced")
