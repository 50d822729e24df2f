"""Fits that may only take so long, with processes that the test plays."""

from dataclasses import replace as replaced
from datetime import timedelta

import pytest

from app.domain.clock import SystemClock
from app.domain.messages import Finished, Started
from app.runner.stop_control import CANCEL_GRACE_SECONDS
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import SupervisorHarness, points

SOON = timedelta(milliseconds=200)


def now_and(delta: timedelta) -> object:
    return SystemClock().now() + delta


def set_deadline(harness: SupervisorHarness) -> None:
    """Limit a fit that runs: a deadline that is set before may be over when the fit is claimed."""
    with harness.store.begin() as work:
        work.fits.update(replaced(work.fits.get("fit_1"), deadline_at=now_and(SOON)))
    harness.supervisors[-1].check_requested_state("fit_1")


@pytest.mark.parametrize("limit", ["timeout", "deadline_exceeded"])
def test_a_fit_that_has_run_out_of_time_fails_with_a_checkpoint(
    harness: SupervisorHarness, runner: InMemoryRunner, limit: str
) -> None:
    harness.submit(resources={"timeout_seconds": 0.2} if limit == "timeout" else None)
    harness.supervisor(runner)
    handle = runner.await_start()
    if limit == "deadline_exceeded":
        set_deadline(harness)
    runner.report(handle, Started(1), points(1))
    assert runner.await_stop(handle) == ("drain", CANCEL_GRACE_SECONDS)
    runner.report(handle, points(2), Finished("drained"))
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == limit
    assert harness.outcomes() == [limit]
    assert harness.last_row() == 2
    assert harness.events("end") == [{"state": "failed"}]


def test_a_process_that_does_not_stop_in_time_is_no_crash(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit(resources={"timeout_seconds": 0.05})
    harness.supervisor(runner)
    handle = runner.await_start()
    runner.await_stop(handle)
    runner.end(handle, "killed")
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "timeout"
    assert harness.outcomes() == ["timeout"]


def test_a_fit_that_is_done_when_its_time_is_over_has_succeeded(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit(resources={"timeout_seconds": 0.05})
    harness.supervisor(runner)
    handle = runner.await_start()
    runner.await_stop(handle)
    runner.report(handle, Started(1), Finished("succeeded"))
    harness.until_state("succeeded")


def test_a_fit_that_is_cancelled_when_its_time_is_over_is_cancelled(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit(resources={"timeout_seconds": 0.05})
    harness.supervisor(runner)
    handle = runner.await_start()
    runner.await_stop(handle)
    harness.cancel()
    runner.end(handle, "killed")
    harness.until_state("cancelled")


def test_the_time_of_all_attempts_counts(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit(resources={"timeout_seconds": 1000.0})
    with harness.store.begin() as work:
        work.fits.update(replaced(work.fits.get("fit_1"), seconds=999.9))
    harness.supervisor(runner)
    handle = runner.await_start()
    runner.await_stop(handle)
    runner.report(handle, Finished("drained"))
    assert harness.until_state("failed").seconds >= 1000.0


def test_time_goes_by_only_while_there_is_a_process(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit()
    harness.supervisor(runner)
    runner.end(runner.await_start(1), "killed")
    to_resend = runner.await_start(2)
    first = harness.fit().seconds
    assert first > 0.0
    runner.report(to_resend, Started(1), Finished("succeeded"))
    assert harness.until_state("succeeded").seconds > first


@pytest.mark.parametrize("state", ["queued", "paused"])
def test_a_fit_that_waits_beyond_its_deadline_fails(
    harness: SupervisorHarness, runner: InMemoryRunner, state: str
) -> None:
    harness.submit("fit_0")
    harness.supervisor(runner, workers=1)
    runner.await_start()
    harness.submit(deadline_at=now_and(SOON))
    if state == "paused":
        harness.want("paused")
    harness.supervisors[0].wake()
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "deadline_exceeded"
    assert fit.finished_at is not None
    assert harness.events("end") == [{"state": "failed"}]
    assert len(runner.assignments) == 1


def test_a_fit_whose_deadline_is_over_is_not_begun(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit(deadline_at=now_and(-SOON))
    harness.supervisor(runner)
    harness.until_state("failed")
    assert runner.assignments == {}
