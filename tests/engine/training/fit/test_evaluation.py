"""Losses with uncertainties over epochs and held-out rows: the numbers that ggml's training interface is known by.

The rows are 0 to 5, the output of each is x + w, w starts at 3, and the loss is the sum of the outputs (or their mean).
"""

import math

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

ROWS = np.arange(6.0)
SGD = {"kind": "sgd", "lr": 1.0}
ADAMW = {"kind": "adamw", "lr": 1.0, "betas": [0.0, 0.0], "eps": 0.0, "weight_decay": 0.0}
EPOCHS = 4


def fit(loss="sum", start=3.0, rows=ROWS, held_out=None, **recipe):
    """Start a fit of w."""
    document = {
        "inputs": {"x": ["n"]},
        "parameters": {"w": {"shape": [], "init": {"kind": "constant", "value": start}}},
        "program": f"out = x + w\nloss = {loss}(out)",
    }
    recipe = {"epochs": EPOCHS, "shuffle": False, "record": {"epochs": True}, "optimizer": SGD, **recipe}
    definition = engine.parse_graph(document)
    return engine.Fit(definition, engine.read_recipe(recipe), {"x": rows}, held_out and {"x": held_out[0]})


def by_epoch(created):
    """Run to the end; return w after each epoch, and the values of each kind of row by name."""
    weights, train, validation = [], [], []
    while not created.done:
        points = created.advance()
        train += [point.values for point in points if "epoch_loss" in point.values]
        validation += [point.values for point in points if point.split == "validation"]
        if created.step % created.steps_per_epoch == 0:
            weights.append(created.model.parameters["w"].item())
    return weights, train, validation


def test_a_loss_without_training_is_33_give_or_take_the_root_of_3_5():
    """One step from 4 leads to 3, at which the six rows are evaluated one at a time."""
    created = fit(start=4.0, rows=ROWS[:1], held_out=[ROWS], epochs=1, batch_size=1)
    weights, _, (values,) = by_epoch(created)
    assert weights == [3]
    assert values["loss"] == 33
    assert values["loss_uncertainty"] == pytest.approx(math.sqrt(3.5), rel=1e-14)


@each_row("rows", range(1, 7))
def test_gradients_accumulate_to_the_number_of_rows(rows):
    created = fit(rows=ROWS[:rows], epochs=1, batch_size=rows, micro_batch_size=1)
    (point, _) = created.advance()
    assert point.values["grad_norm"] == rows
    assert created.model.parameters["w"] == 3 - rows


def test_six_steps_lead_to_minus_3_at_18_for_certain():
    weights, (values,), _ = by_epoch(fit(epochs=1, batch_size=1))
    assert (weights, values["epoch_loss"], values["epoch_loss_uncertainty"]) == ([-3], 18, 0)


@pytest.mark.parametrize("optimizer", [SGD, ADAMW], ids=["sgd", "adamw"])
def test_four_rows_train_and_the_last_two_validate(optimizer):
    validation = {"split": 1 / 3, "order": "last"}
    weights, train, held_out = by_epoch(fit(batch_size=1, validation=validation, optimizer=optimizer))
    epochs = range(1, EPOCHS + 1)
    assert weights == [3 - 4 * epoch for epoch in epochs]
    assert [values["epoch_loss"] for values in train] == [28 - 16 * epoch for epoch in epochs]
    assert [values["epoch_loss_uncertainty"] for values in train] == [0] * EPOCHS
    assert [values["loss"] for values in held_out] == [15 - 8 * epoch for epoch in epochs]
    spread = [values["loss_uncertainty"] for values in held_out]
    assert spread == pytest.approx([math.sqrt(0.5)] * EPOCHS, rel=1e-14)


@each_row("physical", [1, 2, 3, 6])
@each_row(("loss", "optimizer"), [("sum", ADAMW), ("mean", SGD), ("mean", ADAMW)])
def test_six_logical_rows_step_alike_however_many_are_physical(loss, optimizer, physical):
    """The sum has a slope of 6, of which ggml's AdamW without memory takes the sign; the mean has one of 1."""
    created = fit(loss, batch_size=6, micro_batch_size=physical, optimizer=optimizer, precision="float64")
    weights, train, _ = by_epoch(created)
    rows = 6 if loss == "mean" else 1
    assert weights == pytest.approx([3 - epoch for epoch in range(1, EPOCHS + 1)], abs=1e-12)
    wanted = [(39 - 6 * epoch) / rows for epoch in range(1, EPOCHS + 1)]
    assert [values["epoch_loss"] for values in train] == pytest.approx(wanted, abs=1e-12)


def test_a_line_is_found_to_a_hundredth():
    x = np.linspace(-100, 100, 201, dtype=np.float32)
    noise = np.random.default_rng(12345).normal(0, 0.1, 201).astype(np.float32)
    document = {
        "inputs": {"x": ["n"], "y": ["n"]},
        "parameters": {
            "a": {"shape": [], "init": {"kind": "constant", "value": 1.0}},
            "b": {"shape": [], "init": {"kind": "constant", "value": 3.0}},
        },
        "program": "f = a * x + b\nloss = mean((f - y) ** 2)",
    }
    adamw = {"kind": "adamw", "lr": 0.1, "weight_decay": 0.0}
    recipe = engine.read_recipe({"epochs": 100, "batch_size": 201, "optimizer": adamw, "shuffle": False})
    created = engine.Fit(engine.parse_graph(document), recipe, {"x": x, "y": 1.2 * x + 3.4 + noise})
    list(created)
    assert [created.model.parameters[name].item() for name in "ab"] == pytest.approx([1.2, 3.4], abs=1e-2)


def test_an_accuracy_has_the_uncertainty_of_a_share_of_rows():
    document = {
        "inputs": {"x": ["n", 2], "y": {"shape": ["n"], "dtype": "int64"}},
        "parameters": {"w": {"shape": [2], "init": "ones"}},
        "program": "loss = cross_entropy(x * w, y)",
    }
    x, y = np.eye(2)[[0, 0, 1, 1, 0]], np.array([0, 0, 1, 0, 1])
    recipe = {"epochs": 1, "batch_size": 2, "metrics": ["accuracy"], "record": {"epochs": True}, "validation": {}}
    recipe["optimizer"] = {"kind": "sgd", "lr": 1e-9}
    created = engine.Fit(engine.parse_graph(document), engine.read_recipe(recipe), {"x": x, "y": y}, {"x": x, "y": y})
    *_, epoch, held_out = list(created)
    for values, prefix in ((epoch.values, "epoch_"), (held_out.values, "")):
        assert values[prefix + "accuracy"] == 0.6
        assert values[prefix + "accuracy_uncertainty"] == pytest.approx(math.sqrt(0.6 * 0.4 / 4), rel=1e-14)
        assert values[prefix + "loss_uncertainty"] > 0


def test_batches_of_any_size_give_the_same_validation():
    def held_out(size, micro=None):
        created = fit(
            "mean", batch_size=size, micro_batch_size=micro, validation={"split": 0.5, "order": "last"}, epochs=1
        )
        created.model.parameters["w"][...] = 3.0
        return created._evaluator.evaluate(averaged=False)

    for size, micro in ((1, None), (2, None), (3, None), (3, 2)):
        assert held_out(size, micro)["loss"] == pytest.approx(7.0, rel=1e-6)
