"""A fit that begins at a checkpoint of another: with everything, to the bit, or with its parameters alone."""

import json

import numpy as np
import pytest

import engine
from tests.extent import paired

pytestmark = pytest.mark.law

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((15, 3)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.5)


def network(dropout=0.4, units=4, loss="cross_entropy"):
    """A small classifier."""
    layers = [
        {"layer": "linear", "units": units, "activation": "tanh"},
        {"layer": "dropout", "p": dropout},
        "batch_norm",
        {"layer": "linear", "units": 3},
    ]
    return {"inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}}, "layers": layers, "loss": loss}


def start(document=None, rows=15, **recipe):
    """Start a fit of four epochs; an epoch has three steps."""
    recipe = {"epochs": 4, "batch_size": 4, "validation": {"split": 0.2}, "seed": 9, **recipe}
    definition = engine.parse_graph(document or network())
    return engine.Fit(definition, engine.read_recipe(recipe), {"x": X[:rows], "label": LABELS[:rows]})


def run(fit, steps=1000):
    """Run so many steps at most; return the rows."""
    return [json.loads(point.to_json()) for _ in range(steps) if not fit.done for point in fit.advance()]


def renumbered(rows):
    """Return rows counted from 1."""
    return [{**row, "seq": place} for place, row in enumerate(rows, start=1)]


def arrays_of(fit):
    """Every array of a fit, as bytes."""
    snapshot = fit.snapshot()
    tables = {"p": snapshot.parameters, "b": snapshot.buffers, "o": snapshot.optimizer, "s": snapshot.state}
    return {(table, name): array.tobytes() for table, arrays in tables.items() for name, array in arrays.items()}


def parameters_of(fit):
    """Parameters and running statistics, as bytes."""
    return {name: array.tobytes() for name, array in {**fit.model.parameters, **fit.model.buffers}.items()}


def saved(fit, path):
    """Write a checkpoint and read it again."""
    fit.snapshot().save(path / "c.safetensors")
    return engine.Checkpoint.load(path / "c.safetensors")


SAME = {
    "plain": {},
    "momentum and half precision": {"optimizer": {"kind": "sgd", "momentum": 0.9}, "precision": "mixed_float16"},
    "plateau": {"schedule": {"kind": "reduce_on_plateau", "patience": 0, "threshold": 0.5}},
    "average": {"average": "ema"},
    "best weights": {"early_stopping": {"patience": 50}, "optimizer": {"kind": "sgd", "lr": 3.0}},
    "returns": {"optimizer": {"kind": "sgd", "lr": 1e30}, "divergence": {"action": "roll_back", "factor": 1e-32}},
    "rows of epochs": {"record": {"epochs": True}, "metrics": ["accuracy"]},
    "parts": {"micro_batch_size": 2},
}


@pytest.mark.parametrize(("name", "steps"), paired([*SAME], [5, 6]))
def test_a_fork_of_everything_goes_on_to_the_bits_of_the_original(steps, name, tmp_path):
    whole, fit, fork = (start(**SAME[name]) for _ in range(3))
    rows = run(whole)
    first = run(fit, steps)
    fork.fork(saved(fit, tmp_path))
    assert (fork.step, fork.seq) == (fit.step, 0)
    assert run(fork) == renumbered(rows[len(first) :])
    assert arrays_of(fork) == arrays_of(whole)
    assert (fork.best, fork.latest) == (whole.best, whole.latest)


def test_a_fork_that_was_begun_is_resumed_to_the_bit(tmp_path):
    whole, fit, fork, resumed = (start() for _ in range(4))
    run(whole)
    run(fit, 4)
    fork.fork(saved(fit, tmp_path), restore="all")
    first = run(fork, 3)
    resumed.restore(saved(fork, tmp_path))
    rest = run(resumed)
    assert [row["seq"] for row in first + rest] == list(range(1, len(first + rest) + 1))
    assert arrays_of(resumed) == arrays_of(whole)


def test_a_fork_goes_on_by_its_own_hyperparameters_from_where_the_original_had_ended(tmp_path):
    original = start(budget={"seconds": 1e-9}, optimizer={"kind": "adam", "lr": 0.01})
    run(original)
    assert original.stopped is not None
    fork = start(epochs=6, budget={"seconds": 3600.0}, optimizer={"kind": "adam", "lr": 0.002}, clip={"norm": 0.1})
    fork.fork(saved(original, tmp_path))
    rows = run(fork)
    assert (fork.step, fork.stopped) == (18, None)
    assert {row["values"]["lr"] for row in rows if row["split"] == "train"} == {0.002}


def test_a_fork_spends_seconds_of_its_own(tmp_path):
    original = start(budget={"seconds": 3600.0})
    run(original, 4)
    fork = start(budget={"seconds": 3600.0})
    fork.fork(saved(original, tmp_path))
    assert original.snapshot().cursor["seconds"] != fork.snapshot().cursor["seconds"] == (0.0).hex()


OTHERS = {
    "the same": {},
    "another optimizer": {"optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9}},
    "another batch size": {"batch_size": 5},
    "another seed": {"seed": 1},
    "other rows": {"rows": 10},
    "another dropout": {"document": network(dropout=0.1)},
    "other numbers": {"precision": "float64"},
    "an average": {"average": "ema"},
    "a way back": {"divergence": {"action": "roll_back"}},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_fork_of_parameters_starts_again_with_them(name, tmp_path):
    original = start()
    run(original, 7)
    fork = start(**OTHERS[name])
    fork.fork(saved(original, tmp_path), restore="parameters")
    assert (fork.step, fork.seq, fork.epoch, fork.best) == (0, 0, 0, None)
    for taken, given in (
        (fork.model.parameters, original.model.parameters),
        (fork.model.buffers, original.model.buffers),
    ):
        assert all(np.array_equal(taken[parameter], array) for parameter, array in given.items())
    assert not any(array.any() for array in fork.snapshot().optimizer.values())
    rows = run(fork)
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert fork.step == fork.total_steps


def test_a_fork_of_parameters_that_goes_back_goes_back_to_them(tmp_path):
    original = start()
    run(original, 7)
    fork = start(optimizer={"kind": "sgd", "lr": 1e30}, divergence={"action": "roll_back", "factor": 1e-36})
    fork.fork(saved(original, tmp_path), restore="parameters")
    steps = [row["step"] for row in run(fork, 3)]
    assert steps == [1, 2, 1]
    for parameter, array in original.model.parameters.items():
        np.testing.assert_allclose(fork.model.parameters[parameter], array, atol=1e-3)


def test_a_fork_of_parameters_of_a_fit_that_ended_on_its_best_weights_takes_those(tmp_path):
    original = start(early_stopping={"patience": 50}, optimizer={"kind": "sgd", "lr": 3.0})
    run(original)
    assert original.best["step"] < original.step
    fork = start()
    fork.fork(saved(original, tmp_path), restore="parameters")
    assert parameters_of(fork) == parameters_of(original)


@pytest.mark.parametrize(
    ("restore", "document", "recipe", "message"),
    [
        ("all", network(dropout=0.1), {}, "another graph"),
        ("all", None, {"class_weights": [1.0, 2.0, 1.0]}, "another graph"),
        ("all", None, {"seed": 1}, "another seed"),
        ("all", None, {"optimizer": {"kind": "sgd", "momentum": 0.9}}, "optimizer state"),
        ("parameters", network(units=5), {}, "shape"),
        ("parameters", {**network(), "layers": [{"layer": "linear", "units": 3, "name": "head"}]}, {}, "no parameter"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(restore, document, recipe, message, tmp_path):
    original = start()
    run(original, 4)
    fork = start(document, **recipe)
    before = arrays_of(fork)
    with pytest.raises(engine.CheckpointError, match=message):
        fork.fork(saved(original, tmp_path), restore=restore)
    assert (arrays_of(fork), fork.step) == (before, 0)
