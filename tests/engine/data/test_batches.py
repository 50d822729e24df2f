"""The order of rows: a pure function of seed and epoch, complete and without repetition."""

import numpy as np

from engine.data.batches import Batches
from engine.data.splitting import held_out_rows, split_rows
from tests.support.rows import each_row


def visited(batches, epoch):
    order = batches.order(epoch)
    return [batches.batch(order, position).tolist() for position in range(batches.per_epoch)]


@each_row(
    ("rows", "fraction", "held_out"),
    [(10, 0.25, 2), (10, 0.0, 0), (10, 0.01, 1), (10, 0.99, 9), (2, 0.5, 1), (7, 0.5, 4)],
)
def test_a_split_holds_out_the_nearest_number_of_rows_but_never_all_or_none(rows, fraction, held_out):
    train, validation = split_rows(rows, fraction, seed=3)
    assert held_out_rows(rows, fraction) == len(validation) == held_out
    assert sorted([*train, *validation]) == list(range(rows))
    assert train.tolist() == sorted(train)
    assert validation.tolist() == sorted(validation)


def test_a_split_depends_on_the_seed_alone():
    first, second, other = (split_rows(100, 0.2, seed)[1].tolist() for seed in (1, 1, 2))
    assert first == second != other


def test_batches_in_order():
    batches = Batches(np.array([3, 5, 7, 9, 11]), 2, shuffle=False, drop_last=False, seed=0)
    assert batches.per_epoch == 3
    assert visited(batches, 0) == visited(batches, 4) == [[3, 5], [7, 9], [11]]


@each_row("drop_last", [False, True])
@each_row("size", [1, 3, 4, 12, 50])
def test_a_shuffled_epoch_visits_every_row_once(size, drop_last):
    rows = np.arange(100, 112)
    batches = Batches(rows, size, shuffle=True, drop_last=drop_last, seed=7)
    flat = [row for batch in visited(batches, 1) for row in batch]
    assert len(flat) == len(set(flat)) == (12 // size * size if drop_last else 12)
    assert set(flat) <= set(rows.tolist())
    assert batches.per_epoch == len(visited(batches, 1)) == (12 // size if drop_last else -(-12 // size))


def test_epochs_and_seeds_have_their_own_order():
    def order(seed, epoch):
        return tuple(Batches(np.arange(50), 8, shuffle=True, drop_last=False, seed=seed).order(epoch))

    orders = {order(seed, epoch) for seed in (0, 1, 2**63 - 1) for epoch in (0, 1, 10**6)}
    assert len(orders) == 9
    assert order(1, 10**6) == order(1, 10**6)


def test_the_order_is_the_same_on_every_machine():
    batches = Batches(np.arange(10), 4, shuffle=True, drop_last=False, seed=5)
    assert batches.order(0).tolist() == FIRST
    assert split_rows(10, 0.3, seed=5)[1].tolist() == HELD_OUT


FIRST = [7, 1, 2, 0, 5, 8, 4, 6, 9, 3]
HELD_OUT = [2, 6, 9]
