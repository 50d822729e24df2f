"""Every kind of shuffle visits every row once, in an order that seed and epoch determine."""

import numpy as np
import pytest

from engine.core.errors import DataError
from engine.core.options import Reader
from engine.data.batches import Batches, Shuffle, read_shuffle
from engine.data.loader import DataLoader
from tests.support.rows import each_row

KINDS = {
    "rows": Shuffle(),
    "none": Shuffle(kind="none"),
    "shards": Shuffle(kind="shards"),
    "shards of 7": Shuffle(kind="shards", size=7),
    "shards of more than all": Shuffle(kind="shards", size=1000),
    "window": Shuffle(kind="window", size=10),
    "window of one": Shuffle(kind="window", size=1),
}
COUNTS = [1, 2, 5, 50, 101]
SAME = ("none", "shards of more than all", "window of one")


def batches(shuffle, count=101, batch_size=5, seed=3, first=100):
    return Batches(np.arange(first, first + count), batch_size, shuffle, drop_last=False, seed=seed)


@each_row("kind", KINDS)
@each_row("count", COUNTS)
def test_every_row_comes_once_an_epoch(kind, count):
    each = batches(KINDS[kind], count)
    for epoch in (0, 1, 10**6):
        order = each.order(epoch)
        assert order.dtype == np.int64
        assert sorted(order.tolist()) == list(range(100, 100 + count))


@each_row("kind", KINDS)
def test_orders_are_a_function_of_seed_and_epoch(kind):
    orders = {tuple(batches(KINDS[kind], seed=seed).order(epoch)) for seed in (0, 1) for epoch in (0, 1, 2)}
    assert len(orders) == (1 if kind in SAME else 6)
    assert tuple(batches(KINDS[kind], seed=1).order(2)) in orders


def test_true_and_false_are_rows_and_none():
    for value, kind in ((True, "rows"), (False, "none")):
        np.testing.assert_array_equal(batches(value).order(4), batches(KINDS[kind]).order(4))
    ranged = Batches(range(100, 201), 5, shuffle=True, drop_last=False, seed=3)
    np.testing.assert_array_equal(ranged.order(4), batches(True).order(4))


@pytest.mark.parametrize(("kind", "size"), [("shards", 5), ("shards of 7", 7)])
def test_shards_are_permuted_whole_and_what_fills_none_stays_last(kind, size):
    order = batches(KINDS[kind], first=0).order(0)
    whole = 101 // size
    shards = order[: whole * size].reshape(whole, size)
    assert (np.diff(shards, axis=1) == 1).all()
    assert (shards[:, 0] % size == 0).all()
    assert shards[:, 0].tolist() != sorted(shards[:, 0].tolist())
    assert order[whole * size :].tolist() == list(range(whole * size, 101))


@pytest.mark.parametrize("size", [2, 10, 50])
def test_a_windowed_shuffle_moves_no_row_by_the_window_or_more(size):
    each = Batches(range(5000), 8, Shuffle(kind="window", size=size), drop_last=False, seed=1)
    moved = np.abs(each.order(0) - np.arange(5000))
    assert size // 2 <= moved.max() < size
    assert np.count_nonzero(moved) > 1000


def test_orders_are_the_same_on_every_machine():
    found = {kind: batches(KINDS[kind], 8, batch_size=2, first=0).order(1).tolist() for kind in EXPECTED}
    assert found == EXPECTED


EXPECTED = {
    "rows": [6, 4, 1, 7, 3, 5, 2, 0],
    "shards": [6, 7, 2, 3, 4, 5, 0, 1],
    "window": [0, 4, 2, 5, 3, 7, 1, 6],
}


@each_row("drop_last", [False, True])
@each_row("kind", KINDS)
def test_a_stream_goes_on_from_any_step_as_if_it_had_not_stopped(kind, drop_last):
    each = Batches(range(23), 5, KINDS[kind], drop_last, seed=2)
    whole = [batch.tolist() for batch in each.stream(0, 12)]
    assert len(whole) == 12
    assert [len(batch) for batch in whole[:5]] == ([5] * 5 if drop_last else [5, 5, 5, 5, 3])
    for start in range(12):
        assert [batch.tolist() for batch in each.stream(start, 12)] == whole[start:]
    endless = each.stream(3)
    assert [next(endless).tolist() for _ in range(9)] == whole[3:]
    assert whole[each.per_epoch + 1] == each.batch(each.order(1), 1).tolist()


def test_a_stream_without_a_batch_is_refused():
    with pytest.raises(DataError, match="3 examples fill no batch of 4"):
        next(Batches(range(3), 4, True, drop_last=True, seed=0).stream())


def test_the_loader_takes_kinds_of_shuffle():
    loader = DataLoader(np.arange(12.0), batch_size=3, shuffle=Shuffle(kind="shards"), layout="row")
    firsts = [batch.x.numpy() for batch in loader]
    assert all((np.diff(rows) == 1).all() for rows in firsts)
    assert [rows[0] for rows in firsts] != [0, 3, 6, 9]


@each_row(
    ("value", "shuffle"),
    [
        (True, Shuffle()),
        (False, Shuffle(kind="none")),
        ({}, Shuffle()),
        ({"kind": "shards", "size": None}, Shuffle(kind="shards")),
        ({"kind": "window", "size": 9}, Shuffle(kind="window", size=9)),
    ],
)
def test_shuffles_are_read(value, shuffle):
    reader = Reader()
    assert read_shuffle(reader, value, "/shuffle") == shuffle
    assert not reader.findings


@each_row(
    ("value", "pointer", "message"),
    [
        (3, "/shuffle", "must be an object"),
        ({"kind": "blocks"}, "/shuffle/kind", "one of 'rows', 'shards', 'window', 'none'"),
        ({"kind": "window"}, "/shuffle/size", "needs a 'size'"),
        ({"kind": "rows", "size": 3}, "/shuffle/size", "has no size"),
        ({"kind": "shards", "size": 0}, "/shuffle/size", "at least 1"),
        ({"kind": "shards", "sizes": 2}, "/shuffle/sizes", "did you mean 'size'"),
    ],
)
def test_faulty_shuffles_are_findings(value, pointer, message):
    reader = Reader()
    read_shuffle(reader, value, "/shuffle")
    ((place, detail),) = [(finding.pointer, finding.detail) for finding in reader.findings]
    assert place == pointer
    assert message in detail
