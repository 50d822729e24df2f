"""The loader of batches: every example once, in rows or in columns, whole batches only unless asked."""

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DataError
from engine.data.loader import DataLoader

COLUMNS = np.arange(240.0).reshape(2, 120)


def loader(**options):
    return DataLoader(COLUMNS, np.arange(120), **{"batch_size": 32, "layout": "col", **options})


def test_the_last_short_batch_is_dropped_unless_kept():
    assert (loader().n_batches, len(list(loader().epoch()))) == (3, 3)
    kept = list(loader(drop_last=False).epoch())
    assert [batch.x.shape for batch in kept] == [(2, 32)] * 3 + [(2, 24)]


def test_x_and_y_stay_together_and_every_example_comes_once():
    batches = list(loader(drop_last=False).epoch())
    y = np.concatenate([batch.y.numpy() for batch in batches])
    assert sorted(y) == list(range(120))
    assert y.tolist() != list(range(120))
    np.testing.assert_array_equal(np.concatenate([batch.x.numpy() for batch in batches], axis=1), COLUMNS[:, y])


def test_rows_give_the_same_examples_as_columns():
    rows = DataLoader(COLUMNS.T, batch_size=32, layout="row")
    for row, column in zip(rows.epoch(), loader().epoch(), strict=True):
        np.testing.assert_array_equal(row.x.numpy(), column.x.numpy().T)
        assert row.y is None


def test_each_epoch_and_reset_has_an_order_of_its_own_that_the_seed_determines():
    one, two = loader(seed=3), loader(seed=3)
    orders = [[batch.y.numpy().tolist() for batch in one.epoch()] for _ in range(3)]
    assert orders[0] != orders[1] != orders[2]
    two.next_batch()
    two.reset()
    assert [batch.y.numpy().tolist() for batch in two] == orders[1]
    still = loader(shuffle=False)
    assert [next(still.epoch()).y.numpy().tolist() for _ in range(2)] == [list(range(32))] * 2


def test_batches_one_by_one():
    each, count = loader(), 0
    while each.has_next():
        each.next_batch()
        count += 1
    assert count == len(each) == 3
    with pytest.raises(DataError, match=r"reset\(\)"):
        each.next_batch()
    each.reset()
    assert each.has_next()


def test_faulty_data_is_refused():
    with pytest.raises(DataError, match="120 examples, y 119"):
        DataLoader(COLUMNS, np.arange(119), batch_size=2, layout="col")
    with pytest.raises(DataError, match="no examples"):
        DataLoader(np.zeros((0, 3)), batch_size=2)
    with pytest.raises(AttributeValueError, match="batch_size"):
        loader(batch_size=0)
    with pytest.raises(AttributeValueError, match="layout 'column'"):
        loader(layout="column")
