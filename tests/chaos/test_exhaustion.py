"""Fits that run out of memory or of numbers fail alone, and say why."""

from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import engine
from tests.chaos import invariants
from tests.chaos.driver import Driver
from tests.chaos.workload import endless_request, fit_request

ROUTES = ("", "/metrics", "/checkpoints", "/metrics?format=csv", "/metrics?format=ndjson")
# Each checkpoint takes copies of this matrix, which is too large for a place that was freed before to be used again.
HEAVY: dict[str, Any] = {
    "inputs": {"x": ["batch", 6]},
    "parameters": {"w": {"shape": [6, 4_000_000], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}


def test_a_process_that_finds_no_memory_takes_nobody_with_it(driver: Driver) -> None:
    saved = {"every_steps": 20, "every_epochs": None}
    heavy = driver.submit("heavy", endless_request(graph=HEAVY, batch_size=2, feeds={"x": "x"}, checkpoint=saved))
    beside = driver.submit("beside", fit_request(300))
    driver.until_rows(heavy, 1)
    # A checkpoint copies 96 MB, more than a worker gives back of what it took to start.
    worker = psutil.Process(driver.worker_of(heavy))
    most = worker.memory_info().vms
    worker.rlimit(psutil.RLIMIT_AS, (most, most))
    fit = driver.until_state(heavy, "failed")
    assert fit["error"]["code"] == "out_of_memory", fit["error"]
    assert driver.until_state(beside, "succeeded")["attempt"] == 1


@pytest.mark.parametrize(("action", "state"), [("stop", "failed"), ("continue", "succeeded")])
def test_a_fit_that_diverges_ends_by_its_policy_and_can_be_looked_at(
    driver: Driver, action: str, state: str, tmp_path: Path
) -> None:
    rates = {"kind": "multi_step", "milestones": [2], "gamma": 1e30}
    request = fit_request(
        60,
        graph={**HEAVY, "parameters": {"w": {"shape": [6], "init": {"kind": "zeros"}}}},
        feeds={"x": "x"},
        schedule=rates,
        divergence={"action": action},
        checkpoint={"every_steps": 5, "every_epochs": None, "keep_last": 100},
    )
    fit_id = driver.submit(f"diverging-{action}", request)
    fit = driver.until_state(fit_id, "failed", "succeeded")
    assert fit["state"] == state, fit["error"]
    assert action == "continue" or fit["error"]["code"] == "numerics_nonfinite"
    for route in ROUTES:
        assert driver.answered("GET", f"/v1/fits/{fit_id}{route}").status_code == 200
    observed = driver.observe(fit_id)
    invariants.rows_are_gap_free(observed.rows)
    invariants.every_listed_checkpoint_loads(observed, tmp_path)
    last = [row for row in observed.rows if row["split"] == "train"][-1]
    assert {"nan", "inf"} >= set(last["nonfinite"].values()) != set()
    finite = [each for each in observed.checkpoints if np.isfinite(weights(tmp_path / each["digest"])).all()]
    assert finite, "no checkpoint is left from before"


def weights(path: Path) -> Any:
    return engine.Checkpoint.load(path).parameters["w"]
