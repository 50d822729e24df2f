"""The supervisor, with processes that the test plays: from the queue to the end, and from server to server."""

import pytest

from app.domain.messages import Control, Finished, Log, Phase, Started
from app.runner.stop_control import CANCEL_GRACE_SECONDS
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import SupervisorHarness, begin, in_thread, points, row


def test_a_fit_goes_through_its_states_and_ends_in_one(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.report(handle, Phase("training"), points(2, 3), Log("info", "hello"), Finished("succeeded"))
    fit = harness.until_state("succeeded")
    assert harness.states() == ["queued", "starting", "running", "succeeded"]
    assert harness.outcomes() == ["succeeded"]
    assert harness.events("end") == [{"state": "succeeded"}]
    assert {"level": "info", "code": None, "text": "hello"} in harness.events("log")
    assert harness.rows() == [row(1), row(2), row(3)]
    assert (fit.step, fit.epoch, fit.latest, fit.best) == (3, 1, {"loss": 0.5}, {"value": 0.5})
    assert fit.finished_at is not None
    assert fit.error is None


def test_as_many_fits_run_as_there_are_workers(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    for number in range(4):
        harness.submit(f"fit_{number}")
    harness.supervisor(runner, workers=2)
    first = runner.await_start(2)
    assert [harness.fit(f"fit_{number}").state for number in range(4)] == ["starting"] * 2 + ["queued"] * 2
    runner.report(first, Started(1), Finished("succeeded"))
    assert runner.await_start(3).owner_id == "fit_2"


def test_a_fit_that_is_submitted_starts_at_a_wake(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    supervisor = harness.supervisor(runner)
    harness.submit()
    supervisor.wake()
    assert runner.await_start().owner_id == "fit_1"


def test_a_higher_priority_goes_first(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit("fit_1")
    harness.submit("fit_2", priority=1)
    harness.supervisor(runner, workers=1)
    assert runner.await_start().owner_id == "fit_2"


def test_who_works_on_what_can_be_seen(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    supervisor = harness.supervisors[0]
    runner.report(handle, points(2))
    harness.until_rows(2)
    (worker,) = supervisor.workers()
    assert (worker.pid, worker.fit_id, worker.attempt, worker.state) == (4711, "fit_1", 1, "running")
    assert supervisor.alive
    assert supervisor.unavailable_reason() is None
    runner.unavailable_reason = "there is no process to fork workers from"
    assert supervisor.unavailable_reason() == runner.unavailable_reason


def test_a_cancelled_fit_is_asked_to_stop_and_given_time(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    harness.cancel()
    assert runner.await_stop(handle) == ("cancel", CANCEL_GRACE_SECONDS)
    runner.report(handle, points(2), Finished("cancelled"))
    harness.until_state("cancelled")
    assert harness.states()[-2:] == ["cancelling", "cancelled"]
    assert harness.last_row() == 2


def test_one_variant_of_a_sweep_can_be_stopped(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    harness.supervisors[0].cancel("fit_1", "fit_7")
    runner.report(handle, points(2))
    harness.until_rows(2)
    assert runner.sent == [(handle, Control("cancel", "fit_7"))]
    assert runner.stopped == {}


def test_a_cancelled_fit_whose_process_has_to_be_killed_is_cancelled(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.cancel()
    runner.await_stop(handle)
    runner.end(handle, "killed")
    harness.until_state("cancelled")
    assert harness.outcomes() == ["stopped"]


def test_a_fit_that_succeeds_while_it_is_cancelled_has_succeeded(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.cancel()
    runner.await_stop(handle)
    runner.report(handle, Finished("succeeded"))
    harness.until_state("succeeded")


def test_to_cancel_what_does_not_run_changes_nothing(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    harness.supervisors[0].cancel("fit_2")
    runner.report(handle, points(2))
    harness.until_rows(2)
    assert runner.stopped == {}


def test_a_fit_that_waits_for_its_next_process_can_be_cancelled(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit()
    supervisor = harness.supervisor(runner, backoff=(60.0,))
    runner.end(runner.await_start(), "killed")
    fit = harness.until_state("interrupted")
    with harness.store.begin() as work:
        work.fits.update(fit.to("cancelled"))
    supervisor.cancel("fit_1")
    harness.submit("fit_2")
    supervisor.wake()
    assert runner.await_start(2).owner_id == "fit_2"
    assert harness.fit().state == "cancelled"


def test_a_drain_asks_every_process_and_starts_no_other(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner, workers=1)
    harness.submit("fit_2")
    supervisor = harness.supervisors[0]
    draining = in_thread(supervisor.drain)
    assert runner.await_stop(handle) == ("drain", harness.settings.drain_seconds)
    assert not supervisor.alive
    runner.report(handle, points(2), Finished("drained"))
    draining()
    assert harness.fit().state == "interrupted"
    assert harness.outcomes() == ["drained"]
    assert harness.last_row() == 2
    assert harness.fit("fit_2").state == "queued"
    assert len(runner.assignments) == 1
    supervisor.wake()
    supervisor.cancel("fit_1")
    supervisor.drain()


def test_a_fit_that_has_to_be_killed_at_a_drain_has_not_crashed(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    draining = in_thread(harness.supervisors[0].drain)
    runner.await_stop(handle)
    runner.end(handle, "killed")
    draining()
    assert harness.fit().state == "interrupted"
    assert harness.outcomes() == ["stopped"]


@pytest.mark.parametrize(
    ("state", "afterwards"),
    [("starting", "interrupted"), ("running", "interrupted"), ("pausing", "paused"), ("cancelling", "cancelled")],
)
def test_what_an_earlier_server_was_doing_is_taken_back(
    harness: SupervisorHarness, runner: InMemoryRunner, state: str, afterwards: str
) -> None:
    harness.submit()
    with harness.store.begin() as work:
        fit = work.queue.claim()
        assert fit is not None
        work.attempts.start("fit_1", 1, "token")
        if state != "starting":
            work.fits.update(fit.to(state))
    (harness.staging / "token").mkdir(parents=True)
    (harness.staging / "token" / "step-3.partial").write_bytes(b"half")
    harness.supervisor(runner)
    assert afterwards in harness.states()
    assert harness.outcomes()[0] == "lost"
    assert not (harness.staging / "token").exists()
    if afterwards == "interrupted":
        assert runner.await_start().attempt == 2
        assert harness.events("log")[0]["text"].startswith("attempt 1: the server went down")
    else:
        assert harness.fit().state == afterwards


def test_a_server_that_comes_and_goes_does_not_wear_a_fit_out(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit(attempts_max=1)
    for number in range(1, 4):
        supervisor = harness.supervisor(runner)
        handle = runner.await_start(number)
        draining = in_thread(supervisor.drain)
        runner.await_stop(handle)
        runner.end(handle, "killed")
        draining()
    assert harness.fit().state == "interrupted"
    assert harness.fit().attempt == 3
