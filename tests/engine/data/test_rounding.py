"""Columns that lose distinct values in the type of their input, and copies that are cast once."""

import numpy as np

import engine
from engine.data.scaling import Affine, Scales
from engine.data.source import cast_inputs, open_source, rounded_inputs
from engine.data.windows import Windows
from tests.support.rows import each_row

FLOAT32 = {"x": np.dtype(np.float32)}
TIMES = np.array([1.7e9, 1.7e9 + 1.5, 1.7e9 + 3])

COLUMNS = {
    "Unix times 1.5 s apart": (TIMES, (2, 3)),
    "whole numbers beyond 2^24": (np.array([2**24, 2**24 + 1, 7]), (1, 3)),
    "whole numbers up to 2^24": (np.arange(3) + 2**24 - 2, None),
    "decimals": (np.array([0.1, 0.2, 0.3]), None),
    "missing values": (np.array([0.1, np.nan, np.nan]), None),
    "elements that differ from each other only": (np.array([[0.1, np.nextafter(0.1, 1)]] * 2), None),
    "one element of two": (np.stack([TIMES, np.arange(3.0)], 1), (2, 6)),
    "float32": (np.array([0.1, 0.2], np.float32), None),
    "truth values": (np.array([True, False]), None),
}


@each_row("name", COLUMNS)
def test_distinct_values_that_become_equal_are_counted(name):
    column, expected = COLUMNS[name]
    found = rounded_inputs(open_source({"c": column}, {"x": "c"}), FLOAT32)
    if expected is None:
        assert found == []
        return
    (rounded,) = found
    assert (rounded.name, rounded.column, rounded.dtype, rounded.examples) == ("x", "c", "float32", len(column))
    assert (rounded.lost, rounded.distinct) == expected
    assert "'c'" in str(rounded)
    assert rounded_inputs(open_source({"c": column}, {"x": "c"}), {"x": np.dtype(np.float64)}) == []


def test_a_scaled_input_is_judged_as_it_is_scaled():
    scales = Scales({"x": Affine(np.array(1.7e9), np.array(1.0))})
    source = open_source({"c": TIMES}, {"x": "c"})
    assert rounded_inputs(source.scaled(scales), FLOAT32) == []
    far = Scales({"x": Affine(np.array(0.0), np.array(1.0))})
    assert [found.lost for found in rounded_inputs(source.scaled(far), FLOAT32)] == [2]


def test_windows_are_compared_too():
    source = open_source({"c": TIMES}, {"x": "c"}, Windows(spans={"x": (0, 2)}))
    assert [(found.lost, found.examples) for found in rounded_inputs(source, FLOAT32)] == [(2, 2)]


def test_only_the_first_examples_of_a_large_column_are_compared(monkeypatch):
    monkeypatch.setattr("engine.data.source.COMPARED_NUMBERS", 2)
    (found,) = rounded_inputs(open_source({"c": TIMES}, {"x": "c"}), FLOAT32)
    assert (found.lost, found.examples) == (1, 2)


def test_a_cast_copy_holds_what_batches_are_cast_to(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(9, 4))
    source = open_source({"c": rows, "k": np.arange(9)}, {"x": "c", "y": "c", "k": "k"})
    dtypes = {"x": np.dtype(np.float32), "y": np.dtype(np.float32), "k": np.dtype(np.float32)}
    cast = cast_inputs(source, dtypes)
    assert cast.inputs["x"] is cast.inputs["y"], "one copy serves both"
    examples = np.array([7, 2, 2])
    for name, dtype in dtypes.items():
        batches = [np.empty((3, *source.spec(name).shape), dtype) for _ in range(2)]
        for each, batch in zip((source, cast), batches, strict=True):
            each.gather(
                examples, {name: batch} | {n: np.empty((3, *source.spec(n).shape)) for n in dtypes if n != name}
            )
        np.testing.assert_array_equal(*batches)
    monkeypatch.setattr("engine.data.source.CAST_BYTES", 100)
    assert cast_inputs(source, dtypes).inputs["x"] is source.inputs["x"]
    assert cast_inputs(source, dtypes).inputs["k"].dtype == np.float32


def test_a_fit_gives_the_same_bits_from_columns_of_either_type():
    graph = {
        "inputs": {"x": ["n", 3], "y": ["n"]},
        "parameters": {"w": [3]},
        "program": "loss = mean((x @ w - y) ** 2)",
    }
    rows = np.random.default_rng(0).normal(size=(40, 4))
    weights = []
    for dtype in (np.float64, np.float32):
        columns = {"x": rows[:, :3].astype(dtype), "y": rows[:, 3].astype(dtype)}
        recipe = engine.read_recipe({"epochs": 3, "batch_size": 8, "validation": {"split": 0.2}})
        fit = engine.Fit(engine.parse_graph(graph), recipe, columns)
        rows_of_metrics = [point.to_json() for point in fit]
        weights.append((fit.model.parameters["w"].tobytes(), rows_of_metrics))
    assert weights[0] == weights[1]
