"""Fits of several processes: that these compute what one would, and stop, die and come back as one."""

import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest

import engine
from tests.support.workers import at_orders

from .conftest import PATIENCE, LastingRunner, Result, SupervisorHarness, all_end, opened, some_rows
from .test_supervised_processes import ENDLESS, NO_CHECKPOINTS, assert_same, pid_of

BATCH = 24
EVEN_ROWS = 10 * BATCH
STEPS = 200
# Shares of 7, 7 and 6 rows.
THREE: dict[str, Any] = {"resources": {"replicas": 3}, "batch_size": 20, "steps": STEPS}
# Running statistics are those of the parts in turn in one process, and their mean over several.
WITHOUT_STATISTICS = {
    "inputs": {"x": ["batch", 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 12, "activation": "relu"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
    "loss": {"kind": "cross_entropy", "target": "label"},
}


def pids_of(harness: SupervisorHarness, fit_id: str = "fit_1") -> list[int]:
    """Return the processes of a fit that has made a row, by rank."""
    first = pid_of(harness, fit_id)
    others = psutil.Process(first).children()
    return [first, *(other.pid for other in sorted(others, key=lambda process: (process.create_time(), process.pid)))]


@pytest.fixture(autouse=True)
def nobody_left(harness: SupervisorHarness, lasting_runner: LastingRunner) -> Iterator[None]:
    """Let a test end with no process but that which others are forked from, and one that waits for the next fit."""
    yield
    for supervisor in harness.supervisors:
        supervisor.drain()
    assert lasting_runner._server is not None
    root = psutil.Process(lasting_runner._server.pid)
    end = time.monotonic() + PATIENCE
    while left := at_orders(root):
        assert time.monotonic() < end, left
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed_by_three(tmp_path_factory: Any, empty_database: Any, lasting_runner: LastingRunner) -> Result:
    with opened(tmp_path_factory.mktemp("undisturbed_by_three"), empty_database, lasting_runner) as harness:
        harness.submit(**THREE)
        harness.supervisor()
        harness.until_state("succeeded")
        return Result(harness.rows(), harness.arrays())


@pytest.mark.parametrize("replicas", [2, 3])
def test_even_shares_come_to_the_bits_of_one_process_that_computes_them_in_turn(
    harness: SupervisorHarness, replicas: int
) -> None:
    harness.graph("graph_2", WITHOUT_STATISTICS)
    harness.dataset("ds_even", some_rows(seed=3, rows=EVEN_ROWS))
    plain = {"graph": "graph_2", "dataset": "ds_even", "batch_size": BATCH, "steps": 60, "validation": {}}
    harness.submit("fit_1", **plain, resources={"replicas": replicas})
    harness.submit("fit_2", **plain, micro_batch_size=BATCH // replicas)
    harness.submit("fit_3", **plain)
    harness.supervisor()
    for fit_id in ("fit_1", "fit_2", "fit_3"):
        harness.until_state("succeeded", fit_id)
    assert harness.rows("fit_1") == harness.rows("fit_2")
    assert harness.rows("fit_1") != harness.rows("fit_3"), "a batch was not shared out"
    arrays, expected = harness.arrays("fit_1"), harness.arrays("fit_2")
    assert [name for name, array in arrays.items() if name != "cursor" and array != expected[name]] == []


def test_the_loss_of_any_rank_costs_nothing_but_time(
    harness: SupervisorHarness, undisturbed_by_three: Result, lasting_runner: LastingRunner
) -> None:
    harness.submit(**THREE)
    with lasting_runner.gate.holding(40) as hold:
        harness.supervisor()
        for rank in range(3):
            harness.until_rows(40 + 40 * rank)
            pids = pids_of(harness)
            assert len(pids) == 3
            with all_end(pids, seconds=PATIENCE):
                os.kill(pids[rank], signal.SIGKILL)
            harness.until(lambda losses=rank + 1: harness.outcomes().count("killed") == losses)
            hold(80 + 40 * rank)
    harness.until_state("succeeded")
    assert harness.outcomes() == ["killed", "killed", "killed", "succeeded"]
    assert_same(harness, undisturbed_by_three)


def test_a_crash_of_a_follower_is_reported(harness: SupervisorHarness) -> None:
    harness.submit(**{**THREE, **ENDLESS}, attempts_max=1)
    harness.supervisor()
    harness.until_rows(20)
    os.kill(pids_of(harness)[1], signal.SIGSEGV)
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert "SIGSEGV" in fit.error["detail"]
    assert harness.outcomes() == ["error"]


def test_drained_ranks_go_on_at_the_next_start_to_the_same_bits(
    harness: SupervisorHarness, undisturbed_by_three: Result
) -> None:
    harness.submit(**THREE)
    first = harness.supervisor()
    with harness.at_row(40), all_end(pids_of(harness), seconds=PATIENCE):
        first.drain()
    assert harness.outcomes() == ["drained"]
    assert harness.checkpoints()[0].step == harness.fit().step < STEPS
    harness.supervisor()
    harness.until_state("succeeded")
    assert_same(harness, undisturbed_by_three)


def test_cancelled_ranks_leave_a_checkpoint_of_the_step_where_they_were(harness: SupervisorHarness) -> None:
    harness.submit(**{**THREE, **ENDLESS}, checkpoint=NO_CHECKPOINTS)
    harness.supervisor()
    harness.until_rows(20)
    with all_end(pids_of(harness), seconds=PATIENCE):
        harness.cancel()
        fit = harness.until_state("cancelled")
    (checkpoint,) = harness.checkpoints()
    assert checkpoint.step == fit.step == json.loads(harness.rows()[-1])["step"]


@pytest.mark.parametrize("rank", range(3))
def test_what_one_rank_alone_cannot_compute_fails_the_fit_with_the_engines_words(
    harness: SupervisorHarness, rank: int
) -> None:
    rows = some_rows(seed=1, rows=EVEN_ROWS)
    rows["label"][BATCH + rank * BATCH // 3] = 1000  # in the second step
    harness.dataset("ds_wrong", rows)
    harness.submit(dataset="ds_wrong", validation={}, shuffle=False, **{**THREE, "batch_size": BATCH})
    harness.supervisor()
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert "1000" in fit.error["detail"]
    assert harness.outcomes() == [fit.error["code"]]
    assert len(harness.rows()) == 1


def test_the_memory_of_all_ranks_is_counted(harness: SupervisorHarness) -> None:
    harness.submit(**{**THREE, **ENDLESS})
    supervisor = harness.supervisor()
    harness.until_rows(20)
    least = min(psutil.Process(pid).memory_info().rss for pid in pids_of(harness))
    (worker,) = supervisor.workers()
    assert worker.rss_bytes > 2.5 * least


def test_more_ranks_than_rows_of_a_batch_are_no_harm(harness: SupervisorHarness) -> None:
    harness.graph("graph_2", WITHOUT_STATISTICS)
    harness.submit(graph="graph_2", **{**THREE, "batch_size": 2, "steps": 95})
    harness.supervisor()
    fit = harness.until_state("succeeded")
    assert fit.step == 95
    parameters = engine.Checkpoint.load(harness.blobs.local_path(harness.checkpoints()[0].digest)).parameters
    assert all(np.isfinite(array).all() for array in parameters.values())
