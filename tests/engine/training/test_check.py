"""Whether graph, recipe and rows fit together, before any work is accepted."""

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

GRAPH = {
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 6}, "batch_norm", {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}
COLUMNS = {
    "x": engine.ColumnInfo("float32", (4,), 20, -1.0, 1.0),
    "label": engine.ColumnInfo("int64", (), 20, 0, 2),
}
REGRESSION = {"inputs": {"x": ["n", 2], "y": ["n"]}, "parameters": {"w": [2]}, "program": "loss = mse_loss(x @ w, y)"}
PAIRS = {"x": engine.ColumnInfo("float64", (2,), 20), "y": engine.ColumnInfo("float64", (), 20)}


def check(document=GRAPH, columns=COLUMNS, held_out=None, **recipe):
    """Check a fit of a graph."""
    recipe = engine.read_recipe({"epochs": 2, "batch_size": 8, **recipe})
    return engine.check_fit(engine.parse_graph(document), recipe, columns, held_out)


def column(name, **changes):
    """Return the columns with one changed."""
    info = COLUMNS[name]
    fields = {field: getattr(info, field) for field in ("dtype", "shape", "rows", "minimum", "maximum")}
    return {**COLUMNS, name: engine.ColumnInfo(**{**fields, **changes})}


def test_a_fit_is_estimated():
    estimate = check()
    assert (estimate.total_steps, estimate.steps_per_epoch) == (6, 3)
    numbers = 4 * 6 + 6 + 6 + 6 + 6 * 3 + 3
    assert estimate.memory["state_bytes"] >= 3 * 4 * numbers
    assert estimate.memory["plan_bytes"] > 0
    assert estimate.memory["data_bytes"] == 20 * (4 * 4 + 8)
    assert check(steps=5, epochs=None).total_steps == 5
    assert check(drop_last=True).steps_per_epoch == 2
    assert check(validation={"split": 0.5}).steps_per_epoch == 2
    assert check(batch_size=1000).steps_per_epoch == 1


def test_the_estimate_is_that_of_the_fit():
    rng = np.random.default_rng(0)
    columns = {"x": rng.standard_normal((20, 4)).astype(np.float32), "label": rng.integers(0, 3, 20)}
    recipe = engine.read_recipe({"epochs": 2, "batch_size": 8, "validation": {"split": 0.2}})
    definition = engine.parse_graph(GRAPH)
    estimate, fit = engine.check_fit(definition, recipe, COLUMNS), engine.Fit(definition, recipe, columns)
    assert (estimate.total_steps, estimate.steps_per_epoch) == (fit.total_steps, fit.steps_per_epoch)
    assert estimate.memory["state_bytes"] == sum(array.nbytes for array in fit.model.arrays.values())


def test_a_model_of_a_billion_parameters_is_checked_without_its_memory():
    document = {
        "inputs": {"x": ["n", 30_000], "y": ["n", 30_000]},
        "parameters": {"w": [30_000, 30_000]},
        "program": "loss = mse_loss(x @ w, y)",
    }
    columns = {name: engine.ColumnInfo("float32", (30_000,), 8) for name in "xy"}
    estimate = check(document, columns)
    assert estimate.memory["state_bytes"] > 3 * 4 * 30_000**2


def test_drawing_more_examples_than_there_are_takes_memory_for_their_order():
    drawn = check(sampling={"weights": "balanced", "of": "label", "examples": 2**40}).memory
    assert drawn["order_bytes"] > 8 * 2**40 > 2**30 > check().memory["order_bytes"] > 0


FAULTS = {
    "no loss": ({"document": {**REGRESSION, "program": "p = x @ w + y"}, "columns": PAIRS}, [("/graph", "no_loss")]),
    "no input": ({"document": {"parameters": {"w": [2]}, "program": "loss = sum(w)"}}, [("/graph", "no_input")]),
    "nothing to train": (
        {"document": {**REGRESSION, "program": "loss = mse_loss(x @ stop_gradient(w), y)"}, "columns": PAIRS},
        [("/graph", "nothing_to_train")],
    ),
    "everything frozen": (
        {"document": {**REGRESSION, "parameters": {"w": {"shape": [2], "frozen": True}}}, "columns": PAIRS},
        [("/graph", "nothing_to_train")],
    ),
    "a feed of no input": ({"feeds": {"z": "x"}}, [("/feeds/z", "unknown_name")]),
    "a feed of no column": ({"feeds": {"x": "features"}}, [("/feeds/x", "unknown_column")]),
    "a feed that is no name": ({"feeds": {"x": 3}}, [("/feeds/x", "unknown_column")]),
    "a missing column": ({"columns": {"x": COLUMNS["x"]}}, [("/dataset", "unknown_column")]),
    "no columns": ({"columns": {}}, [("/dataset", "unknown_column"), ("/dataset", "unknown_column")]),
    "rows of another width": ({"columns": column("x", shape=(5,))}, [("/dataset", "shape_mismatch")]),
    "rows of another rank": ({"columns": column("x", shape=())}, [("/dataset", "shape_mismatch")]),
    "fractions for integers": ({"columns": column("label", dtype="float32")}, [("/dataset", "dtype_mismatch")]),
    "a class too high": ({"columns": column("label", maximum=3)}, [("/dataset", "class_out_of_range")]),
    "a class below 0": ({"columns": column("label", minimum=-1)}, [("/dataset", "class_out_of_range")]),
    "an input without rows": (
        {
            "document": {**REGRESSION, "inputs": {"x": ["n", 2], "y": []}, "program": "loss = mean(x @ w) * y"},
            "columns": PAIRS,
        },
        [("/dataset", "shape_mismatch")],
    ),
    "no rows": (
        {"columns": {n: engine.ColumnInfo(c.dtype, c.shape, 0) for n, c in COLUMNS.items()}},
        [("/dataset", "empty")],
    ),
    "one row to split": (
        {
            "columns": {n: engine.ColumnInfo(c.dtype, c.shape, 1) for n, c in COLUMNS.items()},
            "validation": {"split": 0.5},
        },
        [("/validation/split", "out_of_range")],
    ),
    "a last batch that batch norm does not take": ({"batch_size": 19}, [("/drop_last", "shape_mismatch")]),
    "a batch that batch norm does not take": ({"batch_size": 1}, [("/graph/layers/1", "shape_mismatch")]),
    "accuracy without classes": (
        {"document": REGRESSION, "columns": PAIRS, "metrics": ["accuracy"]},
        [("/metrics/0", "metric_unavailable")],
    ),
    "another batch than the graph's": (
        {"document": {**REGRESSION, "inputs": {"x": [5, 2], "y": [5]}}, "columns": PAIRS},
        [("/batch_size", "shape_mismatch")],
    ),
    "a last batch shorter than the graph's": (
        {"document": {**REGRESSION, "inputs": {"x": [8, 2], "y": [8]}}, "columns": PAIRS},
        [("/drop_last", "shape_mismatch")],
    ),
    "a last validation batch shorter than the graph's": (
        {
            "document": {**REGRESSION, "inputs": {"x": [5, 2], "y": [5]}},
            "columns": PAIRS,
            "batch_size": 5,
            "drop_last": True,
            "validation": {"split": 0.2},
        },
        [("/validation", "shape_mismatch")],
    ),
}


@each_row(("call", "expected"), FAULTS.values(), ids=FAULTS)
def test_what_does_not_fit_is_refused_with_pointers(call, expected):
    with pytest.raises(engine.DocumentError) as caught:
        check(**call)
    found = [(finding.pointer, finding.code) for finding in caught.value.findings]
    assert found == expected


def test_a_validation_dataset_is_checked_like_the_other():
    wrong = {**COLUMNS, "label": engine.ColumnInfo("int64", (), 7, 0, 9)}
    with pytest.raises(engine.DocumentError) as caught:
        check(held_out=wrong)
    assert caught.value.findings[0].code == "class_out_of_range"
    with pytest.raises(engine.DocumentError) as caught:
        check(held_out={"x": COLUMNS["x"]})
    assert [(f.pointer, f.code) for f in caught.value.findings] == [("/validation/dataset", "unknown_column")]


def test_classes_that_a_loss_ignores_are_in_range():
    document = {**GRAPH, "loss": {"kind": "cross_entropy", "ignore_index": -1}}
    assert check(document, column("label", minimum=-1)).total_steps == 6


def test_fixed_batches_that_fit_are_taken():
    document = {**REGRESSION, "inputs": {"x": [5, 2], "y": [5]}}
    assert check(document, PAIRS, batch_size=5).total_steps == 8
    assert check(document, PAIRS, batch_size=5, validation={"split": 0.25}).total_steps == 6


def test_plans_beside_that_of_a_whole_batch_count_too():
    beside = [
        check(**{"drop_last": True, "batch_size": 8, **options}).memory["other_plans_bytes"]
        for options in (
            {},
            {"drop_last": False},
            {"validation": {"split": 0.5}},
            {"average": {"kind": "ema", "every_steps": 2}},
            {"micro_batch_size": 4},
        )
    ]
    assert beside[0] == 0
    assert min(beside[1:]) > 0


MISSING = {"x": engine.ColumnInfo("float32", (2,), 20, missing=3), "y": engine.ColumnInfo("float32", (), 20)}
FULL = {name: engine.ColumnInfo(info.dtype, info.shape, info.rows) for name, info in MISSING.items()}


@pytest.mark.parametrize("held_out", [False, True])
def test_missing_values_of_a_column_that_the_graph_takes_are_refused(held_out):
    columns, validation = (FULL, MISSING) if held_out else (MISSING, None)
    with pytest.raises(engine.DocumentError) as caught:
        check(REGRESSION, {**columns, "unused": engine.ColumnInfo("float32", (), 20, missing=9)}, validation)
    (finding,) = caught.value.findings
    assert finding.pointer == ("/validation/dataset" if held_out else "/dataset")
    assert finding.code == "missing_values"
    assert "column 'x', which input 'x' takes, holds 3 missing values (NaN) in 20 rows" in finding.detail


def test_missing_values_that_something_handles_are_taken():
    filled = {**REGRESSION, "program": "loss = mse_loss(nan_to_num(x) @ w, y)"}
    masked = {**REGRESSION, "program": "z = where(isnan(x), 0.0, x)\nloss = mse_loss(z @ w, y)"}
    assert check(filled, MISSING).total_steps == check(masked, MISSING, MISSING).total_steps == 6
    assert check(REGRESSION, MISSING, divergence={"action": "continue"}).total_steps == 6
    assert check(REGRESSION, MISSING, divergence={"action": "skip"}).total_steps == 6
    with pytest.raises(engine.DocumentError, match="missing values"):
        check(REGRESSION, FULL, MISSING, divergence={"action": "skip"})


LARGE = {"x": engine.ColumnInfo("float64", (4,), 20, -1e39, 1.0), "label": COLUMNS["label"]}


def test_numbers_that_the_precision_does_not_hold_are_refused():
    with pytest.raises(engine.DocumentError) as caught:
        check(columns=LARGE)
    (fault,) = caught.value.findings
    assert (fault.pointer, fault.code) == ("/dataset", "dtype_mismatch")
    assert "float64" in fault.detail
    check(columns=LARGE, precision="float64")
    check(columns=LARGE, normalize={"x": "standard"})


def test_columns_that_are_copied_in_the_type_of_their_input_take_memory():
    assert "cast_bytes" not in check().memory
    wide = {**COLUMNS, "x": engine.ColumnInfo("float64", (4,), 20, -1.0, 1.0)}
    assert check(columns=wide).memory["cast_bytes"] == 20 * 4 * 4
