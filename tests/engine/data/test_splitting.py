"""Splits: the same for a seed, of the right sizes, with classes, groups and time kept as asked."""

from itertools import combinations

import numpy as np
import pytest

from engine.core.errors import DataError
from engine.core.options import Reader, read_options
from engine.data.class_encoding import check_labels
from engine.data.source import open_source
from engine.data.splitting import Split, grouped_split, held_out_rows, split_examples, split_rows, stratified_split
from engine.data.windows import Windows
from tests.support.rows import each_row

ROWS = 97
RANDOM = np.random.default_rng(8)
CLASSES = RANDOM.choice([2, 5, 11], ROWS, p=[0.7, 0.25, 0.05])
COLUMNS = {"x": np.arange(ROWS), "class": CLASSES, "group": np.arange(ROWS) // 6, "name": CLASSES.astype("U2")}
SPLITS = {
    "random": Split(split=0.2),
    "stratified": Split(split=0.2, stratify="class"),
    "stratified by strings": Split(split=0.2, stratify="name"),
    "grouped": Split(split=0.2, group="group"),
    "last": Split(split=0.2, order="last"),
    "none": Split(),
}


def split(which, seed=0, columns=COLUMNS, windows=None):
    return split_examples(open_source(columns, {"x": "x"}, windows), which, seed)


@each_row("kind", SPLITS)
def test_both_parts_are_ascending_and_hold_every_row_once(kind):
    train, held_out = split(SPLITS[kind])
    assert sorted([*train, *held_out]) == list(range(ROWS))
    assert train.tolist() == sorted(train)
    assert held_out.tolist() == sorted(held_out)
    sizes = SPLITS[kind].sizes(ROWS)
    assert sizes is None if kind == "grouped" else sizes == (len(train), len(held_out))


@each_row("kind", SPLITS)
def test_a_split_is_a_function_of_the_seed(kind):
    parts = {tuple(split(SPLITS[kind], seed)[1]) for seed in (0, 0, 1, 2, 3)}
    assert len(parts) == (1 if kind in ("last", "none") else 4)


def test_a_plain_split_is_that_of_rows():
    for ours, theirs in zip(split(SPLITS["random"], 5), split_rows(ROWS, 0.2, 5), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@each_row("fraction", [0.01, 0.1, 0.25, 0.5, 0.77, 0.99])
@each_row("seed", [0, 1])
def test_every_class_has_its_share_and_the_total_is_exact(fraction, seed):
    labels = check_labels("class", CLASSES, "stratify")
    train, held_out = stratified_split(labels, fraction, seed)
    total = held_out_rows(ROWS, fraction)
    assert len(held_out) == total
    for name, count in zip(labels.names, labels.counts, strict=True):
        assert abs(np.count_nonzero(CLASSES[held_out] == name) - count * total / ROWS) < 1
        assert np.count_nonzero(CLASSES[train] == name) + np.count_nonzero(CLASSES[held_out] == name) == count


def test_largest_remainders_decide_who_gets_the_rows_that_are_left():
    codes = np.repeat([0, 1, 2, 3], [10, 6, 4, 1])  # 7 of 21 rows: 3.33, 2, 1.33, 0.33
    held_out = stratified_split(check_labels("c", codes, "stratify"), 1 / 3, seed=3)[1]
    assert np.bincount(codes[held_out], minlength=4).tolist() == [4, 2, 1, 0]


@pytest.mark.slow
@each_row("seed", range(4))
@each_row("fraction", [0.05, 0.3, 0.5, 0.9])
@each_row("sizes", [[5, 5], [1, 90], [3, 7, 11, 2, 19], [30, 31, 32], [4, 6, 8, 9, 1, 1, 20], [9] * 8])
def test_no_group_is_on_both_sides_and_no_choice_of_groups_is_nearer(sizes, fraction, seed):
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    train, held_out = grouped_split(check_labels("group", groups, "group"), fraction, seed)
    assert not set(groups[train]) & set(groups[held_out])
    assert len(train) + len(held_out) == len(groups)
    target = held_out_rows(len(groups), fraction)
    chosen = (subset for count in range(1, len(sizes)) for subset in combinations(sizes, count))
    assert abs(len(held_out) - target) == min(abs(sum(subset) - target) for subset in chosen)


def test_large_groupings_are_filled_in_random_order_first(monkeypatch):
    monkeypatch.setattr("engine.data.splitting.EXACT", 50 * 200)
    sizes = np.random.default_rng(0).integers(1, 30, 200)
    groups = check_labels("group", np.repeat(np.arange(200), sizes), "group")
    for seed in range(5):
        train, held_out = grouped_split(groups, 0.4, seed)
        assert len(held_out) == held_out_rows(int(sizes.sum()), 0.4)
        assert not set(groups.codes[train]) & set(groups.codes[held_out])


@each_row(("span", "stride"), [((0, 1), 1), ((0, 5), 1), ((2, 5), 2), ((0, 6), 3), ((0, 2), 5)])
@each_row("within", [None, "group"])
def test_no_training_window_overlaps_the_rows_of_those_held_out_last(span, stride, within):
    windows = Windows(spans={"x": span}, stride=stride, within=within)
    source = open_source(COLUMNS, {"x": "x"}, windows)
    train, held_out = split_examples(source, SPLITS["last"], 0)
    assert held_out.tolist() == list(range(source.count - held_out_rows(source.count, 0.2), source.count))
    first = source.starts[held_out[0]]
    assert [k for k in range(source.count) if source.starts[k] + span[1] <= first] == train.tolist()
    assert not set(source.rows_of("x", train)) & set(source.rows_of("x", held_out))
    assert SPLITS["last"].sizes(ROWS, windows) == (None if within else (len(train), len(held_out)))


def test_splits_that_leave_nothing_are_refused():
    with pytest.raises(DataError, match="every window of 60 rows reaches into the held-out rows"):
        split(SPLITS["last"], windows=Windows(spans={"x": (0, 60)}))
    with pytest.raises(DataError, match="at least two examples; there is 1"):
        split(SPLITS["random"], columns={"x": np.zeros(1)})
    with pytest.raises(DataError, match="'group' holds one group only"):
        split(SPLITS["grouped"], columns={"x": np.zeros(4), "group": np.zeros(4)})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([0.5, 1]), "column 'class' holds fractions or NaN"),
        (np.array([np.nan, 1]), "column 'class' holds fractions or NaN"),
        (np.zeros((2, 2)), "one value a row"),
    ],
)
def test_columns_without_labels_are_named(values, message):
    with pytest.raises(DataError, match=message):
        split(SPLITS["stratified"], columns={"x": np.zeros(2), "class": values})


@each_row(
    ("document", "pointers"),
    [
        ({"split": 0.1, "stratify": "a", "group": "b"}, ["/group"]),
        ({"stratify": "a"}, ["/stratify"]),
        ({"split": 0.1, "group": "b", "order": "last"}, ["/group"]),
        ({"split": 1}, ["/split"]),
        ({"split": 0.1, "order": "first"}, ["/order"]),
        ({"split": 0.1, "stratify": "a"}, []),
    ],
)
def test_faulty_options_are_findings(document, pointers):
    reader = Reader()
    read_options(reader, document, "", Split)
    assert [finding.pointer for finding in reader.findings] == pointers
