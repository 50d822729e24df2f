"""A fit that has ended goes on: to the bit where it is only longer, by what has changed where something has."""

import math

import numpy as np
import pytest

import engine
from tests.extent import paired

pytestmark = pytest.mark.law

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((15, 3)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.5)
COLUMNS = {"x": X, "label": LABELS}
LAYERS = [
    {"layer": "linear", "units": 4, "activation": "tanh"},
    {"layer": "dropout", "p": 0.4},
    "batch_norm",
    {"layer": "linear", "units": 3},
]
GRAPH = {
    "inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}},
    "layers": LAYERS,
    "loss": "cross_entropy",
}
PLATEAU = {"kind": "reduce_on_plateau", "patience": 0, "threshold": 0.5, "factor": 0.5}
STEPS = 3
"""Of an epoch."""


def start(executor="numpy", **recipe):
    """Start a fit; an epoch has three steps."""
    recipe = {"batch_size": 4, "validation": {"split": 0.2}, "seed": 9, **recipe}
    return engine.Fit(
        engine.parse_graph(GRAPH), engine.read_recipe(recipe), COLUMNS, execution=engine.Execution(executor)
    )


def run(fit, steps=1000):
    """Run so many steps at most; return the rows as clients get them."""
    return [point.to_json() for _ in range(steps) if not fit.done for point in fit.advance()]


def arrays_of(checkpoint):
    """Every array of a checkpoint, as bytes."""
    tables = {"p": checkpoint.parameters, "b": checkpoint.buffers, "o": checkpoint.optimizer, "s": checkpoint.state}
    return {(table, name): array.tobytes() for table, arrays in tables.items() for name, array in arrays.items()}


def state(fit):
    """Every array of a fit, and where it stands."""
    snapshot = fit.snapshot()
    return arrays_of(snapshot), snapshot.cursor


def saved(fit, path):
    """Write a checkpoint and read it again."""
    fit.snapshot().save(path / "c.safetensors")
    return engine.Checkpoint.load(path / "c.safetensors")


def reopened(left, **recipe):
    """Start a fit that goes on from a checkpoint."""
    fit = start(**recipe)
    fit.restore(left, reopened=True)
    return fit


LONGER = {
    "plain": {},
    "momentum and half precision": {"optimizer": {"kind": "sgd", "momentum": 0.9}, "precision": "mixed_float16"},
    "cosine restarts": {"schedule": {"kind": "cosine_warm_restarts", "t_0": 2}},
    "plateau": {"schedule": PLATEAU},
    "average": {"average": {"kind": "ema", "decay": 0.7}},
    "best weights": {"early_stopping": {"patience": 50}, "optimizer": {"kind": "sgd", "lr": 3.0}},
    "best weights of an average": {"early_stopping": {"patience": 50}, "average": "swa"},
    "returns": {"optimizer": {"kind": "sgd", "lr": 1e30}, "divergence": {"action": "roll_back", "factor": 1e-32}},
    "rows of epochs": {"record": {"epochs": True, "every_steps": 3}, "metrics": ["accuracy"]},
    "freezing": {"freeze": [{"match": "linear_0.*", "first_epoch": 2, "last_epoch": 4}]},
}


@pytest.mark.parametrize(("name", "executor"), paired([*LONGER], [*engine.executors()]))
def test_a_fit_that_is_extended_by_epochs_is_one_that_had_them_from_the_start(name, executor, tmp_path):
    recipe = {"executor": executor, **LONGER[name]}
    whole, short = start(epochs=5, **recipe), start(epochs=3, **recipe)
    rows = run(whole)
    first = run(short)
    fit = reopened(saved(short, tmp_path), epochs=5, **recipe)
    assert (fit.done, fit.step) == (False, 3 * STEPS)
    assert first + run(fit) == rows
    assert state(fit) == state(whole)


@pytest.mark.parametrize("stop", [4, 5, 9])
def test_a_fit_that_is_extended_by_steps_within_an_epoch_is_one_that_had_them_from_the_start(stop, tmp_path):
    recipe = {"validation": {}, "checkpoint": {"every_epochs": None}, "metrics": ["accuracy"]}
    whole, short = start(steps=11, **recipe), start(steps=stop, **recipe)
    rows = run(whole)
    first = run(short)
    fit = reopened(saved(short, tmp_path), steps=11, **recipe)
    assert first + run(fit) == rows
    assert arrays_of(fit.snapshot()) == arrays_of(whole.snapshot())


def test_a_fit_that_was_interrupted_and_has_not_changed_goes_on_to_the_same_bits(tmp_path):
    for name, recipe in LONGER.items():
        whole, fit = start(epochs=4, **recipe), start(epochs=4, **recipe)
        rows = run(whole)
        first = run(fit, 7)
        fit = reopened(saved(fit, tmp_path), epochs=4, **recipe)
        assert first + run(fit) == rows, name
        assert state(fit) == state(whole), name


def test_reopening_twice_is_reopening_once(tmp_path):
    for name, recipe in LONGER.items():
        fit = start(epochs=3, **recipe)
        run(fit)
        once = reopened(saved(fit, tmp_path), epochs=5, **recipe)
        twice = reopened(saved(once, tmp_path), epochs=5, **recipe)
        assert state(twice) == state(once), name


GOES_ON = {"action": "continue"}
STOPS = {"kind": "sgd", "lr": 5.0}


def stopped_early(**recipe):
    """Run a fit that ends because nothing improves."""
    stopping = {"patience": 2, "min_delta": 10.0, **recipe.pop("early_stopping", {})}
    fit = start(epochs=50, optimizer=STOPS, divergence=GOES_ON, early_stopping=stopping, **recipe)
    run(fit)
    assert fit.stopped is not None
    assert fit.step < 50 * STEPS
    return fit


def test_a_fit_that_was_stopped_early_goes_on_and_waits_again(tmp_path):
    short = stopped_early()
    recipe = {"epochs": 50, "optimizer": STOPS, "early_stopping": {"patience": 2, "min_delta": 10.0}}
    fit = reopened(saved(short, tmp_path), **recipe)
    assert (fit.stopped, fit.done, fit.best) == (None, False, short.best)
    run(fit)
    assert fit.step == short.step + 2 * STEPS
    assert fit.stopped is not None


def test_it_goes_on_from_the_weights_of_its_last_step_and_ends_on_the_best_of_all(tmp_path):
    recipe = {"epochs": 50, "optimizer": STOPS}
    short = stopped_early()
    last = start(**recipe)
    run(last, short.step)
    checkpoint = saved(short, tmp_path)
    fit = reopened(checkpoint, **recipe, early_stopping={"patience": 2, "min_delta": 10.0})
    best = {name: array.tobytes() for name, array in short.model.parameters.items()}
    assert {n: a.tobytes() for n, a in fit.model.parameters.items()} != best
    assert {n: a.tobytes() for n, a in fit.model.parameters.items()} == {
        n: a.tobytes() for n, a in last.model.parameters.items()
    }
    run(fit)
    assert {n: a.tobytes() for n, a in fit.model.parameters.items()} == best


def test_without_reopening_a_fit_that_has_ended_stays_as_it_ended(tmp_path):
    short = stopped_early()
    again = start(epochs=50, optimizer=STOPS, early_stopping={"patience": 2, "min_delta": 10.0})
    again.restore(saved(short, tmp_path))
    assert again.done
    assert state(again) == state(short)


def test_best_weights_are_forgotten_where_they_are_no_longer_wanted(tmp_path):
    fit = reopened(saved(stopped_early(), tmp_path), epochs=50, optimizer=STOPS, divergence=GOES_ON)
    assert fit.best is not None
    while not fit.done:
        fit.advance()
        if fit.step == 20 * STEPS:
            before = {name: array.tobytes() for name, array in fit.model.parameters.items()}
            fit.stop("enough")
    assert {name: array.tobytes() for name, array in fit.model.parameters.items()} == before


@pytest.mark.parametrize(
    "stopping", [{"monitor": "val_accuracy"}, {"monitor": "loss", "restore_best": False}, {"monitor": "val_loss"}]
)
def test_the_search_for_the_best_starts_again_where_another_metric_is_monitored(stopping, tmp_path):
    short = start(epochs=3, metrics=["accuracy"], early_stopping={"monitor": "loss", "patience": 9})
    run(short)
    fit = reopened(saved(short, tmp_path), epochs=5, metrics=["accuracy"], early_stopping={"patience": 9, **stopping})
    if stopping["monitor"] == "loss":
        assert fit.best == short.best
        return
    assert fit.best is None
    run(fit)
    assert fit.best["metric"] == stopping["monitor"]
    assert fit.best["epoch"] > 3


def test_best_weights_are_looked_for_from_where_they_are_wanted(tmp_path):
    short = start(epochs=3)
    run(short)
    assert short.best is not None
    fit = reopened(saved(short, tmp_path), epochs=5, early_stopping={"patience": 9})
    assert fit.best is None
    run(fit)
    assert fit.snapshot().under("best/")


def rates(fit, steps=1):
    """The learning rates of the next steps."""
    return [fit.advance()[0].values["lr"] for _ in range(steps)]


def test_another_learning_rate_is_taken_up(tmp_path):
    short = start(epochs=2, optimizer={"kind": "adam", "lr": 0.01})
    run(short)
    checkpoint = saved(short, tmp_path)
    fit = reopened(checkpoint, epochs=4, optimizer={"kind": "adam", "lr": 0.002})
    assert rates(fit, 2) == [0.002] * 2
    assert fit.snapshot().optimizer["step/vector:float32"] == 2 * STEPS + 2
    decayed = {"kind": "exponential", "gamma": 0.5}
    assert rates(reopened(checkpoint, epochs=4, optimizer={"kind": "adam", "lr": 0.01}, schedule=decayed)) == [0.0025]


def test_a_learning_rate_that_was_reduced_starts_again_where_it_has_changed_and_else_goes_on(tmp_path):
    groups = [{"match": "linear_0.*", "lr": 0.2}]
    sgd = {"kind": "sgd", "lr": 0.1, "groups": groups}
    short = start(epochs=5, optimizer=sgd, schedule=PLATEAU)
    run(short)
    checkpoint = saved(short, tmp_path)
    now = short.advance() or reopened(checkpoint, epochs=8, optimizer=sgd, schedule=PLATEAU).advance()
    reduced, first = now[0].values["lr"], now[0].values["lr/0"]
    assert reduced < 0.1
    assert first == pytest.approx(2 * reduced)
    other = {**sgd, "groups": [{"match": "linear_0.*", "lr": 0.05}]}
    values = reopened(checkpoint, epochs=8, optimizer=other, schedule=PLATEAU).advance()[0].values
    assert (values["lr"], values["lr/0"]) == (reduced, 0.05)
    patient = {**PLATEAU, "patience": 7}
    values = reopened(checkpoint, epochs=8, optimizer=sgd, schedule=patient).advance()[0].values
    assert (values["lr"], values["lr/0"]) == (0.1, 0.2)
    assert rates(reopened(checkpoint, epochs=8, optimizer=sgd)) == [0.1]


def test_a_schedule_that_goes_by_a_metric_begins_where_it_is_asked_for(tmp_path):
    short = start(epochs=3, optimizer={"kind": "sgd", "lr": 0.1})
    run(short)
    fit = reopened(saved(short, tmp_path), epochs=9, optimizer={"kind": "sgd", "lr": 0.1}, schedule=PLATEAU)
    assert rates(fit) == [0.1]
    run(fit, 4 * STEPS)
    assert fit.advance()[0].values["lr"] < 0.1


RETURNS = {"action": "roll_back", "factor": 0.5, "limit": 3}
WILD = {"kind": "sgd", "lr": 1e30}


def test_a_fit_that_failed_to_converge_goes_on_at_another_rate(tmp_path):
    short = start(epochs=4, optimizer=WILD, divergence=RETURNS)
    run(short)
    assert short.failure is not None
    tame = {"kind": "sgd", "lr": 0.01}
    fit = reopened(saved(short, tmp_path), epochs=4, optimizer=tame, divergence=RETURNS)
    assert rates(fit) == [0.01]
    run(fit)
    assert fit.failure is None
    assert all(np.isfinite(array).all() for array in fit.model.parameters.values())
    same = reopened(saved(short, tmp_path), epochs=4, optimizer=WILD, divergence={**RETURNS, "limit": 2})
    row = same.advance()
    assert (math.isfinite(row[0].values["loss"]), same.failure) == (False, None)


def test_steps_that_are_left_out_are_counted_again_after_a_failure(tmp_path):
    skipping = {"optimizer": WILD, "divergence": {"action": "skip", "limit": 2}}
    short = start(epochs=9, **skipping)
    run(short)
    assert short.failure is not None
    fit = reopened(saved(short, tmp_path), epochs=9, **skipping)
    assert [fit.advance()[0].values["skipped"] for _ in range(2)] == [1.0, 1.0]
    assert fit.failure is None


def test_a_fit_that_may_go_back_from_now_on_goes_back_to_where_it_was_reopened(tmp_path):
    short = start(epochs=2, optimizer={"kind": "sgd", "lr": 0.01})
    run(short)
    fit = reopened(saved(short, tmp_path), epochs=4, optimizer=WILD, divergence=RETURNS)
    steps = [fit.advance()[0].step for _ in range(6)]
    assert steps == [2 * STEPS + 1, 2 * STEPS + 2] * 3
    assert fit.snapshot().cursor["anchor"]["step"] == 2 * STEPS


def test_a_fit_may_go_back_to_before_it_was_reopened_and_does_not_end_there(tmp_path):
    stopping = {"patience": 2, "min_delta": 10.0}
    short = start(epochs=9, optimizer={"kind": "sgd", "lr": 0.01}, divergence=RETURNS, early_stopping=stopping)
    run(short)
    assert short.stopped is not None
    fit = reopened(saved(short, tmp_path), epochs=9, optimizer=WILD, divergence=RETURNS, early_stopping=stopping)
    rows = [fit.advance()[0] for _ in range(4)]
    assert [row.step - short.step for row in rows] == [1, 2, 1, 2]
    assert [row.seq - short.seq for row in rows] == [1, 2, 3, 4]
    assert fit.stopped is None


def test_limits_on_gradients_and_noise_are_taken_up(tmp_path):
    short = start(epochs=2, optimizer={"kind": "sgd", "lr": 0.5})
    run(short)
    checkpoint = saved(short, tmp_path)
    moved = []
    for change in ({}, {"clip": {"norm": 1e-4}}, {"noise": {"eta": 10.0}}):
        fit = reopened(checkpoint, epochs=3, optimizer={"kind": "sgd", "lr": 0.5}, **change)
        before = fit.model.parameters["linear_0.weight"].copy()
        fit.advance()
        moved.append(np.abs(fit.model.parameters["linear_0.weight"] - before).sum())
    plain, clipped, noisy = moved
    assert clipped < 1e-3 < plain < noisy


def test_other_metrics_are_taken_up_in_the_middle_of_an_epoch(tmp_path):
    rows = {"record": {"epochs": True}}
    short = start(steps=4, metrics=["accuracy"], **rows)
    run(short)
    fit = reopened(saved(short, tmp_path), steps=6, metrics=["f1"], **rows)
    values = [point.values for _ in range(2) for point in fit.advance() if point.split == "train"]
    assert "f1" in values[0]
    assert "epoch_f1" in values[-1]
    assert "epoch_accuracy" not in values[-1]


def test_an_average_is_begun_or_left_where_it_is_asked_for(tmp_path):
    short = start(epochs=2, average="ema")
    run(short)
    without = reopened(saved(short, tmp_path), epochs=4)
    run(without)
    assert not without.snapshot().under("average/")
    begun = reopened(saved(without, tmp_path), epochs=6, average="ema")
    run(begun)
    assert begun.snapshot().under("average/")


def test_a_budget_that_was_spent_is_no_reason_to_end_once_it_is_greater(tmp_path):
    short = start(epochs=9, budget={"steps": 4})
    run(short)
    assert short.step == 4
    fit = reopened(saved(short, tmp_path), epochs=9, budget={"steps": 8})
    run(fit)
    assert fit.step == 8


def test_a_checkpoint_that_does_not_show_by_what_its_rates_came_goes_on_as_if_they_were_the_same(tmp_path):
    short = start(epochs=5, optimizer={"kind": "sgd", "lr": 0.1}, schedule=PLATEAU)
    run(short)
    checkpoint = saved(short, tmp_path)
    for name in ("rates", "metrics"):
        checkpoint.cursor.pop(name)
    fit = reopened(checkpoint, epochs=7, optimizer={"kind": "sgd", "lr": 0.1}, schedule=PLATEAU)
    assert rates(fit)[0] < 0.1


@pytest.mark.parametrize("damaged", [5, None, ["x"], [[]]])
def test_a_checkpoint_with_damaged_rates_begins_them_again(damaged, tmp_path):
    short = start(epochs=5, optimizer={"kind": "sgd", "lr": 0.1}, schedule=PLATEAU)
    run(short)
    checkpoint = saved(short, tmp_path)
    checkpoint.cursor["rates"] = damaged
    assert rates(reopened(checkpoint, epochs=7, optimizer={"kind": "sgd", "lr": 0.1}, schedule=PLATEAU)) == [0.1]


def test_a_fit_of_another_graph_is_not_reopened(tmp_path):
    short = start(epochs=1)
    checkpoint = saved(short, tmp_path)
    checkpoint.meta["graph"] = "sha256:0"
    with pytest.raises(engine.CheckpointError, match="another graph"):
        reopened(checkpoint, epochs=2)


def test_what_an_optimizer_keeps_must_be_there(tmp_path):
    short = start(epochs=1, optimizer={"kind": "sgd", "lr": 0.1})
    fit = start(epochs=2, optimizer={"kind": "sgd", "lr": 0.1, "momentum": 0.9})
    before = state(fit)
    with pytest.raises(engine.CheckpointError, match="optimizer state"):
        fit.restore(saved(short, tmp_path), reopened=True)
    assert state(fit) == before
