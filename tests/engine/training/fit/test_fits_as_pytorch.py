"""Whole fits beside PyTorch's (see make_golden.py): averages, groups, freezing, cycled momentum, L-BFGS."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

GOLDEN = json.loads((Path(__file__).parent / "golden" / "fits.json").read_text())
TRAINED = 12


def columns(waves):
    """The rows to train on, and those that are held out."""
    x, y = waves(17, 3), waves(17, 2, start=5)
    return {"x": x[:TRAINED], "y": y[:TRAINED]}, {"x": x[TRAINED:], "y": y[TRAINED:]}


def small(waves, *, norm=False, held_out=False, **recipe):
    """Start a fit of the model of make_golden.py."""
    hidden = "tracked_batch_norm(x @ v + b, weight, bias, mean, var, seen)" if norm else "x @ v + b"
    document = {
        "inputs": {"x": ["n", 3], "y": ["n", 2]},
        "parameters": {"v": [3, 4], "b": [4], "w": [4, 2]},
        "program": f"pred = tanh({hidden}) @ w\nloss = mse_loss(pred, y)",
    }
    if norm:
        document["parameters"] |= {"weight": {"shape": [4], "init": "ones"}, "bias": [4]}
        document["buffers"] = {
            "mean": [4],
            "var": {"shape": [4], "init": "ones"},
            "seen": {"shape": [], "dtype": "int64"},
        }
    recipe = {"batch_size": 4, "shuffle": False, "precision": "float64", **recipe}
    train, validation = columns(waves)
    fit = engine.Fit(engine.parse_graph(document), engine.read_recipe(recipe), train, validation if held_out else None)
    for name, start, shape in (("v", 1, (3, 4)), ("b", 2, (4,)), ("w", 3, (4, 2))):
        fit.model.parameters[name][...] = waves(*shape, start=start)
    return fit


OURS = {"norm.weight": "weight", "norm.bias": "bias", "norm.running_mean": "mean", "norm.running_var": "var"}


def near(arrays, row):
    """Compare arrays by name with a row of the golden file."""
    wanted = {OURS.get(name, name): value for name, value in row.items() if name not in ("loss", "val_loss", "taken")}
    for name, value in wanted.items():
        np.testing.assert_allclose(arrays[name], value, rtol=1e-10, atol=1e-11, err_msg=name)


def reports(case):
    """The name of a case."""
    return "-".join(str(value)[:70] for name, value in case.items() if name not in ("rows", "epochs", "counts"))


@pytest.mark.parametrize("case", GOLDEN["averages"], ids=reports)
def test_averages_of_weights_and_running_statistics_are_pytorchs(case, waves, tmp_path):
    recipe = {name: case[name] for name in ("average", "optimizer", "epochs")}
    fit = small(waves, norm=True, held_out=True, **recipe)
    _, held_out = columns(waves)
    taken = 0
    for row in case["rows"]:
        points, before, taken = fit.advance(), taken, row["taken"]
        snapshot = fit.snapshot()
        assert fit.recipe.average.due(fit.step, 3) == (taken > before)
        averaged = snapshot.averaged()
        near({**averaged.parameters, **averaged.buffers}, row)
        assert bool(snapshot.under("average/")) == (taken > 0)
        for point in points:
            if point.split == "validation":
                assert point.values["loss"] == pytest.approx(row["val_loss"], rel=1e-10)
    snapshot.save(tmp_path / "averaged.safetensors")
    saved = engine.Checkpoint.load(tmp_path / "averaged.safetensors")
    predicted = engine.Predictor(fit.definition, saved).predict({"x": held_out["x"]})["pred"]
    assert np.square(predicted - held_out["y"]).mean() == pytest.approx(case["rows"][-1]["val_loss"], rel=1e-10)
    assert not np.array_equal(saved.parameters["v"], saved.averaged().parameters["v"])


@each_row("case", [case for kind in ("grouped", "frozen", "cycled", "minimized") for case in GOLDEN[kind]], ids=reports)
def test_a_fit_is_pytorchs_step_for_step(case, waves):
    recipe = {name: value for name, value in case.items() if name not in ("rows", "counts")}
    fit = small(waves, **recipe)
    for row in case["rows"]:
        (point,) = fit.advance()
        assert point.values["loss"] == pytest.approx(row["loss"], rel=1e-10)
        near(fit.model.parameters, row)
    assert fit.done
    if "counts" in case:
        slots = fit.snapshot().optimizer
        steps = {name: int(slots[f"step/{flat.name}"]) for flat in fit.model.flat_groups for name in flat.shapes}
        assert steps == case["counts"]
