"""Sources give the examples they hold, from memory, from files and from shards, and read no more than that."""

import tracemalloc

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.errors import DataError
from engine.data.scaling import Affine, Scales
from engine.data.source import open_source
from engine.data.windows import Windows
from tests.support.rows import each_row

ROWS = 60
PICKS = {
    "scattered": [7, 1, 59, 0, 30, 31, 7],
    "a range": [12, 13, 14, 15, 16, 17],
    "a range over shards": list(range(15, 50)),
    "descending": [9, 8, 7, 6],
    "ends like a range": [3, 9, 4, 6],
    "one": [59],
    "none": [],
}


def matrix(dtype="float32"):
    return (np.arange(ROWS * 6).reshape(ROWS, 2, 3) % 251).astype(dtype)


def kept(array, kind, tmp_path):
    """Return the array as a source may hold it."""
    if kind == "memory":
        return array
    if kind == "columns of Fortran":
        return np.asfortranarray(array)
    if kind == "a strided view":
        return np.repeat(array, 2, axis=0)[::2]
    if kind == "swapped bytes":
        return array.astype(array.dtype.newbyteorder())
    parts = [array] if kind == "mapped" else [array[:20], array[20:20], array[20:33], array[33:]]
    mapped = []
    for number, part in enumerate(parts):
        np.save(tmp_path / f"{number}.npy", part)
        mapped.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r") if len(part) else part)
    return mapped[0] if kind == "mapped" else parts if kind == "shards" else mapped


KINDS = ["memory", "columns of Fortran", "a strided view", "swapped bytes", "mapped", "shards", "mapped shards"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["float32", "float64", "int64"])
@pytest.mark.parametrize("picks", PICKS)
def test_examples_are_the_rows_asked_for_in_the_type_of_the_target(kind, target, picks, tmp_path):
    array, examples = matrix(), np.array(PICKS[picks], np.int64)
    source = open_source({"data": kept(array, kind, tmp_path)}, {"x": "data"})
    into = np.full((len(examples), 2, 3), -1, target)
    source.gather(examples, {"x": into, "rate": np.zeros(())})
    np.testing.assert_array_equal(into, array[examples])
    assert source.count == ROWS


@each_row("picks", PICKS)
@each_row("shards", [False, True])
def test_bfloat16_goes_in_and_out(picks, shards):
    array, examples = matrix(BFLOAT16), np.array(PICKS[picks], np.int64)
    source = open_source({"x": [array[:20], array[20:]] if shards else array}, {"x": "x"})
    for target in (BFLOAT16, np.float32):
        into = np.zeros((len(examples), 2, 3), target)
        source.gather(examples, {"x": into})
        np.testing.assert_array_equal(into.astype(float), array[examples].astype(float))


def test_inputs_may_share_a_column_and_specs_show_shapes_and_types():
    source = open_source({"a": matrix("uint8"), "b": np.arange(ROWS)}, {"x": "a", "again": "a", "y": "b"})
    assert {name: source.spec(name) for name in source.inputs} == {
        "x": ((2, 3), np.dtype("uint8")),
        "again": ((2, 3), np.dtype("uint8")),
        "y": ((), np.dtype("int64")),
    }
    assert source.nbytes == ROWS * 6 + ROWS * 8
    read = source.read(np.array([5, 2]))
    np.testing.assert_array_equal(read["x"], read["again"])
    assert read["y"].tolist() == [5, 2]


def test_a_scaled_input_is_computed_in_float64_and_rounded_once():
    array = (1e6 + np.linspace(0, 1, ROWS)).astype(np.float32)
    source = open_source({"x": array, "y": array}, {"x": "x", "y": "y"})
    scaled = source.scaled(Scales({"x": Affine(np.array(1e6), np.array(0.1))}))
    into = {name: np.zeros(ROWS, np.float32) for name in "xy"}
    scaled.gather(np.arange(ROWS), into)
    np.testing.assert_array_equal(into["x"], ((array.astype(np.float64) - 1e6) / 0.1).astype(np.float32))
    np.testing.assert_array_equal(into["y"], array)
    assert scaled.spec("x").dtype == np.float64
    assert source.spec("x").dtype == np.float32


def test_labels_come_with_the_row_at_which_an_example_starts():
    columns = {"x": np.arange(10.0), "label": np.arange(10) % 4}
    assert open_source(columns, {"x": "x"}).values("label", np.array([5, 2])).tolist() == [1, 2]
    windowed = open_source(columns, {"x": "x"}, Windows(spans={"x": (0, 4)}, stride=3))
    assert windowed.values("label").tolist() == [0, 3, 2]


@pytest.mark.parametrize("order", ["C", "F"])
def test_gathering_from_mapped_shards_larger_than_memory_takes_memory_for_the_batch_alone(order, tmp_path):
    shards = []
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.full((2000, 256), number, np.float32, order=order))
        shards.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r"))
    examples = np.array([7999, 3, 2500, 4100, 2, 6000], np.int64)
    into = np.zeros((6, 256), np.float32)

    def gather():
        source = open_source({"x": shards}, {"x": "x"})
        source.scaled(Scales({"x": Affine(np.zeros(256), np.ones(256))})).gather(examples, {"x": into})
        source.gather(examples, {"x": into})
        return source

    gather()  # loads what is loaded at its first use
    tracemalloc.start()
    source = gather()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert into[:, 0].tolist() == [3, 0, 1, 2, 0, 3]
    assert source.nbytes == 8000 * 256 * 4
    assert peak < 100_000


def test_only_large_mapped_sources_wait_for_a_disk(tmp_path):
    path = tmp_path / "large.npy"
    large = np.lib.format.open_memmap(path, "w+", np.float32, (2**20, 64))  # a hole in the file, which takes no disk
    view = np.load(path, mmap_mode="r").reshape(-1, 8)
    assert open_source({"x": large}, {"x": "x"}).waits_for_disk
    assert open_source({"x": [view, view]}, {"x": "x", "again": "x"}).waits_for_disk
    assert not open_source({"x": large[: 2**18]}, {"x": "x", "again": "x"}).waits_for_disk
    assert not open_source({"x": np.broadcast_to(np.float32(1), (2**20, 64))}, {"x": "x"}).waits_for_disk


@each_row(
    ("columns", "message"),
    [
        ({"y": np.zeros(3)}, "no column called 'x'"),
        ({"x": np.zeros(())}, "column 'x' needs arrays"),
        ({"x": np.array([object()])}, "column 'x' needs arrays"),
        ({"x": np.zeros(3, [("a", "f4")])}, "column 'x' needs arrays"),
        ({"x": []}, "column 'x' has no arrays"),
        ({"x": [1.0, 2.0]}, "column 'x' needs arrays .* not float"),
        ({"x": np.zeros((0, 2))}, "column 'x' has no rows"),
        ({"x": [np.zeros((2, 3)), np.zeros((2, 4))]}, r"shard 1 of column 'x' holds float64 rows of shape \[4\]"),
        ({"x": [np.zeros(2), np.zeros(2, int)]}, "shard 1 of column 'x' holds int64"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns, message):
    with pytest.raises(DataError, match=message):
        open_source(columns, {"x": "x"})


def test_columns_of_other_lengths_are_named():
    columns = {"x": np.zeros(3), "y": np.zeros(4)}
    with pytest.raises(DataError, match="column 'y' has 4 rows, column 'x' has 3"):
        open_source(columns, {"x": "x", "y": "y"})
    with pytest.raises(DataError, match="at least one input"):
        open_source(columns, {})
    with pytest.raises(DataError, match="column 'y' has 4 rows, the others have 3"):
        open_source(columns, {"x": "x"}).values("y")
    with pytest.raises(DataError, match="one value a row"):
        open_source({"x": np.zeros((3, 2))}, {"x": "x"}).values("x")


@pytest.mark.parametrize("wrong", [-1, 3, 2**62])
def test_examples_that_do_not_exist_are_refused(wrong):
    source = open_source({"x": np.zeros(3)}, {"x": "x"})
    with pytest.raises(DataError, match=f"no example {wrong}: they are 0 to 2"):
        source.gather(np.array([0, wrong]), {"x": np.zeros(2)})


def test_targets_of_another_shape_are_refused():
    source = open_source({"x": np.zeros((3, 2))}, {"x": "x"})
    with pytest.raises(DataError, match=r"shape \[2, 2\], not \[2, 3\]"):
        source.gather(np.array([0, 1]), {"x": np.zeros((2, 3))})
    windowed = open_source({"x": np.zeros((3, 2))}, {"x": "x"}, Windows(spans={"x": (0, 2)}))
    with pytest.raises(DataError, match=r"shape \[2, 2, 2\], not \[4, 2\]"):
        windowed.gather(np.array([0, 1]), {"x": np.zeros((4, 2))})


def test_arrays_of_different_floats_are_joined_in_the_widest():
    parts = [np.array([0.5, 1.5], np.float32), np.array([0.1, 0.2])]
    source = open_source({"c": parts}, {"x": "c"})
    assert source.spec("x").dtype == np.float64
    for examples in (np.arange(4), np.array([3, 0, 2])):
        np.testing.assert_array_equal(source.read(examples)["x"], np.array([0.5, 1.5, 0.1, 0.2])[examples])
    with pytest.raises(DataError, match="shard 1"):
        open_source({"c": [parts[0], np.arange(2)]}, {"x": "c"})
