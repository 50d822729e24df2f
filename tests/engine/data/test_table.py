"""Preprocessing of table columns: what each transform makes, statistics of training rows alone, exact resumption."""

import json

import numpy as np
import pytest

import engine
from engine.core.options import Reader
from engine.data.table.preprocessing import fit_preprocessing
from engine.data.table.raw import RawColumn, TextColumn, raw_values
from engine.data.table.section import read_section

AGES = np.array([20.0, np.nan, 40.0, 30.0, np.nan, 100.0])
TRAIN = np.array([0, 1, 2, 3])  # 100 is held out
NAMES = ["a", "b", "c"]
CODES = np.array([0, 1, 0, -1, 2, 1])  # c is only held out
DAYS = ["2024-01-01", "2024-02-29T06:00:00", "2025-12-31"]  # a Monday, a Thursday, a Wednesday

SIGNED = np.sign([-8, 0, 1, 3]) * np.log1p([8, 0, 1, 3])
TRANSFORMS = {
    "mean": ({"impute": "mean"}, AGES, [20, 30, 40, 30, 30, 100]),
    "median": ({"impute": "median", "indicator": True}, AGES, [[20, 0], [30, 1], [40, 0], [30, 0], [30, 1], [100, 0]]),
    "constant": ({"impute": "constant", "value": -1.0}, AGES, [20, -1, 40, 30, -1, 100]),
    "most_frequent": ({"impute": "most_frequent"}, np.array([3.0, 1, 3, np.nan]), [3, 1, 3, 3]),
    "standard": ({"impute": "mean", "scale": "standard"}, AGES, (np.array([20, 30, 40, 30, 30, 100]) - 30) / 50**0.5),
    "minmax": ({"impute": "mean", "scale": "minmax"}, AGES, [0, 0.5, 1, 0.5, 0.5, 4]),
    "robust": ({"scale": "robust"}, np.array([0.0, 1, 2, 3]), (np.array([0.0, 1, 2, 3]) - 1.5) / 1.5),
    "log": ({"scale": "log"}, np.array([-8.0, 0, 1, 3]), (SIGNED - SIGNED.mean()) / SIGNED.std()),
    "quantile": ({"scale": "quantile"}, np.array([5.0, 1, 3, 7, 99]), [2 / 3, 0, 1 / 3, 1, 1]),
    "one_hot": (
        {"kind": "category"},
        TextColumn(CODES, NAMES),
        [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0]],
    ),
    "index": ({"encode": "index"}, TextColumn(CODES, NAMES), [2, 3, 2, 0, 1, 3]),
    "frequent": ({"encode": "index", "min_frequency": 2}, TextColumn(CODES, NAMES), [2, 1, 2, 0, 1, 1]),
    "filled": ({"encode": "index", "missing": "most_frequent"}, TextColumn(CODES, NAMES), [1, 2, 1, 1, 0, 2]),
    "numbers": ({"encode": "index"}, np.array([7, 3, 7, 9, 8]), [3, 2, 3, 4, 1]),
    "dates": (
        {"parts": ["timestamp"], "cycles": ["weekday", "hour"]},
        TextColumn(np.array([0, 1, 0, 1]), DAYS),
        [
            [-1, 0, 1, 0, 1],
            [1, np.sin(6 * np.pi / 7), np.cos(6 * np.pi / 7), 1, 0],
            [-1, 0, 1, 0, 1],
            [1, np.sin(6 * np.pi / 7), np.cos(6 * np.pi / 7), 1, 0],
        ],
    ),
    "booleans": (
        {"kind": "boolean", "missing": "half"},
        TextColumn(np.array([0, 1, 2, -1]), ["Yes", "no ", "T"]),
        [1, 0, 1, 0.5],
    ),
    "characters": (
        {"units": "characters", "length": 3},
        TextColumn(np.array([0, 1, 0, -1, 2]), ["ab", "aab?", "z"]),
        [[2, 3, 0], [2, 2, 3], [2, 3, 0], [0, 0, 0], [1, 0, 0]],
    ),
    "bytes": ({"units": "bytes", "length": 3}, TextColumn(np.array([0]), ["é"]), [[0xC3 + 2, 0xA9 + 2, 0]]),
    "words": (
        {"units": "words", "length": 4, "vocabulary": ["go", "!"]},
        TextColumn(np.array([0]), ["Go on, go!"]),
        [[2, 1, 1, 2]],
    ),
    "lengths": ({"units": "words", "output": "lengths"}, TextColumn(np.array([0, -1]), ["a b c"]), [3, 0]),
}  # fmt: skip


def _fitted(item, data, train):
    reader = Reader()
    section = read_section(reader, {"x": item}, "")
    reader.finish()
    column = RawColumn("c", data)
    return fit_preprocessing(section, {"c": column}, {"x": train[train < column.rows]}), column


@pytest.mark.parametrize("case", TRANSFORMS)
def test_transform(case):
    options, data, wanted = TRANSFORMS[case]
    created, column = _fitted({"column": "c", **options}, data, TRAIN)
    got = created.transform("x", {"c": column}, range(column.rows), np.dtype(np.float64))
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_statistics_come_from_training_rows_and_survive_a_resume():
    rng = np.random.default_rng(0)
    ages = rng.normal(40, 12, 200)
    ages[::7] = np.nan
    town = TextColumn(rng.integers(-1, 3, 200), ["Köln", "Ulm", "100 %"])
    columns = {"age in years": ages, "town": town, "y": (ages > 40).astype(np.int64)}
    number = {"column": "age in years", "impute": "median", "indicator": True, "scale": "standard"}
    recipe = engine.read_recipe(
        {"columns": {"x": [number, "town"]}, "epochs": 2, "validation": {"split": 0.25}, "batch_size": 16, "seed": 3}
    )
    graph = engine.parse_graph(
        {
            "inputs": {"x": ["batch", 7], "y": {"shape": ["batch"], "dtype": "int64"}},
            "layers": [{"layer": "linear", "units": 2}],
            "loss": {"kind": "cross_entropy"},
        }
    )
    fit = engine.Fit(graph, recipe, columns)
    fill = fit.preprocessing.inputs["x"].items[0].state["elements"][0]["fill"]
    train = np.setdiff1d(np.arange(200), fit._examples.held_out)
    assert fill == np.nanmedian(ages[train])

    fit.advance(5)
    checkpoint = fit.snapshot()
    checkpoint.meta = json.loads(json.dumps(checkpoint.meta))
    rows = list(fit)
    resumed = engine.Fit(graph, recipe, columns)
    # Statistics that come out otherwise, as on another machine, must not matter: those of the checkpoint are taken.
    resumed.preprocessing.inputs["x"].items[0].state["elements"][0]["fill"] += 1.0
    resumed.restore(checkpoint)
    assert list(resumed) == rows
    assert resumed.preprocessing.to_json() == fit.preprocessing.to_json()

    predictor = engine.Predictor(graph, fit.snapshot())
    raw = predictor.predict({"age in years": [None, 30.0], "town": ["Ulm", "Bonn"]})
    encoded = predictor.encode({"age in years": [fill, 30.0], "town": ["Ulm", ""]})["x"]
    encoded[:, 1] = [1, 0]  # the indicator of the missing age
    encoded[1, 2:4] = [0, 1]  # Bonn is unknown, not missing
    again = predictor.predict({"x": encoded}, encoded=True)
    np.testing.assert_array_equal(*(next(iter(each.values())) for each in (raw, again)))


@pytest.mark.parametrize(
    ("values", "pointer", "message"),
    [
        ({"age": ["22"], "town": ["Ulm"]}, "/inputs/age", "texts"),
        ({"age": [22, 23], "town": ["Ulm"]}, "/inputs/town", "1 rows"),
        ({"age": [22]}, "/inputs/town", "missing"),
        ({"age": [None], "town": ["Ulm"]}, "/inputs/age", "row 0"),
        ({"age": [22], "town": [5]}, "/inputs/town", "numbers"),
        ({"age": [22], "town": [5, "Ulm"]}, "/inputs/town", "beside"),
    ],
)
def test_raw_values_that_the_model_does_not_take(values, pointer, message):
    reader = Reader()
    section = read_section(reader, {"x": ["age", "town"]}, "")
    table = {"age": RawColumn("age", np.array([1.0, 2.0])), "town": raw_values("town", ["Ulm", "Bonn"])}
    created = fit_preprocessing(section, table, {"x": np.arange(2)})
    with pytest.raises(engine.DocumentError) as refused:
        created.encode(values, {"x": np.dtype(np.float32)}, ["x"])
    assert refused.value.findings[0].pointer == pointer
    assert message in refused.value.findings[0].detail
