"""What clients want of fits that are worked on, with processes that the test plays."""

import pytest

from app.domain.messages import Finished, Started
from app.runner.stop_control import CANCEL_GRACE_SECONDS
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import SupervisorHarness, begin, points


def test_a_paused_fit_writes_a_checkpoint_and_frees_its_worker(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner, workers=1)
    harness.submit("fit_2")
    harness.pause()
    assert runner.await_stop(handle) == ("drain", CANCEL_GRACE_SECONDS)
    runner.report(handle, points(2), Finished("drained"))
    harness.until_state("paused")
    assert harness.states()[-2:] == ["pausing", "paused"]
    assert harness.outcomes() == ["drained"]
    assert harness.last_row() == 2
    assert runner.await_start(2).owner_id == "fit_2"


def test_a_fit_can_be_paused_before_its_process_is_up(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit()
    harness.supervisor(runner)
    handle = runner.await_start()
    harness.pause()
    runner.await_stop(handle)
    runner.report(handle, Started(1), Finished("drained"))
    harness.until_state("paused")
    assert harness.states() == ["queued", "starting", "pausing", "paused"]


def test_a_paused_fit_whose_process_has_to_be_killed_is_paused(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.pause()
    runner.await_stop(handle)
    runner.end(handle, "killed")
    harness.until_state("paused")
    assert harness.outcomes() == ["stopped"]


def test_a_fit_that_is_taken_up_again_goes_on_in_another_process(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.pause()
    runner.await_stop(handle)
    runner.report(handle, Finished("drained"))
    harness.until_state("paused")
    harness.want("queued")
    harness.supervisors[0].wake()
    assert runner.await_start(2).attempt == 2


@pytest.mark.parametrize("ending", [Finished("drained"), Finished("cancelled")])
def test_a_fit_that_is_cancelled_while_it_pauses_is_cancelled(
    harness: SupervisorHarness, runner: InMemoryRunner, ending: Finished
) -> None:
    handle = begin(harness, runner)
    harness.pause()
    runner.await_stop(handle)
    harness.cancel()
    runner.report(handle, ending)
    harness.until_state("cancelled")
    assert harness.states()[-3:] == ["pausing", "cancelling", "cancelled"]
    assert harness.events("end") == [{"state": "cancelled"}]


def test_a_pause_that_comes_after_the_verdict_changes_nothing(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.want("pausing")
    runner.report(handle, Finished("succeeded"))
    harness.supervisors[0].pause("fit_1")
    harness.until_state("succeeded")
    assert harness.outcomes() == ["succeeded"]


@pytest.mark.parametrize("before", ["running", "pausing", "cancelling"])
def test_a_killed_fit_has_ended_before_its_process_is_gone(
    harness: SupervisorHarness, runner: InMemoryRunner, before: str
) -> None:
    runner.ignores_kill = True
    handle = begin(harness, runner, workers=1)
    harness.submit("fit_2")
    if before != "running":
        harness.want(before)
    harness.kill()
    runner.await_kill(handle)
    runner.report(handle, points(2), Finished("succeeded"))
    assert harness.fit().state == "cancelled"
    assert len(runner.assignments) == 1
    runner.end(handle, "killed")
    assert runner.await_start(2).owner_id == "fit_2"
    assert harness.fit().state == "cancelled"
    assert harness.outcomes() == ["killed_by_client"]
    assert harness.last_row() == 1
    assert harness.events("end") == [{"state": "cancelled"}]


def test_a_fit_has_one_process_at_a_time(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    runner.ignores_kill = True
    handle = begin(harness, runner)
    harness.kill()
    runner.await_kill(handle)
    harness.want("queued")
    harness.submit("fit_2")
    harness.supervisors[0].wake()
    assert runner.await_start(2).owner_id == "fit_2"
    runner.end(handle, "killed")
    assert runner.await_start(3).owner_id == "fit_1"


def test_what_was_wanted_of_an_earlier_attempt_is_not_done_to_a_later_one(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    supervisor = harness.supervisors[0]
    for stop in (supervisor.cancel, supervisor.pause, supervisor.kill):
        stop("fit_1")
    runner.report(handle, points(2))
    harness.until_rows(2)
    assert (runner.stopped, runner.killed) == ({}, [])
    assert harness.fit().state == "running"


def test_a_concurrently_deleted_fit_leaves_no_process(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    with harness.store.begin() as work:
        work.fits.delete("fit_1")
    harness.supervisors[0].kill("fit_1")
    runner.await_kill(handle)
