"""Real processes that are paused, killed, held to their time, stopped dead in their tracks, or forked from."""

import os
import signal
import threading
from dataclasses import asdict

import pytest

from app.domain.fit import FitState, Origin
from app.domain.records import CheckpointRecord
from tests.support.patience import PATIENCE

from .conftest import CLOCK, RECIPE, Result, Workshop, all_end
from .test_supervised_processes import ENDLESS, NO_CHECKPOINTS, assert_same, pid_of

LEASE = 4.0  # twice the time between signs of life


def test_a_fit_that_is_paused_and_resumed_comes_to_the_same_bits(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    workshop.supervisor()
    for rows in (70, 160):
        with workshop.at_row(rows):
            workshop.until_state("running")
            workshop.pause()
            fit = workshop.until_state("paused")
        assert workshop.checkpoints()[0].step == fit.step
        assert fit.seconds > 0.0
        workshop.want("queued")
        workshop.supervisors[-1].wake()
    workshop.until_state("succeeded")
    assert workshop.outcomes() == ["drained", "drained", "succeeded"]
    assert_same(workshop, undisturbed)


def test_a_killed_fit_leaves_its_worker_to_the_next_and_can_go_on(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    workshop.submit("fit_2")
    workshop.supervisor(workers=1)
    with workshop.at_row(160), all_end([pid_of(workshop)], seconds=PATIENCE):
        workshop.kill()
    assert workshop.fit().state == "cancelled"
    workshop.until_state("succeeded", "fit_2")
    workshop.want("queued")
    workshop.supervisors[-1].wake()
    workshop.until_state("succeeded")
    assert workshop.outcomes() == ["killed_by_client", "succeeded"]
    assert_same(workshop, undisturbed)


def test_a_fit_whose_time_is_up_ends_with_a_checkpoint(workshop: Workshop) -> None:
    workshop.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS, resources={"timeout_seconds": 0.5})
    workshop.supervisor()
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "timeout"
    assert workshop.outcomes() == ["timeout"]
    assert [checkpoint.step for checkpoint in workshop.checkpoints()] == [fit.step]


def test_a_process_that_stands_still_is_replaced_at_no_cost_but_time(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    workshop.supervisor(lease_seconds=LEASE)
    with workshop.at_row(70), all_end([stopped := pid_of(workshop)], seconds=PATIENCE):
        os.kill(stopped, signal.SIGSTOP)
    workshop.until_state("succeeded")
    assert workshop.outcomes() == ["stalled", "succeeded"]
    assert_same(workshop, undisturbed)


def test_checkpoints_by_the_clock_cost_no_bits(workshop: Workshop, undisturbed: Result) -> None:
    recipe = {**RECIPE, "checkpoint": {**RECIPE["checkpoint"], "every_steps": None}}
    workshop.submit(**recipe)
    workshop.supervisor(checkpoint_seconds=0.1)
    workshop.until_state("succeeded")
    assert_same(workshop, undisturbed)


@pytest.mark.parametrize("wishes", [("pause", "cancel"), ("cancel", "kill"), ("pause", "kill"), ("cancel",) * 3])
def test_whatever_is_wanted_at_once_a_fit_ends_once(workshop: Workshop, wishes: tuple[str, ...]) -> None:
    workshop.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS)
    workshop.supervisor()
    workshop.until_rows(5)
    # While the lock is held the fit does not get as far as what is wished first.
    with all_end([pid_of(workshop)], seconds=PATIENCE), workshop.store._database.lock:
        for wish in dict.fromkeys(wishes):
            getattr(workshop, wish)()
    workshop.until_state("cancelled")
    assert workshop.events("end") == [{"state": "cancelled"}]
    assert len(workshop.outcomes()) == 1


def test_a_fork_makes_the_rows_that_its_origin_made(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    workshop.supervisor()
    workshop.until_state("succeeded")
    origin = min(workshop.checkpoints(), key=lambda checkpoint: checkpoint.step)
    workshop.submit("fit_2", FitState.PAUSED)
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
    with workshop.store.begin() as work:
        work.checkpoints.add(copy)
        paused = work.fits.get("fit_2")
        work.fits.update(paused.to(FitState.QUEUED, origin=asdict(forked_from), step=origin.step))
    workshop.supervisors[-1].wake()
    fit = workshop.until_state("succeeded", "fit_2")
    assert (fit.step, fit.bit_exact) == (RECIPE["steps"], True)

    def bare(rows: list[str]) -> list[str]:
        return [row.partition(',"step"')[2] for row in rows]

    assert bare(workshop.rows("fit_2")) == bare(undisturbed.rows)[-len(workshop.rows("fit_2")) :]
    assert parameters(workshop.arrays("fit_2")) == parameters(undisturbed.arrays)


def parameters(arrays: dict[str, bytes]) -> dict[str, bytes]:
    return {name: array for name, array in arrays.items() if name != "cursor"}


def test_clients_may_call_from_any_thread(workshop: Workshop) -> None:
    workshop.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS)
    supervisor = workshop.supervisor()
    workshop.until_rows(5)
    workshop.want("pausing")
    calls = [supervisor.pause, supervisor.cancel, supervisor.kill] * 4
    threads = [threading.Thread(target=call, args=("fit_1",)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    workshop.until_state("paused")
    assert workshop.states()[-2:] == ["pausing", "paused"]
