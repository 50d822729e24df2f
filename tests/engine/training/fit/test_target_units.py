"""A normalised target is predicted, scored and reported in the units of the data."""

import numpy as np
import pytest

import engine
from tests.extent import paired

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
SPREAD, CENTRE = np.array([100.0, 0.5]), np.array([1e4, -5.0])
Y = (X @ RNG.standard_normal((3, 2)) + 0.1 * RNG.standard_normal((60, 2))) * SPREAD + CENTRE
ALL = {"x": "standard", "y": "standard"}
COLUMNS = {"x": X, "y": Y}


def graph(loss, *, outputs=("pred",), y=("n", 2), **parameters):
    return engine.parse_graph(
        {
            "inputs": {"x": ["n", 3], "y": list(y)},
            "parameters": {"w": [3, 2], "b": {"shape": [2], "init": {"kind": "zeros"}}, **parameters},
            "program": f"pred = x @ w + b\n{loss}",
            "outputs": list(outputs),
        }
    )


def fitted(definition, columns=COLUMNS, **recipe):
    """Return a fit that has ended, and the predictions of its weights for all rows."""
    given = {"epochs": 2, "batch_size": 16, "seed": 3, "normalize": ALL, "validation": {"split": 0.25}, **recipe}
    fit = engine.Fit(definition, engine.read_recipe(given), columns, execution=engine.Execution("numpy"))
    list(fit)
    outputs = engine.Predictor(definition, fit.snapshot()).predict({"x": columns["x"]})
    return fit, outputs


def huber(distance):
    size = np.abs(distance)
    return np.where(size < 1, 0.5 * distance**2, size - 0.5).mean()


LOSSES = {
    "loss = mse_loss(pred, y)": lambda d: (d**2).mean(),
    "loss = l1_loss(pred, y)": lambda d: np.abs(d).mean(),
    "loss = huber_loss(pred, y)": huber,
    "loss = mean((pred - y) ** 2)": lambda d: (d**2).mean(),
    "loss = mean((y - pred) ** 2) * 2.0": lambda d: 2 * (d**2).mean(),
    "loss = mse_loss(pred, y, reduction='sum')": lambda d: (d**2).sum(),
    "loss = mse_loss(reshape(pred, shape=[-1]), reshape(y, shape=[-1]))": lambda d: (d**2).mean(),
    "loss = mean((reshape(y, shape=[-1]) - reshape(pred, shape=[-1])) ** 2)": lambda d: (d**2).mean(),
}


OPTIONS = [{}, {"micro_batch_size": 5}, {"optimizer": "lbfgs", "batch_size": 45}]


@pytest.mark.parametrize(("loss", "options"), paired([*LOSSES], OPTIONS))
def test_losses_are_reported_in_both_units(loss, options):
    fit, outputs = fitted(graph(loss), **options)
    rows = fit._examples.held_out
    distance = outputs["pred"][rows] - Y[rows]
    assert fit.latest["val_loss"] == pytest.approx(LOSSES[loss](distance), rel=1e-4)
    assert fit.latest["val_normalized_loss"] == pytest.approx(LOSSES[loss](distance / _deviation(fit)), rel=1e-4)
    assert {"loss", "normalized_loss"} <= fit.latest.keys()
    assert fit.best == {**fit.best, "metric": "val_loss"}


def _deviation(fit):
    return fit._examples.scales.of["y"].scale


def test_metrics_are_in_the_units_of_the_data():
    fit, outputs = fitted(graph("loss = mse_loss(pred, y)"), metrics=["mae", "rmse", "r2"])
    rows = fit._examples.held_out
    distance = outputs["pred"][rows] - Y[rows]
    assert outputs["pred"].dtype == np.float64
    assert fit.latest["val_mae"] == pytest.approx(np.abs(distance).mean(), rel=1e-5)
    assert fit.latest["val_rmse"] == pytest.approx(np.sqrt((distance**2).mean()), rel=1e-5)
    spread = ((Y[rows] - Y[rows].mean(axis=0)) ** 2).sum(axis=0)
    assert fit.latest["val_r2"] == pytest.approx((1 - (distance**2).sum(axis=0) / spread).mean(), rel=1e-4)


def test_training_rows_and_epochs_are_in_the_units_of_the_data():
    recipe = engine.read_recipe({"epochs": 1, "batch_size": 60, "normalize": ALL, "record": {"epochs": True}})
    definition = graph("loss = mse_loss(pred, y)")
    fit = engine.Fit(definition, recipe, COLUMNS, execution=engine.Execution("numpy"))
    before = engine.Predictor(definition, fit.snapshot()).predict({"x": X})["pred"]
    step, epoch = list(fit)
    expected = ((before - Y) ** 2).mean()
    assert step.values["loss"] == pytest.approx(expected, rel=1e-4)
    assert epoch.values["epoch_loss"] == pytest.approx(expected, rel=1e-4)
    assert epoch.values["epoch_normalized_loss"] == pytest.approx(step.values["normalized_loss"])
    assert "epoch_normalized_loss_uncertainty" in epoch.values


@pytest.mark.parametrize("executor", engine.executors())
def test_what_is_trained_does_not_change(executor):
    """Training on targets that come normalised gives the same parameters to the bit."""
    definition = graph("loss = mse_loss(pred, y)")
    recipe = {"epochs": 3, "batch_size": 16, "seed": 3, "normalize": {"x": "standard"}}
    scaled = engine.Fit(
        definition,
        engine.read_recipe({**recipe, "normalize": ALL}),
        COLUMNS,
        execution=engine.Execution(executor),
    )
    columns = {"x": X, "y": scaled._examples.scales.apply("y", Y)}
    fits = [
        scaled,
        engine.Fit(definition, engine.read_recipe(recipe), columns, execution=engine.Execution(executor)),
    ]
    for fit in fits:
        list(fit)
    trained, plain = (fit.model.parameters for fit in fits)
    assert all(np.array_equal(trained[name], plain[name]) for name in plain)
    assert fits[0].latest["normalized_loss"] == fits[1].latest["loss"]
    assert "normalized_loss" not in fits[1].latest


REACHED = {
    "kept": "kept = unsqueeze(pred, axis=1)\nloss = mse_loss(pred, y)",
    "deep": "deep = unsqueeze(pred, axis=1)\nloss = mse_loss(squeeze(deep, axis=1), y)",
}


@pytest.mark.parametrize(("output", "loss"), REACHED.items())
def test_outputs_that_differ_in_shape_are_in_the_units_too(output, loss):
    _, outputs = fitted(graph(loss, outputs=("pred", output)))
    assert np.array_equal(outputs["pred"], outputs[output].reshape(outputs["pred"].shape))
    assert np.abs(outputs["pred"].mean(axis=0) - CENTRE).max() < 300


def test_a_predicted_variance_is_in_squared_units():
    loss = "var = exp(x @ v)\nloss = gaussian_nll_loss(pred, y, var)"
    fit, outputs = fitted(graph(loss, outputs=("pred", "var"), v=[3, 2]))
    rows = fit._examples.held_out
    variance, distance = outputs["var"][rows], outputs["pred"][rows] - Y[rows]
    assert fit.latest["val_loss"] == pytest.approx((0.5 * (np.log(variance) + distance**2 / variance)).mean(), rel=1e-4)


def test_a_feature_is_not_taken_for_a_target():
    fit, outputs = fitted(graph("loss = mse_loss(pred, y)"), normalize={"x": "standard"})
    assert "normalized_loss" not in fit.latest
    assert outputs["pred"].dtype == np.float32


def test_an_autoencoder_gives_its_input_back_in_its_units():
    definition = engine.parse_graph(
        {
            "inputs": {"y": ["n", 2]},
            "parameters": {"w": [2, 2]},
            "program": "back = y @ w\nloss = mean((back - y) ** 2)",
            "outputs": ["back"],
        }
    )
    recipe = engine.read_recipe({"epochs": 200, "batch_size": 60, "normalize": {"y": "standard"},
                                 "optimizer": {"kind": "adam", "lr": 0.1}})  # fmt: skip
    fit = engine.Fit(definition, recipe, {"y": Y}, execution=engine.Execution("numpy"))
    list(fit)
    assert np.allclose(engine.Predictor(definition, fit.snapshot()).predict({"y": Y})["back"], Y, rtol=1e-3, atol=0.1)


def test_a_fit_from_before_goes_on_and_forgets_its_best_value():
    definition, stopping = graph("loss = mse_loss(pred, y)"), {"monitor": "val_loss", "patience": 9}
    recipe = engine.read_recipe(
        {"epochs": 4, "batch_size": 16, "normalize": ALL, "validation": {"split": 0.25}, "early_stopping": stopping}
    )
    fit = engine.Fit(definition, recipe, COLUMNS, execution=engine.Execution("numpy"))
    fit.advance(4)
    old = fit.snapshot()
    old.cursor["metrics"] = "another digest"
    old.cursor["best"]["value"] = (1e-9).hex()
    old.state = {name: array for name, array in old.state.items() if not name.startswith("epoch/")}
    resumed = engine.Fit(definition, recipe, COLUMNS, execution=engine.Execution("numpy"))
    resumed.restore(old)
    assert resumed.best is None
    list(resumed)
    list(fit)
    assert resumed.latest == fit.latest
    assert resumed.best["value"] > 1


def test_the_check_finds_what_is_described():
    columns = {"x": engine.ColumnInfo("float64", (3,), 60), "y": engine.ColumnInfo("float64", (2,), 60)}
    definition = graph("loss = mse_loss(pred, y)")

    def estimate(monitor, normalize=ALL):
        given = {"epochs": 2, "normalize": normalize, "validation": {"split": 0.25}, "metrics": ["mae"]}
        recipe = engine.read_recipe({**given, "early_stopping": {"monitor": monitor}})
        return recipe, engine.check_fit(definition, recipe, columns)

    for monitor in ("val_loss", "val_normalized_loss", "normalized_loss", "val_mae"):
        recipe, found = estimate(monitor)
    fit = engine.Fit(definition, recipe, COLUMNS, execution=engine.Execution("numpy"))
    assert found.memory["state_bytes"] == sum(array.nbytes for array in fit.model.arrays.values())
    with pytest.raises(engine.DocumentError, match="val_normalized_loss"):
        estimate("val_normalized_loss", {"x": "standard"})


def test_a_session_goes_on_in_the_units_of_the_data():
    definition = graph("loss = mse_loss(pred, y)")
    fit, outputs = fitted(definition)
    session = engine.Session(definition, "adam")
    session.restore(fit.snapshot(), optimizer=False)
    assert np.allclose(session.predict({"x": X})["pred"], outputs["pred"], rtol=1e-6)
    loss = session.forward({"x": X, "y": Y}, training=False).losses["loss"]
    assert loss == pytest.approx((((outputs["pred"] - Y) / _deviation(fit)) ** 2).mean(), rel=1e-4)
    again = engine.Session(definition, "adam")
    again.restore(session.snapshot())
    assert np.array_equal(again.predict({"x": X})["pred"], session.predict({"x": X})["pred"])
    saved = engine.Predictor(definition, session.snapshot()).predict({"x": X})["pred"]
    assert np.allclose(saved, outputs["pred"], rtol=1e-6)
