"""Datasets: batches of whole shards through a permutation."""

import math

import numpy as np
import pytest

from engine.core.errors import DataError
from engine.ggml.opt_data import Batch, OptDataset, OptResult
from tests.support.rows import each_row

NDATA = 6


@each_row("shard", range(1, 7))
@each_row("shuffled", [False, True])
def test_batches_are_made_of_whole_shards(shard, shuffled):
    dataset = OptDataset.zeros(2, 1, NDATA, shard)
    dataset.data[...] = np.arange(NDATA)[:, None] * 16 + np.arange(2)
    dataset.labels[...] = dataset.data[:, :1] * 16
    if shuffled:
        dataset.shuffle(np.random.default_rng(0))
    for nbatch in range(shard, NDATA + 1, shard):
        rows = []
        for ibatch in range(NDATA // shard * shard // nbatch):
            data, labels = dataset.get_batch(ibatch, nbatch)
            np.testing.assert_array_equal(data[:, 1], data[:, 0] + 1)
            np.testing.assert_array_equal(labels, data[:, :1] * 16)
            rows += (data[:, 0] / 16).astype(int).tolist()
        assert len(set(rows)) == len(rows)
        groups = np.array(rows).reshape(-1, shard)
        assert (groups[:, 0] % shard == 0).all()
        assert (np.diff(groups, axis=1) == 1).all()
        if not shuffled:
            assert rows == list(range(len(rows)))


def test_a_shuffle_of_the_first_datapoints_leaves_the_rest():
    dataset = OptDataset(np.arange(40, dtype=np.float32), ndata_shard=2)
    dataset.shuffle(np.random.default_rng(0), 20)
    assert sorted(dataset.permutation[:10].tolist()) == list(range(10)) != dataset.permutation[:10].tolist()
    assert dataset.permutation[10:].tolist() == list(range(10, 20))


def test_datasets_refuse_what_they_cannot_hold_or_give():
    with pytest.raises(DataError, match="6 datapoints and 5 labels"):
        OptDataset(np.zeros(6, np.float32), np.zeros(5, np.float32))
    with pytest.raises(DataError, match="ndata_shard 7"):
        OptDataset(np.zeros(6, np.float32), ndata_shard=7)
    with pytest.raises(DataError, match="at least one datapoint"):
        OptDataset(np.zeros((0, 2), np.float32))
    for extents, name in (((0, 1, 6), "ne_datapoint"), ((1, -1, 6), "ne_label"), ((1, 1, 0), "ndata")):
        with pytest.raises(DataError, match=name):
            OptDataset.zeros(*extents)
    dataset = OptDataset([[0.0], [1.0], [2.0], [3.0]], ndata_shard=2)
    assert dataset.data.dtype == np.float32
    for nbatch in (3, 0):
        with pytest.raises(DataError, match="multiple of the shard size"):
            dataset.get_batch(0, nbatch)
    for ibatch in (-1, 2):
        with pytest.raises(DataError, match="no batch"):
            dataset.get_batch(ibatch, 2)
    for idata in (3, 6):
        with pytest.raises(DataError, match=f"first {idata} of 4"):
            dataset.shuffle(np.random.default_rng(0), idata)


def test_accuracy_has_a_binomial_uncertainty():
    result = OptResult()
    result.add(Batch(4, 1.0, 1, True, np.array([0, 1, 2, 0]), 3))
    result.add(Batch(4, 2.0, 1, True, np.array([1, 1, 1, 1]), 2))
    assert result.accuracy() == pytest.approx((5 / 8, math.sqrt(5 / 8 * 3 / 8 / 7)))
    assert result.loss() == (1.5, 0.5)
    assert result.predictions.tolist() == [0, 1, 2, 0, 1, 1, 1, 1]
    result.add(Batch(4, 2.0, 1, True))
    assert result.ncorrect == -1
    assert all(math.isnan(number) for number in result.accuracy())
    result.reset()
    assert (result.ndata, result.ncorrect, result.predictions.size) == (0, 0, 0)


def test_too_few_values_give_nan():
    result = OptResult()
    assert result.loss().value == 0
    assert math.isnan(result.loss().uncertainty)
    assert math.isnan(result.accuracy().value)
    result.add(Batch(1, 2.0, 3, True, np.array([0]), 1))
    assert result.loss().value == 6
    assert math.isnan(result.loss().uncertainty)
    assert result.accuracy().value == 1
    assert math.isnan(result.accuracy().uncertainty)


@pytest.mark.parametrize("other", [Batch(3, 1.0, 1, True), Batch(2, 1.0, 2, True), Batch(2, 1.0, 1, False)])
def test_a_result_takes_batches_of_one_kind(other):
    result = OptResult()
    result.add(Batch(2, 1.0, 1, True))
    with pytest.raises(DataError, match="reset it first"):
        result.add(other)
