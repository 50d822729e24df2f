"""Fits: as PyTorch step for step, resumable to the bit, and what their points say."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.optim.schedules.schedule import make_schedule
from tests.engine.training.fit.fits import CLASSIFIER, LABELS, LINE, PLATEAU, RECIPE, X, classifier, line, run, state

GOLDEN = Path(__file__).parents[2] / "optim" / "golden"


def test_linear_regression_is_pytorchs_step_for_step():
    (golden,) = json.loads((GOLDEN / "line.json").read_text())
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["batch", 1], "y": ["batch", 1]},
            "parameters": {
                "w": {"shape": [1, 1], "init": {"kind": "constant", "value": golden["w"]}},
                "b": {"shape": [1], "init": "zeros"},
            },
            "program": "loss = mean((x @ w + b - y) ** 2)",
        }
    )
    recipe = engine.read_recipe(
        {
            "epochs": 100,
            "batch_size": 100,
            "shuffle": False,
            "optimizer": {"kind": "sgd", "lr": 0.01},
            "precision": "float64",
        }
    )
    fit = engine.Fit(definition, recipe, {"x": np.array(golden["x"]), "y": np.array(golden["y"])})
    losses, path = [], []
    while not fit.done:
        (point,) = fit.advance()
        losses.append(point.values["loss"])
        path.append([fit.model.parameters[name].item() for name in "wb"])
    np.testing.assert_allclose(losses, golden["losses"], rtol=1e-12)
    np.testing.assert_allclose(path, golden["path"], rtol=1e-12, atol=1e-14)


REDUCING = {
    "by the loss of each step": {**PLATEAU, "per": "step"},
    "by the loss of each epoch": {**PLATEAU, "monitor": "loss"},
    "by the validation loss": {**PLATEAU, "mode": "max", "monitor": "val_loss"},
    "after a warm-up": {"kind": "warm_up", "total_iters": 2, "per": "step", "schedule": PLATEAU},
}


AVERAGED = {
    **{kind: {} for kind in engine.optim.optimizers.OPTIMIZERS},
    "asgd": {"t0": 1.0},
    "chain": {"transforms": [{"kind": "scale_by_adam"}]},
}
EMA = {"kind": "ema", "decay": 0.75}
MATRIX = {**LINE, "parameters": {"w": [1, 1]}, "program": "loss = mse_loss(sum(x @ w, axis=1), y)"}


@pytest.mark.parametrize("kind", AVERAGED)
def test_an_average_of_the_weights_leaves_any_optimizer_as_it_is(kind):
    recipe = {"optimizer": {"kind": kind, "lr": 0.05, **AVERAGED[kind]}, "precision": "float64"}
    plain, fit = line(document=MATRIX, **recipe), line(document=MATRIX, **recipe, average=EMA)
    expected = None
    while not plain.done:
        plain.advance()
        fit.advance()
        weights = plain.snapshot().parameters
        expected = weights if expected is None else {n: 0.75 * expected[n] + 0.25 * weights[n] for n in weights}
    snapshot = fit.snapshot()
    without = plain.snapshot()
    for name, array in {**without.parameters, **without.optimizer}.items():
        np.testing.assert_array_equal({**snapshot.parameters, **snapshot.optimizer}[name], array, err_msg=name)
    for name, average in snapshot.under("average/").items():
        np.testing.assert_allclose(average, expected[name], rtol=1e-12, err_msg=name)


def rates_of(rows):
    return [row["values"]["lr"] for row in map(json.loads, rows) if row["split"] == "train"]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", REDUCING.values(), ids=REDUCING)
def test_a_fit_whose_rate_goes_by_a_metric_is_resumed_to_the_bit(schedule, tmp_path):
    whole = classifier(schedule=schedule, epochs=6)
    expected = run(whole)
    assert len(set(rates_of(expected)[5:])) > 1
    for step in (3, 11, 16):
        fit = classifier(schedule=schedule, epochs=6)
        head = [point.to_json() for _ in range(step) for point in fit.advance()]
        fit.snapshot().save(tmp_path / "state.safetensors")
        resumed = classifier(schedule=schedule, epochs=6)
        resumed.restore(engine.Checkpoint.load(tmp_path / "state.safetensors"))
        assert head + run(resumed) == expected
        assert state(resumed) == state(whole)


def test_the_rate_falls_as_the_monitored_loss_says():
    points = list(classifier(schedule={**PLATEAU, "cooldown": 0}, epochs=8))
    found = [point.values["lr"] for point in points if point.split == "train"][::5]
    rate, best, wanted = 0.1, math.inf, []
    for loss in (point.values["loss"] for point in points if point.split == "validation"):
        wanted.append(rate)
        rate, best = (rate, loss) if loss < best * 0.9 else (rate * 0.5, best)
    assert found == wanted
    assert wanted[-1] < 0.1


UNSUITABLE = {
    "no validation": ({**PLATEAU, "monitor": "val_loss"}, "/schedule/monitor", "no rows to validate on"),
    "no validation after a warm-up": (
        {"kind": "warm_up", "schedule": {**PLATEAU, "monitor": "val_loss"}},
        "/schedule/schedule/monitor",
        "no rows to validate on",
    ),
    "a cycle too short": ({"kind": "one_cycle", "total_steps": 4, "per": "step"}, "/schedule", "total_steps 4"),
}


@pytest.mark.parametrize(("schedule", "pointer", "detail"), UNSUITABLE.values(), ids=UNSUITABLE)
def test_a_schedule_that_does_not_serve_the_whole_fit_is_refused_at_once(schedule, pointer, detail):
    with pytest.raises(engine.DocumentError, match=detail) as caught:
        line(schedule=schedule)
    assert [finding.pointer for finding in caught.value.findings] == [pointer]
    rows = {"x": engine.ColumnInfo("float64", (1,), 12), "y": engine.ColumnInfo("float64", (), 12)}
    recipe = engine.read_recipe({"epochs": 2, "batch_size": 4, "schedule": schedule})
    with pytest.raises(engine.DocumentError, match=detail):
        engine.check_fit(engine.parse_graph(LINE), recipe, rows)


def test_a_cycle_as_long_as_the_fit_serves_it():
    for schedule in ({"total_steps": 6, "per": "step"}, {"total_steps": 2}):
        assert len(list(line(schedule={"kind": "one_cycle", **schedule}))) == 6


def test_rows_have_the_momentum_that_a_schedule_sets():
    schedule = {"kind": "one_cycle", "total_steps": 24, "per": "step", "base_momentum": 0.6}
    points = line(schedule=schedule, optimizer={"kind": "sgd", "lr": 0.01, "momentum": 0.9}, epochs=8)
    found = [point.values["momentum"] for point in points if point.split == "train"]
    assert found == [make_schedule(schedule).momentum_at(step) for step in range(24)]
    assert min(found) < 0.7


def test_equal_seeds_give_equal_bits_and_other_seeds_do_not():
    first, second, other = classifier(), classifier(), classifier(seed=6)
    assert run(first) == run(second)
    assert state(first) == state(second)
    assert run(other) != run(classifier())
    assert state(other)[0] != state(first)[0]


def test_points_count_without_gaps_and_say_where_they_belong():
    points = list(classifier())
    assert [point.seq for point in points] == list(range(1, len(points) + 1))
    train = [point for point in points if point.split == "train"]
    held_out = [point for point in points if point.split == "validation"]
    assert [point.step for point in train] == list(range(1, 16))
    assert [point.epoch for point in train] == [1] * 5 + [2] * 5 + [3] * 5
    assert [(point.step, point.epoch) for point in held_out] == [(5, 1), (10, 2), (15, 3)]
    assert set(held_out[0].values) == {"loss", "accuracy"}
    assert {"loss", "accuracy", "lr", "grad_norm", "grad_norm/linear_0.weight"} <= set(train[0].values)
    assert [point.values["lr"] for point in train[::5]] == pytest.approx([0.1, 0.075, 0.025])
    row = json.loads(train[0].to_json())
    assert list(row) == ["seq", "step", "epoch", "split", "values", "nonfinite"]
    assert row["values"]["loss"] == train[0].values["loss"]


def test_the_last_short_batch_is_trained_on_or_dropped():
    whole, dropped = line(batch_size=5), line(batch_size=5, drop_last=True)
    assert (whole.steps_per_epoch, dropped.steps_per_epoch) == (3, 2)
    assert (len(list(whole)), len(list(dropped))) == (6, 4)


def test_every_row_is_visited_once_an_epoch():
    document = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = sum(x * w)"}
    fit = line({"x": 2.0 ** np.arange(12)}, document, batch_size=5, optimizer={"kind": "sgd", "lr": 1.0}, epochs=4)
    while not fit.done:
        fit.advance()
        if fit.step % 3 == 0:
            assert fit.model.parameters["w"].item() == -(2**12 - 1) * fit.epoch


def test_shuffled_epochs_differ_and_unshuffled_ones_do_not():
    document = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = sum(x * w) * 0.0 + sum(x)"}
    columns = {"x": 2.0 ** np.arange(12)}
    losses = [p.values["loss"] for p in line(columns, document, batch_size=3, epochs=2)]
    assert losses[:4] != losses[4:]
    assert sum(losses[:4]) == sum(losses[4:])
    losses = [p.values["loss"] for p in line(columns, document, batch_size=3, epochs=2, shuffle=False)]
    assert losses[:4] == losses[4:] == [7, 56, 448, 3584]


def test_a_fit_by_steps_may_end_within_an_epoch():
    fit = line(epochs=None, steps=4, validation={"split": 0.2})
    points = list(fit)
    assert (fit.steps_per_epoch, fit.total_steps, fit.step, fit.epoch) == (3, 4, 4, 2)
    assert [(point.split, point.step) for point in points] == [
        ("train", 1),
        ("train", 2),
        ("train", 3),
        ("validation", 3),
        ("train", 4),
        ("validation", 4),
    ]
    assert fit.checkpoint_due


FROZEN = {
    "inputs": {"x": ["n", 1], "y": ["n"]},
    "parameters": {
        "w": [1],
        "fixed": {"shape": [1], "init": {"kind": "constant", "value": 0.3}, "frozen": True},
        "aside": {"shape": [3], "init": "ones"},
        "cut": {"shape": [1], "init": "ones"},
        "b": [],
    },
    "nodes": [
        {"name": "scaled", "op": "mul", "inputs": ["w", "fixed"]},
        {"name": "held", "op": "stop_gradient", "inputs": ["cut"]},
        {"name": "sum", "op": "add", "inputs": ["scaled", "held"]},
        {"name": "h", "op": "matmul", "inputs": ["x", "sum"]},
        {"name": "pred", "op": "add", "inputs": ["h", "b"]},
        {"name": "loss", "op": "mse_loss", "inputs": ["pred", "y"]},
        {"name": "other", "op": "sum", "inputs": ["aside"]},
    ],
    "outputs": ["pred", "other"],
    "losses": ["loss"],
}


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_frozen_and_unreachable_parameters_keep_their_bits(kind):
    options = {"momentum": 0.9} if kind == "sgd" else {}
    fit = line(document=FROZEN, optimizer={"kind": kind, "weight_decay": 0.1, **options})
    before = {name: array.copy() for name, array in fit.model.parameters.items()}
    slots = set(fit.snapshot().optimizer)
    for point in fit:
        assert not {"grad_norm/fixed", "grad_norm/aside", "grad_norm/cut"} & set(point.values)
    for name in ("fixed", "aside", "cut"):
        np.testing.assert_array_equal(fit.model.parameters[name], before[name])
    assert not np.array_equal(fit.model.parameters["w"], before["w"])
    assert {slot.partition("/")[2] for slot in slots} <= {"w", "b", "vector:float32"}


def test_float64_is_used_throughout_when_asked_for():
    fit = line(precision="float64", optimizer={"kind": "adam"})
    list(fit)
    snapshot = fit.snapshot()
    assert {array.dtype.name for array in snapshot.parameters.values()} == {"float64"}
    assert {array.dtype.name for name, array in snapshot.optimizer.items() if "moment" in name} == {"float64"}


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_parameters_of_several_types_are_trained_together(half):
    document = {
        "inputs": {"x": {"shape": ["n", 1], "dtype": "float64"}, "y": {"shape": ["n"], "dtype": "float64"}},
        "parameters": {"w": {"shape": [1], "dtype": "float64"}, "b": {"shape": [1], "dtype": half}},
        "program": "loss = mse_loss(x @ w + cast(b, dtype='float64'), y)",
    }
    fit = line(document=document, epochs=40)
    list(fit)
    assert fit.model.parameters["w"].item() == pytest.approx(3, abs=0.2)
    assert fit.model.parameters["b"].item() == pytest.approx(2, abs=0.2)
    assert fit.model.parameters["b"].dtype.name == half


def test_a_loss_that_is_not_finite_still_makes_valid_rows():
    fit = line(epochs=60, optimizer={"kind": "sgd", "lr": 1e30}, divergence={"action": "continue"})
    rows = [json.loads(row, parse_constant=pytest.fail) for row in run(fit)]
    broken = [row for row in rows if row["nonfinite"]]
    assert broken
    assert {kind for row in broken for kind in row["nonfinite"].values()} <= {"nan", "inf", "-inf"}
    assert all(row["values"][name] is None for row in broken for name in row["nonfinite"])
    assert fit.done
    assert fit.best is None or math.isfinite(fit.best["value"])


@pytest.mark.parametrize(("value", "word"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_a_number_that_json_lacks_is_named(value, word):
    row = json.loads(engine.MetricRow(1, 1, 1, "train", {"loss": value, "lr": 0.5}).to_json())
    assert row["values"] == {"loss": None, "lr": 0.5}
    assert row["nonfinite"] == {"loss": word}


def test_several_losses_add_up():
    document = {
        **LINE,
        "program": "fit = mse_loss(x @ w + b, y)\nsize = sum(w ** 2) * 0.5",
        "losses": ["fit", "size"],
    }
    fit = line(document=document, batch_size=12, shuffle=False)
    w = fit.model.parameters["w"].copy()
    (point,) = fit.advance()
    parts = engine.compute(
        fit.definition,
        {
            "inputs": {"x": np.linspace(-1, 1, 12)[:, None].tolist(), "y": (3 * np.linspace(-1, 1, 12) + 2).tolist()},
            "parameters": {"w": w.tolist(), "b": 0},
        },
    )
    assert point.values["loss"] == pytest.approx(sum(parts["losses"].values()), rel=1e-6)


def test_integer_rows_are_fed_to_floating_inputs():
    x = np.arange(12)[:, None]
    fit = line({"x": x.astype(np.int16), "y": x[:, 0].astype(np.uint8)}, optimizer={"kind": "adam"})
    same = line({"x": x.astype(np.float32), "y": x[:, 0].astype(np.float32)}, optimizer={"kind": "adam"})
    assert run(fit) == run(same)


def test_columns_may_be_memory_mapped_and_named_otherwise(tmp_path):
    np.save(tmp_path / "features.npy", X)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    recipe = engine.read_recipe({**RECIPE, "feeds": {"x": "features", "label": "class"}})
    fit = engine.Fit(engine.parse_graph(CLASSIFIER), recipe, {"features": mapped, "class": LABELS})
    assert run(fit) == run(classifier())


def test_a_batch_of_one_and_a_dataset_of_one_row():
    assert len(list(line(batch_size=1, epochs=1))) == 12
    x = np.ones((1, 1))
    fit = line({"x": x, "y": x[:, 0]}, batch_size=100, epochs=3)
    assert (fit.steps_per_epoch, len(list(fit))) == (1, 3)


def test_a_validation_dataset_takes_the_place_of_a_split():
    recipe = engine.read_recipe({**RECIPE, "validation": {}, "epochs": 2, "batch_size": 4})
    held_out = {"x": X[:7], "label": LABELS[:7]}
    fit = engine.Fit(engine.parse_graph(CLASSIFIER), recipe, {"x": X, "label": LABELS}, held_out)
    points = list(fit)
    assert fit.steps_per_epoch == 7
    validation = [point for point in points if point.split == "validation"]
    assert [point.step for point in validation] == [7, 14]
    snapshot = fit.snapshot()
    predicted = engine.Predictor(engine.parse_graph(CLASSIFIER), snapshot).predict({"x": X[:7]})["linear_1"]
    assert validation[-1].values["accuracy"] == pytest.approx((predicted.argmax(1) == LABELS[:7]).mean())
    assert fit.best["metric"] == "val_loss"
    assert fit.best["value"] == min(point.values["loss"] for point in validation)


def test_split_rows_are_never_trained_on():
    document = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = sum(x * w) * 0.0 + sum(x)"}
    fit = line({"x": 2.0 ** np.arange(12)}, document, validation={"split": 0.25}, batch_size=9, epochs=3)
    train = {point.values["loss"] for point in fit if point.split == "train"}
    assert len(train) == 1
    assert int(train.pop()).bit_count() == 9


def test_the_best_epoch_is_kept_and_a_checkpoint_is_due():
    fit = classifier(checkpoint={"every_steps": 4, "every_epochs": None, "keep_best": True})
    due, improved = [], []
    while not fit.done:
        fit.advance()
        due += [fit.step] * fit.checkpoint_due
        improved += [fit.step] * fit.improved
    assert improved[0] == 5
    assert set(due) == {4, 8, 12, 15, *improved}
    assert fit.best["step"] == improved[-1]


def test_only_some_steps_are_recorded_when_asked():
    fit = line(epochs=3, record={"every_steps": 4, "gradient_norms": False})
    points = list(fit)
    assert [point.step for point in points] == [4, 8, 9]
    assert [point.seq for point in points] == [1, 2, 3]
    assert set(points[0].values) == {"loss", "lr", "grad_norm"}


def test_norms_of_the_weights_are_those_after_the_recorded_step():
    fit = line(epochs=3, record={"every_steps": 4, "weight_norms": True})
    for point in (point for _ in range(9) for point in fit.advance()):
        parameters = fit.snapshot().parameters
        found = {name: value for name, value in point.values.items() if name.startswith("weight_norm/")}
        assert found == {f"weight_norm/{name}": pytest.approx(np.linalg.norm(w)) for name, w in parameters.items()}
    assert point.step == 9


def test_a_long_fit_makes_a_row_of_some_steps_only_and_one_that_goes_on_the_same():
    long = {"epochs": None, "steps": 20_005, "shuffle": False, "record": {"gradient_norms": False}}
    fit = line(**long)
    first = [point for _ in range(10) for point in fit.advance()]
    assert [point.step for point in first if point.split == "train"] == [3, 6, 9]
    resumed = line(**long)
    resumed.restore(fit.snapshot())
    assert [(point.seq, point.step) for _ in range(3) for point in resumed.advance()] == [(first[-1].seq + 1, 12)]


def test_batches_fixed_by_a_number_are_taken_as_they_are():
    document = {"inputs": {"x": [4, 1], "y": [4]}, "parameters": {"w": [1], "b": []}, "program": LINE["program"]}
    assert run(line(document=document)) == run(line())


def test_inputs_may_have_the_names_of_the_engines_own():
    document = {
        "inputs": {"key": ["n", 1], "lr": ["n"]},
        "parameters": {"loss.w": [1], "b": []},
        "nodes": [
            {"name": "h", "op": "matmul", "inputs": ["key", "loss.w"]},
            {"name": "accuracy", "op": "mse_loss", "inputs": ["h", "lr"]},
        ],
        "losses": ["accuracy"],
    }
    x = np.linspace(-1, 1, 12)[:, None]
    fit = line({"key": x, "lr": 3 * x[:, 0]}, document, epochs=60)
    list(fit)
    assert fit.model.parameters["loss.w"].item() == pytest.approx(3, abs=0.1)
    definition = engine.parse_graph(document)
    request = {"inputs": {"key": x.tolist(), "lr": x[:, 0].tolist()}, "parameters": {"loss.w": [1]}}
    assert engine.compute(definition, request)["losses"] == {"accuracy": 0.0}


def test_running_statistics_are_updated_in_training_and_used_in_validation():
    fit = classifier()
    before = {name: array.copy() for name, array in fit.model.buffers.items()}
    fit.advance()
    assert all(not np.array_equal(before[name], array) for name, array in fit.model.buffers.items())
    while fit.step < 4:
        fit.advance()
    during = {name: array.copy() for name, array in fit.model.buffers.items()}
    (_, validation) = fit.advance()
    assert validation.split == "validation"
    assert all(not np.array_equal(during[name], array) for name, array in fit.model.buffers.items())
