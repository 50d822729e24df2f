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

from .conftest import PATIENCE, LastingRunner, Result, Workshop, all_end, opened, some_rows
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


def pids_of(workshop: Workshop, fit_id: str = "fit_1") -> list[int]:
    """Return the processes of a fit that has made a row, by rank."""
    first = pid_of(workshop, fit_id)
    others = psutil.Process(first).children()
    return [first, *(other.pid for other in sorted(others, key=lambda process: (process.create_time(), process.pid)))]


@pytest.fixture(autouse=True)
def nobody_left(workshop: Workshop, lasting_runner: LastingRunner) -> Iterator[None]:
    """Let a test end with no process but that which others are forked from."""
    yield
    for supervisor in workshop.supervisors:
        supervisor.drain()
    assert lasting_runner._server is not None
    root = psutil.Process(lasting_runner._server.pid)
    end = time.monotonic() + PATIENCE
    while left := root.children(recursive=True):
        assert time.monotonic() < end, left
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed_by_three(tmp_path_factory: Any, empty_database: Any, lasting_runner: LastingRunner) -> Result:
    with opened(tmp_path_factory.mktemp("undisturbed_by_three"), empty_database, lasting_runner) as shop:
        shop.submit(**THREE)
        shop.supervisor()
        shop.until_state("succeeded")
        return Result(shop.rows(), shop.arrays())


@pytest.mark.parametrize("replicas", [2, 3])
def test_even_shares_come_to_the_bits_of_one_process_that_computes_them_in_turn(
    workshop: Workshop, replicas: int
) -> None:
    workshop.graph("graph_2", WITHOUT_STATISTICS)
    workshop.dataset("ds_even", some_rows(seed=3, rows=EVEN_ROWS))
    plain = {"graph": "graph_2", "dataset": "ds_even", "batch_size": BATCH, "steps": 60, "validation": {}}
    workshop.submit("fit_1", **plain, resources={"replicas": replicas})
    workshop.submit("fit_2", **plain, micro_batch_size=BATCH // replicas)
    workshop.submit("fit_3", **plain)
    workshop.supervisor()
    for fit_id in ("fit_1", "fit_2", "fit_3"):
        workshop.until_state("succeeded", fit_id)
    assert workshop.rows("fit_1") == workshop.rows("fit_2")
    assert workshop.rows("fit_1") != workshop.rows("fit_3"), "a batch was not shared out"
    arrays, expected = workshop.arrays("fit_1"), workshop.arrays("fit_2")
    assert [name for name, array in arrays.items() if name != "cursor" and array != expected[name]] == []


def test_the_loss_of_any_rank_costs_nothing_but_time(
    workshop: Workshop, undisturbed_by_three: Result, lasting_runner: LastingRunner
) -> None:
    workshop.submit(**THREE)
    with lasting_runner.gate.holding(40) as hold:
        workshop.supervisor()
        for rank in range(3):
            workshop.until_rows(40 + 40 * rank)
            pids = pids_of(workshop)
            assert len(pids) == 3
            hold(80 + 40 * rank)
            with all_end(pids, seconds=PATIENCE):
                os.kill(pids[rank], signal.SIGKILL)
            workshop.until(lambda losses=rank + 1: workshop.outcomes().count("killed") == losses)
    workshop.until_state("succeeded")
    assert workshop.outcomes() == ["killed", "killed", "killed", "succeeded"]
    assert_same(workshop, undisturbed_by_three)


def test_a_crash_of_a_follower_is_told_as_such(workshop: Workshop) -> None:
    workshop.submit(**{**THREE, **ENDLESS}, attempts_max=1)
    workshop.supervisor()
    workshop.until_rows(20)
    os.kill(pids_of(workshop)[1], signal.SIGSEGV)
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert "SIGSEGV" in fit.error["detail"]
    assert workshop.outcomes() == ["error"]


def test_drained_ranks_go_on_at_the_next_start_to_the_same_bits(
    workshop: Workshop, undisturbed_by_three: Result
) -> None:
    workshop.submit(**THREE)
    first = workshop.supervisor()
    with workshop.at_row(40), all_end(pids_of(workshop), seconds=PATIENCE):
        first.drain()
    assert workshop.outcomes() == ["drained"]
    assert workshop.checkpoints()[0].step == workshop.fit().step < STEPS
    workshop.supervisor()
    workshop.until_state("succeeded")
    assert_same(workshop, undisturbed_by_three)


def test_cancelled_ranks_leave_a_checkpoint_of_the_step_where_they_were(workshop: Workshop) -> None:
    workshop.submit(**{**THREE, **ENDLESS}, checkpoint=NO_CHECKPOINTS)
    workshop.supervisor()
    workshop.until_rows(20)
    with all_end(pids_of(workshop), seconds=PATIENCE):
        workshop.cancel()
        fit = workshop.until_state("cancelled")
    (checkpoint,) = workshop.checkpoints()
    assert checkpoint.step == fit.step == json.loads(workshop.rows()[-1])["step"]


@pytest.mark.parametrize("rank", range(3))
def test_what_one_rank_alone_cannot_compute_fails_the_fit_with_the_engines_words(workshop: Workshop, rank: int) -> None:
    rows = some_rows(seed=1, rows=EVEN_ROWS)
    rows["label"][BATCH + rank * BATCH // 3] = 1000  # in the second step
    workshop.dataset("ds_wrong", rows)
    workshop.submit(dataset="ds_wrong", validation={}, shuffle=False, **{**THREE, "batch_size": BATCH})
    workshop.supervisor()
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert "1000" in fit.error["detail"]
    assert workshop.outcomes() == [fit.error["code"]]
    assert len(workshop.rows()) == 1


def test_the_memory_of_all_ranks_is_counted(workshop: Workshop) -> None:
    workshop.submit(**{**THREE, **ENDLESS})
    supervisor = workshop.supervisor()
    workshop.until_rows(20)
    least = min(psutil.Process(pid).memory_info().rss for pid in pids_of(workshop))
    (worker,) = supervisor.workers()
    assert worker.rss_bytes > 2.5 * least


def test_more_ranks_than_rows_of_a_batch_are_no_harm(workshop: Workshop) -> None:
    workshop.graph("graph_2", WITHOUT_STATISTICS)
    workshop.submit(graph="graph_2", **{**THREE, "batch_size": 2, "steps": 95})
    workshop.supervisor()
    fit = workshop.until_state("succeeded")
    assert fit.step == 95
    parameters = engine.Checkpoint.load(workshop.blobs.local_path(workshop.checkpoints()[0].digest)).parameters
    assert all(np.isfinite(array).all() for array in parameters.values())
