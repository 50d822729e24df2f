"""What clients want of fits that are worked on, with processes that the test plays."""

import pytest

from app.domain.messages import Finished, Started
from app.runner.supervisor import CANCEL_GRACE_SECONDS
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import Workshop, begin, points


def test_a_paused_fit_writes_a_checkpoint_and_frees_its_worker(workshop: Workshop, runner: InMemoryRunner) -> None:
    handle = begin(workshop, runner, workers=1)
    workshop.submit("fit_2")
    workshop.pause()
    assert runner.await_stop(handle) == ("drain", CANCEL_GRACE_SECONDS)
    runner.report(handle, points(2), Finished("drained"))
    workshop.until_state("paused")
    assert workshop.states()[-2:] == ["pausing", "paused"]
    assert workshop.outcomes() == ["drained"]
    assert workshop.last_row() == 2
    assert runner.await_start(2).owner_id == "fit_2"


def test_a_fit_can_be_paused_before_its_process_is_up(workshop: Workshop, runner: InMemoryRunner) -> None:
    workshop.submit()
    workshop.supervisor(runner)
    handle = runner.await_start()
    workshop.pause()
    runner.await_stop(handle)
    runner.report(handle, Started(1), Finished("drained"))
    workshop.until_state("paused")
    assert workshop.states() == ["queued", "starting", "pausing", "paused"]


def test_a_paused_fit_whose_process_has_to_be_killed_is_paused(workshop: Workshop, runner: InMemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.pause()
    runner.await_stop(handle)
    runner.end(handle, "killed")
    workshop.until_state("paused")
    assert workshop.outcomes() == ["stopped"]


def test_a_fit_that_is_taken_up_again_goes_on_in_another_process(workshop: Workshop, runner: InMemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.pause()
    runner.await_stop(handle)
    runner.report(handle, Finished("drained"))
    workshop.until_state("paused")
    workshop.want("queued")
    workshop.supervisors[0].wake()
    assert runner.await_start(2).attempt == 2


@pytest.mark.parametrize("ending", [Finished("drained"), Finished("cancelled")])
def test_a_fit_that_is_cancelled_while_it_pauses_is_cancelled(
    workshop: Workshop, runner: InMemoryRunner, ending: Finished
) -> None:
    handle = begin(workshop, runner)
    workshop.pause()
    runner.await_stop(handle)
    workshop.cancel()
    runner.report(handle, ending)
    workshop.until_state("cancelled")
    assert workshop.states()[-3:] == ["pausing", "cancelling", "cancelled"]
    assert workshop.events("end") == [{"state": "cancelled"}]


def test_a_pause_that_comes_after_the_verdict_changes_nothing(workshop: Workshop, runner: InMemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.want("pausing")
    runner.report(handle, Finished("succeeded"))
    workshop.supervisors[0].pause("fit_1")
    workshop.until_state("succeeded")
    assert workshop.outcomes() == ["succeeded"]


@pytest.mark.parametrize("before", ["running", "pausing", "cancelling"])
def test_a_killed_fit_has_ended_before_its_process_is_gone(
    workshop: Workshop, runner: InMemoryRunner, before: str
) -> None:
    runner.ignores_kill = True
    handle = begin(workshop, runner, workers=1)
    workshop.submit("fit_2")
    if before != "running":
        workshop.want(before)
    workshop.kill()
    runner.await_kill(handle)
    runner.report(handle, points(2), Finished("succeeded"))
    assert workshop.fit().state == "cancelled"
    assert len(runner.assignments) == 1
    runner.end(handle, "killed")
    assert runner.await_start(2).owner_id == "fit_2"
    assert workshop.fit().state == "cancelled"
    assert workshop.outcomes() == ["killed_by_client"]
    assert workshop.last_row() == 1
    assert workshop.events("end") == [{"state": "cancelled"}]


def test_a_fit_has_one_process_at_a_time(workshop: Workshop, runner: InMemoryRunner) -> None:
    runner.ignores_kill = True
    handle = begin(workshop, runner)
    workshop.kill()
    runner.await_kill(handle)
    workshop.want("queued")
    workshop.submit("fit_2")
    workshop.supervisors[0].wake()
    assert runner.await_start(2).owner_id == "fit_2"
    runner.end(handle, "killed")
    assert runner.await_start(3).owner_id == "fit_1"


def test_what_was_wanted_of_an_earlier_attempt_is_not_done_to_a_later_one(
    workshop: Workshop, runner: InMemoryRunner
) -> None:
    handle = begin(workshop, runner)
    supervisor = workshop.supervisors[0]
    for tell in (supervisor.cancel, supervisor.pause, supervisor.kill):
        tell("fit_1")
    runner.report(handle, points(2))
    workshop.until_rows(2)
    assert (runner.stopped, runner.killed) == ({}, [])
    assert workshop.fit().state == "running"


def test_a_fit_that_was_deleted_meanwhile_leaves_no_process(workshop: Workshop, runner: InMemoryRunner) -> None:
    handle = begin(workshop, runner)
    with workshop.store.begin() as work:
        work.fits.delete("fit_1")
    workshop.supervisors[0].kill("fit_1")
    runner.await_kill(handle)
