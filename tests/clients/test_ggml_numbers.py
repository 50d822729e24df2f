"""The numbers that ggml's training interface is known by (tests/test-opt.cpp), from fits through HTTP.

The rows are 0 to 5, the output of each is x + w, w starts at 3, and the loss is the sum or the mean of the outputs. The
gradient of each row is 1, and ggml's AdamW without memory (betas 0) and eps takes steps of exactly the learning rate.
"""

import numpy as np
import pytest

from tests.extent import paired

ROWS = np.arange(6, dtype=np.float32)
EPOCHS = 3
SGD = {"kind": "sgd", "lr": 1.0}
ADAMW = {"kind": "adamw", "lr": 1.0, "betas": [0.0, 0.0], "eps": 0.0, "weight_decay": 0.0}


def graph(loss="sum", start=3.0):
    return {
        "inputs": {"x": ["batch"]},
        "parameters": {"w": {"shape": [], "init": {"kind": "constant", "value": start}}},
        "program": f"out = x + w\nloss = {loss}(out)",
    }


@pytest.fixture
def fit(client):
    """Run a fit that keeps the checkpoint of each epoch, and a row of each."""

    def run(definition, rows, epochs, **fields):
        kept = {"record": {"epochs": True}, "checkpoint": {"keep_last": epochs}, "shuffle": False}
        handle = client.fit(definition, rows, epochs=epochs, **{**kept, **fields})
        handle.wait()
        return handle

    return run


def weights(fit):
    """The value of w after each epoch, by its checkpoints."""
    kept = sorted(fit.checkpoints(), key=lambda checkpoint: checkpoint.info.step)
    return [float(checkpoint.load()["w"]) for checkpoint in kept]


def numbers(fit, split, name):
    """What the rows of a split say, in order, of those that say it."""
    return [row.values[name] for row in fit.metrics() if row.split == split and name in row.values]


@pytest.mark.parametrize("rows", range(1, 7))
def test_gradients_of_rows_accumulate_to_their_number(fit, rows):
    done = fit(graph(), {"x": ROWS[:rows]}, 1, batch_size=rows, micro_batch_size=1, optimizer=SGD)
    assert numbers(done, "train", "grad_norm/w") == [rows]
    assert weights(done) == [3 - rows]


def test_a_loss_without_training_is_33_give_or_take_the_root_of_3_5(client, fit):
    """One step from 4 leads to the weight of 3 at which all rows are evaluated."""
    held_out = {"dataset": client.upload({"x": ROWS}).id}
    done = fit(graph(start=4.0), {"x": ROWS[:1]}, 1, batch_size=1, validation=held_out, optimizer=SGD)
    assert numbers(done, "validation", "loss") == [33]
    assert numbers(done, "validation", "loss_uncertainty") == pytest.approx([3.5**0.5], rel=1e-12)


def test_six_steps_lead_to_minus_3_at_a_loss_of_3_a_step(fit):
    done = fit(graph(), {"x": ROWS}, 1, batch_size=1, optimizer=SGD)
    assert numbers(done, "train", "loss") == [3] * 6
    assert weights(done) == [-3]
    assert numbers(done, "train", "epoch_loss") == [18]
    assert numbers(done, "train", "epoch_loss_uncertainty") == [0]


@pytest.mark.parametrize("optimizer", [SGD, ADAMW], ids=["sgd", "adamw"])
def test_four_rows_train_and_the_last_two_validate(fit, optimizer):
    held_out = {"split": 0.3333, "order": "last"}
    done = fit(graph(), {"x": ROWS}, EPOCHS, batch_size=1, validation=held_out, optimizer=optimizer)
    epochs = range(1, EPOCHS + 1)
    assert weights(done) == [3 - 4 * epoch for epoch in epochs]
    assert numbers(done, "train", "epoch_loss") == [28 - 16 * epoch for epoch in epochs]
    assert numbers(done, "train", "epoch_loss_uncertainty") == [0] * EPOCHS
    assert numbers(done, "validation", "loss") == [15 - 8 * epoch for epoch in epochs]
    assert numbers(done, "validation", "loss_uncertainty") == pytest.approx([0.5**0.5] * EPOCHS, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "physical"), [*paired([("sum", ADAMW), ("mean", ADAMW), ("mean", SGD)], [1, 2, 3, 6])]
)
def test_a_step_is_the_same_however_its_rows_are_parted(fit, kind, physical):
    loss, optimizer = kind
    done = fit(graph(loss), {"x": ROWS}, EPOCHS, batch_size=6, micro_batch_size=physical, optimizer=optimizer)
    parts = 6 if loss == "mean" else 1
    assert weights(done) == pytest.approx([2, 1, 0], abs=1e-6)
    assert numbers(done, "train", "epoch_loss") == pytest.approx([33 / parts, 27 / parts, 21 / parts], abs=1e-6)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_line_is_found_to_a_hundredth_by_a_hundred_epochs_of_adamw(fit, shuffle):
    """1.2 x + 3.4 at 201 points, with noise; from a = 1 and b = 3, all points a step."""
    x = np.linspace(-100, 100, 201, dtype=np.float32)
    noise = np.random.default_rng(12345).normal(0, 0.1, 201).astype(np.float32)
    line = {
        "inputs": {"x": ["batch"], "y": ["batch"]},
        "parameters": {
            "a": {"shape": [], "init": {"kind": "constant", "value": 1.0}},
            "b": {"shape": [], "init": {"kind": "constant", "value": 3.0}},
        },
        "program": "f = a * x + b\nloss = mean((f - y) ** 2)",
    }
    adamw = {"kind": "adamw", "lr": 0.1, "weight_decay": 0.0}
    rows = {"x": x, "y": 1.2 * x + 3.4 + noise}
    done = fit(line, rows, 100, batch_size=201, optimizer=adamw, shuffle=shuffle, checkpoint={"keep_last": 1})
    found = done.checkpoint("latest").load()
    assert (found["a"], found["b"]) == pytest.approx((1.2, 3.4), abs=1e-2)
