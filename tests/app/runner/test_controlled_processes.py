"""Real processes that are paused, killed, held to their time, stopped dead in their tracks, or forked from."""

import os
import signal
import threading
from dataclasses import asdict

import pytest

from app.domain.fit import FitState, Origin
from app.domain.records import CheckpointRecord
from tests.support.patience import PATIENCE

from .conftest import CLOCK, RECIPE, Result, SupervisorHarness, all_end
from .test_supervised_processes import ENDLESS, NO_CHECKPOINTS, assert_same, pid_of

LEASE = 4.0  # twice the time between signs of life


def test_a_fit_that_is_paused_and_resumed_comes_to_the_same_bits(
    harness: SupervisorHarness, undisturbed: Result
) -> None:
    harness.submit()
    harness.supervisor()
    for rows in (70, 160):
        with harness.at_row(rows):
            harness.until_state("running")
            harness.pause()
            fit = harness.until_state("paused")
        assert harness.checkpoints()[0].step == fit.step
        assert fit.seconds > 0.0
        harness.want("queued")
        harness.supervisors[-1].wake()
    harness.until_state("succeeded")
    assert harness.outcomes() == ["drained", "drained", "succeeded"]
    assert_same(harness, undisturbed)


def test_a_killed_fit_leaves_its_worker_to_the_next_and_can_go_on(
    harness: SupervisorHarness, undisturbed: Result
) -> None:
    harness.submit()
    harness.submit("fit_2")
    harness.supervisor(workers=1)
    with harness.at_row(160), all_end([pid_of(harness)], seconds=PATIENCE):
        harness.kill()
    assert harness.fit().state == "cancelled"
    harness.until_state("succeeded", "fit_2")
    harness.want("queued")
    harness.supervisors[-1].wake()
    harness.until_state("succeeded")
    assert harness.outcomes() == ["killed_by_client", "succeeded"]
    assert_same(harness, undisturbed)


def test_a_fit_whose_time_is_up_ends_with_a_checkpoint(harness: SupervisorHarness) -> None:
    harness.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS, resources={"timeout_seconds": 0.5})
    harness.supervisor()
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "timeout"
    assert harness.outcomes() == ["timeout"]
    # On a slow machine the time may be up before the first step.
    assert [checkpoint.step for checkpoint in harness.checkpoints()] == [fit.step] * (fit.step > 0)


def test_a_process_that_stands_still_is_replaced_at_no_cost_but_time(
    harness: SupervisorHarness, undisturbed: Result
) -> None:
    harness.submit()
    harness.supervisor(lease_seconds=LEASE)
    with harness.at_row(70), all_end([stopped := pid_of(harness)], seconds=PATIENCE):
        os.kill(stopped, signal.SIGSTOP)
    harness.until_state("succeeded")
    assert harness.outcomes() == ["stalled", "succeeded"]
    assert_same(harness, undisturbed)


def test_checkpoints_by_the_clock_cost_no_bits(harness: SupervisorHarness, undisturbed: Result) -> None:
    recipe = {**RECIPE, "checkpoint": {**RECIPE["checkpoint"], "every_steps": None}}
    harness.submit(**recipe)
    harness.supervisor(checkpoint_seconds=0.1)
    harness.until_state("succeeded")
    assert_same(harness, undisturbed)


@pytest.mark.parametrize("requests", [("pause", "cancel"), ("cancel", "kill"), ("pause", "kill"), ("cancel",) * 3])
def test_whatever_is_wanted_at_once_a_fit_ends_once(harness: SupervisorHarness, requests: tuple[str, ...]) -> None:
    harness.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS)
    harness.supervisor()
    harness.until_rows(5)
    # While the lock is held the fit does not get as far as what is requested first.
    with all_end([pid_of(harness)], seconds=PATIENCE), harness.store._database.lock:
        for stop_request in dict.fromkeys(requests):
            getattr(harness, stop_request)()
    harness.until_state("cancelled")
    assert harness.events("end") == [{"state": "cancelled"}]
    assert len(harness.outcomes()) == 1


def test_a_fork_makes_the_rows_that_its_origin_made(harness: SupervisorHarness, undisturbed: Result) -> None:
    harness.submit()
    harness.supervisor()
    harness.until_state("succeeded")
    origin = min(harness.checkpoints(), key=lambda checkpoint: checkpoint.step)
    harness.submit("fit_2", FitState.PAUSED)
    copy = CheckpointRecord(
        "ckpt_copy",
        "fit_2",
        origin.graph_id,
        origin.step,
        origin.epoch,
        origin.digest,
        origin.size_bytes,
        {},
        CLOCK.now(),
        is_best=False,
        deleted=False,
    )
    forked_from = Origin(origin.id, "fit_1", origin.step, origin.digest, "all", copy.id)
    with harness.store.begin() as work:
        work.checkpoints.add(copy)
        paused = work.fits.get("fit_2")
        work.fits.update(paused.to(FitState.QUEUED, origin=asdict(forked_from), step=origin.step))
    harness.supervisors[-1].wake()
    fit = harness.until_state("succeeded", "fit_2")
    assert (fit.step, fit.bit_exact) == (RECIPE["steps"], True)

    def bare(rows: list[str]) -> list[str]:
        return [row.partition(',"step"')[2] for row in rows]

    assert bare(harness.rows("fit_2")) == bare(undisturbed.rows)[-len(harness.rows("fit_2")) :]
    assert parameters(harness.arrays("fit_2")) == parameters(undisturbed.arrays)


def parameters(arrays: dict[str, bytes]) -> dict[str, bytes]:
    return {name: array for name, array in arrays.items() if name != "cursor"}


def test_clients_may_call_from_any_thread(harness: SupervisorHarness) -> None:
    harness.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS)
    supervisor = harness.supervisor()
    harness.until_rows(5)
    harness.want("pausing")
    calls = [supervisor.pause, supervisor.cancel, supervisor.kill] * 4
    threads = [threading.Thread(target=call, args=("fit_1",)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    harness.until_state("paused")
    assert harness.states()[-2:] == ["pausing", "paused"]
