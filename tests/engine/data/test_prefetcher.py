"""Batches gathered ahead are those of the source; errors arrive with their batch, and the thread ends."""

import gc
import threading

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DataError
from engine.data.batches import Batches, Shuffle
from engine.data.loader import Prefetcher, prefetch_depth
from engine.data.source import open_source
from engine.data.windows import Windows

pytestmark = pytest.mark.law

COLUMNS = {"x": np.arange(46.0).reshape(23, 2), "y": np.arange(23)}
INPUTS = {"x": "x", "y": "y"}
DTYPES = {"x": np.dtype("float32"), "y": np.dtype("int64")}


def targets(source, examples):
    return {name: np.full((examples, *source.spec(name).shape), -1, DTYPES[name]) for name in source.inputs}


@pytest.fixture
def threads():
    """Check that as many threads run after the test as before."""
    before = set(threading.enumerate())
    yield
    if set(threading.enumerate()) - before:
        gc.collect()  # takes a tenth of a second
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("windows", [None, Windows(spans={"x": (0, 3)})])
@pytest.mark.parametrize("depth", [1, 2, 5, 100])
@pytest.mark.parametrize("start", [0, 4])
def test_batches_are_those_of_the_source(windows, depth, start):
    source = open_source(COLUMNS, INPUTS, windows)
    batches = Batches(range(source.count), 5, Shuffle(kind="window", size=4), drop_last=False, seed=2)
    with Prefetcher(source, batches.stream(start, 14), DTYPES, depth) as prefetcher:
        for examples in batches.stream(start, 14):
            expected, found = targets(source, len(examples)), targets(source, len(examples))
            source.gather(examples, expected)
            prefetcher.gather(examples, found)
            for name in INPUTS:
                np.testing.assert_array_equal(found[name], expected[name])
        with pytest.raises(DataError, match="order in which they were announced"):
            prefetcher.gather(np.arange(5), targets(source, 5))


@pytest.mark.usefixtures("threads")
def test_an_error_is_raised_with_the_batch_that_meets_it():
    source = open_source(COLUMNS, INPUTS)
    batches = [np.array([0, 1]), np.array([2, 99]), np.array([3, 4])]
    with Prefetcher(source, batches, DTYPES) as prefetcher:
        into = targets(source, 2)
        prefetcher.gather(batches[0], into)
        assert into["y"].tolist() == [0, 1]
        with pytest.raises(DataError, match="no example 99"):
            prefetcher.gather(batches[1], into)


@pytest.mark.usefixtures("threads")
def test_another_batch_than_the_next_is_refused():
    source = open_source(COLUMNS, INPUTS)
    with Prefetcher(source, [np.array([0, 1]), np.array([2, 3])], DTYPES) as prefetcher:
        with pytest.raises(DataError, match="order in which"):
            prefetcher.gather(np.array([2, 3]), targets(source, 2))
        prefetcher.gather(np.array([0, 1]), targets(source, 2))


@pytest.mark.usefixtures("threads")
def test_a_closed_prefetcher_has_no_thread_and_gives_no_batch():
    source = open_source(COLUMNS, INPUTS)
    prefetcher = Prefetcher(source, Batches(range(23), 5, True, False, 0).stream(), DTYPES)
    assert any(thread.name.startswith("prefetch") for thread in threading.enumerate())
    prefetcher.close()
    prefetcher.close()
    assert not any(thread.name.startswith("prefetch") for thread in threading.enumerate())
    with pytest.raises(DataError, match="closed"):
        prefetcher.gather(np.arange(5), targets(source, 5))


@pytest.mark.usefixtures("threads")
def test_a_prefetcher_that_nobody_closes_leaves_no_thread_either():
    Prefetcher(open_source(COLUMNS, INPUTS), Batches(range(23), 5, True, False, 0).stream(), DTYPES)


def test_a_depth_below_1_is_refused():
    with pytest.raises(AttributeValueError, match="depth must be at least 1, not 0"):
        Prefetcher(open_source(COLUMNS, INPUTS), [], DTYPES, 0)


def test_batches_are_gathered_ahead_only_where_a_disk_is_waited_for(tmp_path):
    small = open_source(COLUMNS, INPUTS)
    large = open_source({"x": np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (2**20, 64))}, {"x": "x"})
    assert [prefetch_depth(small), prefetch_depth(large)] == [0, 2]
    assert [prefetch_depth(small, 3), prefetch_depth(large, 0)] == [3, 0]
