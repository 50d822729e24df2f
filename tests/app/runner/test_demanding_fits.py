"""How fits end before their last step, and that those with much to remember survive all that may happen to them."""

import itertools
import json
import os
import signal
from typing import Any

import numpy as np
import pytest

import engine
from tests.app.demanding_fits import DEMANDING, REGRESSION, too_long_after
from tests.extent import FULL, paired

from .conftest import SLOW_SECONDS, SupervisorHarness
from .test_supervised_processes import ENDLESS, NO_CHECKPOINTS, pid_of

# Processes, and what is to happen within the steps.
FITS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("early_stopping", 1, {"early_stopping": {"patience": 100, "restore_best": True}}),
    ("average_of_windows", 2, {}),
    ("skipping", 1, {}),
    ("rolling_back", 1, {"schedule": too_long_after(4)}),
    ("of_float16", 1, {}),
)
FURTHER: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("average_of_windows", 1, {}),
    ("rolling_back", 2, {"schedule": too_long_after(4)}),
)
STEPS = 150
KILLED_AT, STOPPED_AT = 50, 100
TOO_LONG = {"optimizer": {"kind": "sgd", "lr": 100.0}}


def parameters(harness: SupervisorHarness, digest: str) -> dict[str, Any]:
    checkpoint = engine.Checkpoint.load(harness.blobs.local_path(digest))
    return {**checkpoint.parameters, **checkpoint.buffers}


@pytest.mark.parametrize(("name", "replicas", "changes"), (*FITS, *FURTHER) if FULL else FITS)
def test_a_fit_with_much_to_remember_survives_a_kill_and_a_stop_of_the_server(
    harness: SupervisorHarness, name: str, replicas: int, changes: dict[str, Any]
) -> None:
    demanding = DEMANDING[name]
    harness.graph("graph_2", demanding.graph)
    recipe = {"validation": {}, "steps": STEPS, **demanding.recipe, **changes}
    recipe.update(checkpoint={"every_steps": 20, "every_epochs": None}, resources={"replicas": replicas})
    for fit_id in ("fit_1", "fit_2"):
        harness.submit(fit_id, graph="graph_2", **recipe)
    every = recipe.get("record", {}).get("every_steps", 1)
    with harness.gate.holding(KILLED_AT) as hold:
        first = harness.supervisor()
        harness.until_rows(KILLED_AT // every)
        os.kill(pid_of(harness), signal.SIGKILL)
        harness.until(lambda: harness.outcomes() != [None])
        hold(STOPPED_AT)
        harness.until_rows(STOPPED_AT // every)
        with harness.gate.slowing(SLOW_SECONDS):
            first.drain()
    harness.supervisor()
    for fit_id in ("fit_1", "fit_2"):
        harness.until_state("succeeded", fit_id)
    assert harness.outcomes("fit_1") == ["killed", "drained", "succeeded"]
    assert harness.rows("fit_1") == harness.rows("fit_2")
    assert harness.arrays("fit_1") == harness.arrays("fit_2")


def test_a_fit_that_stops_improving_ends_on_its_best_weights(harness: SupervisorHarness) -> None:
    demanding = DEMANDING["early_stopping"]
    harness.graph("graph_2", demanding.graph)
    harness.submit(
        graph="graph_2", **demanding.recipe, checkpoint={**NO_CHECKPOINTS, "keep_best": True, "keep_last": 1}
    )
    harness.supervisor()
    fit = harness.until_state("succeeded")
    assert fit.best is not None
    assert fit.best["metric"] == "val_loss"
    assert fit.best["step"] < fit.step < fit.total_steps
    last, best = harness.checkpoints()
    assert (last.step, best.step, best.is_best) == (fit.step, fit.best["step"], True)
    best_weights = parameters(harness, best.digest)
    for learned, array in parameters(harness, last.digest).items():
        np.testing.assert_array_equal(array, best_weights[learned])
    (entry,) = harness.events("log")
    assert entry["text"].startswith("val_loss has not improved")


def test_a_fit_that_diverges_is_failed_at_that_step_with_all_rows_before(harness: SupervisorHarness) -> None:
    harness.graph("graph_2", REGRESSION)
    checkpoints = {"every_steps": 4, "every_epochs": None}
    harness.submit(graph="graph_2", validation={}, divergence={"action": "stop"}, checkpoint=checkpoints, **TOO_LONG)
    harness.supervisor()
    fit = harness.until_state("failed")
    rows = [json.loads(row) for row in harness.rows()]
    assert fit.error is not None
    assert fit.error["code"] == "numerics_nonfinite"
    assert f"step {rows[-1]['step']} " in fit.error["detail"]
    assert [row["step"] for row in rows] == [*range(1, fit.step + 1)]
    assert [bool(row["nonfinite"]) for row in rows] == [False] * (fit.step - 1) + [True]
    assert harness.checkpoints()[0].step == (fit.step - 1) // 4 * 4
    assert harness.outcomes() == ["numerics_nonfinite"]


def test_a_fit_that_always_diverges_gives_up_going_back(harness: SupervisorHarness) -> None:
    harness.graph("graph_2", REGRESSION)
    action = {"action": "roll_back", "factor": 0.9, "limit": 3}
    harness.submit(graph="graph_2", validation={}, divergence=action, **TOO_LONG)
    harness.supervisor()
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "numerics_nonfinite"
    assert "gone back 3 times" in fit.error["detail"]
    steps = [json.loads(row)["step"] for row in harness.rows()]
    assert sum(after <= before for before, after in itertools.pairwise(steps)) == 3


BUDGETS: dict[str, dict[str, Any]] = {"30 steps": {"steps": 30}, "0.3 seconds": {"seconds": 0.3}}


@pytest.mark.parametrize(("words", "replicas"), paired([*BUDGETS], [1, 2]))
def test_a_fit_ends_well_when_its_budget_is_spent(harness: SupervisorHarness, words: str, replicas: int) -> None:
    budget = BUDGETS[words]
    harness.submit(budget=budget, resources={"replicas": replicas}, **ENDLESS, batch_size=20)
    harness.supervisor()
    fit = harness.until_state("succeeded")
    assert fit.step == budget.get("steps", fit.step) == harness.checkpoints()[0].step
    (entry,) = harness.events("log")
    assert entry["text"] == f"the budget of {words} is spent"


def test_the_seconds_of_all_attempts_count(harness: SupervisorHarness) -> None:
    harness.submit(budget={"seconds": 1.0}, **ENDLESS)
    first = harness.supervisor()
    harness.until_rows(40)
    first.drain()
    path = harness.blobs.local_path(harness.checkpoints()[0].digest)
    assert 0 < float.fromhex(engine.Checkpoint.load(path).cursor["seconds"]) < 1.0
    harness.supervisor()
    fit = harness.until_state("succeeded")
    assert harness.outcomes() == ["drained", "succeeded"]
    path = harness.blobs.local_path(harness.checkpoints()[0].digest)
    cursor = engine.Checkpoint.load(path).cursor
    assert cursor["step"] == fit.step
    assert float.fromhex(cursor["seconds"]) >= 1.0
