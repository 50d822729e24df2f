"""The supervisor, with processes that the test plays: what goes wrong, and what comes of it."""

import time
from typing import Any

import pytest

from app.domain.errors import DatabaseBusy, StorageFailed, StorageFull
from app.domain.messages import Failed, Finished, Started
from app.runner.port import Handle
from app.service.attempts.attempts import Attempts
from app.service.attempts.recorder import OUT_OF_MEMORY
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import SupervisorHarness, begin, points, row


def test_a_fit_whose_process_dies_goes_on_in_another(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.end(handle, "error", "the process crashed (SIGSEGV)")
    to_resend = runner.await_start(2)
    assert (to_resend.owner_id, to_resend.attempt) == ("fit_1", 2)
    assert harness.states() == ["queued", "starting", "running", "interrupted", "starting"]
    assert harness.outcomes() == ["error", None]
    assert harness.events("log") == [
        {"level": "warning", "code": "error", "text": "attempt 1: the process crashed (SIGSEGV)"}
    ]


def test_a_process_that_ends_without_a_verdict_has_died(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    runner.end(begin(harness, runner), "finished")
    runner.await_start(2)
    assert harness.outcomes() == ["error", None]


def test_processes_that_die_without_getting_further_end_the_fit(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit(attempts_max=3)
    harness.supervisor(runner)
    for number in range(1, 4):
        handle = runner.await_start(number)
        runner.report(handle, Started(number))
        runner.end(handle, "error", "it crashed")
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "crash_loop"
    assert fit.error["detail"].startswith(
        "3 processes in a row died without making progress; the last one (error): it crashed; "
    )
    assert "the server's log" in fit.error["detail"]
    assert harness.outcomes() == ["error"] * 3


def test_a_fit_that_finds_no_memory_for_a_product_fails_at_once(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    runner.end(begin(harness, runner), "blas_abort", "no memory")
    fit = harness.until_state("failed")
    assert fit.error == {"code": "out_of_memory", "detail": OUT_OF_MEMORY.detail}
    assert harness.outcomes() == ["out_of_memory"]


def test_a_fit_that_gets_further_each_time_is_not_given_up(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit(attempts_max=2)
    harness.supervisor(runner)
    for number in range(1, 6):
        handle = runner.await_start(number)
        runner.report(handle, Started(number), points(*range(1, number + 1)))
        runner.end(handle, "killed")
    handle = runner.await_start(6)
    runner.report(handle, Started(6), Finished("succeeded"))
    harness.until_state("succeeded")
    assert harness.last_row() == 5


def test_each_crash_in_a_row_makes_the_next_start_wait_longer(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit(attempts_max=3)
    harness.supervisor(runner, backoff=(0.1, 0.3))
    moments = []
    for number in range(1, 4):
        handle = runner.await_start(number)
        moments.append(time.monotonic())
        runner.end(handle, "killed")
    assert moments[1] - moments[0] >= 0.1
    assert moments[2] - moments[1] >= 0.3


def test_a_failed_fit_says_why_and_is_not_tried_again(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.report(handle, points(2), Failed("out_of_memory", "too much"))
    fit = harness.until_state("failed")
    assert fit.error == {"code": "out_of_memory", "detail": "too much"}
    assert harness.last_row() == 2
    assert harness.events("end") == [{"state": "failed"}]


def test_rows_that_come_out_the_same_again_are_stored_once(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.report(handle, points(2, 3))
    runner.end(handle, "killed")
    to_resend = runner.await_start(2)
    runner.report(to_resend, Started(2), points(2, 3, 4), Finished("succeeded"))
    harness.until_state("succeeded")
    assert harness.rows() == [row(seq) for seq in (1, 2, 3, 4)]


def test_a_fit_whose_rows_come_out_differently_fails(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.report(handle, points(2, 3))
    runner.end(handle, "killed")
    to_resend = runner.await_start(2)
    runner.report(to_resend, Started(2), points(2, 3, 4, loss=0.25))
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "numerics_diverged"
    assert "metric row 2" in fit.error["detail"]
    assert harness.rows() == [row(seq) for seq in (1, 2, 3)]
    runner.await_kill(to_resend)


def test_while_rows_are_made_again_the_fit_does_not_go_back(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.report(handle, points(2, 3))
    runner.end(handle, "killed")
    to_resend = runner.await_start(2)
    runner.report(to_resend, Started(2), points(1))
    harness.until(lambda: harness.fit().state == "running")
    assert harness.fit().step == 3


RETRIES = {"retry_seconds": 0.05}
NOT_NOW = [StorageFull("the disk is full"), StorageFailed("the disk failed"), DatabaseBusy("a backup runs")]


@pytest.mark.parametrize("error", NOT_NOW, ids=lambda error: error.code)
def test_a_fit_waits_while_nothing_can_be_written_down(
    harness: SupervisorHarness, runner: InMemoryRunner, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    harness.settings = harness.settings.model_copy(update=RETRIES)
    handle = begin(harness, runner)
    record, failures = Attempts.record, iter([error, error])

    def record_later(*arguments: Any) -> Any:
        for failure in failures:
            raise failure
        return record(*arguments)

    monkeypatch.setattr(Attempts, "record", record_later)
    runner.report(handle, points(2), points(3), Finished("succeeded"))
    harness.until_state("succeeded")
    assert harness.last_row() == 3
    assert harness.outcomes() == ["succeeded"]


@pytest.mark.parametrize("error", NOT_NOW, ids=lambda error: error.code)
@pytest.mark.parametrize("method", ["claim", "assignment"])
def test_a_fit_is_begun_once_the_disk_lets_it_and_that_is_no_crash(
    harness: SupervisorHarness, runner: InMemoryRunner, monkeypatch: pytest.MonkeyPatch, error: Exception, method: str
) -> None:
    harness.settings = harness.settings.model_copy(update=RETRIES)
    real, failures = getattr(Attempts, method), iter([error] * 5)

    def later(*arguments: Any, **options: Any) -> Any:
        for failure in failures:
            raise failure
        return real(*arguments, **options)

    monkeypatch.setattr(Attempts, method, later)
    harness.submit(attempts_max=2)
    harness.supervisor(runner)
    handle = runner.await_start(1)
    runner.report(handle, Started(1), Finished("succeeded"))
    harness.until_state("succeeded")
    assert [*filter(None, harness.outcomes())][:-1] == ([] if method == "claim" else ["storage"] * 5)


def test_a_fit_that_cannot_be_written_down_at_all_fails_alone(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.submit("fit_2")
    harness.supervisors[0].wake()
    other = runner.await_start(2)
    runner.report(handle, points(5))  # leaves a gap
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "internal_error"
    runner.await_kill(handle)
    runner.report(other, Started(2), Finished("succeeded"))
    harness.until_state("succeeded", "fit_2")


def test_what_a_superseded_attempt_says_does_not_count(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    with harness.store.begin() as work:
        work.attempts.end("fit_1", 1, "lost")
    runner.report(handle, points(2), Finished("succeeded"))
    harness.submit("fit_2")
    harness.supervisors[0].wake()
    runner.report(runner.await_start(2), Started(2), Finished("succeeded"))
    harness.until_state("succeeded", "fit_2")
    assert harness.last_row() == 1
    assert harness.fit().state == "running"
    runner.await_kill(handle)


def test_a_fit_whose_dataset_is_gone_fails(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    harness.submit(dataset="ds_missing")
    harness.supervisor(runner)
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "input_missing"
    assert runner.assignments == {}


def test_a_process_that_cannot_be_started_counts_as_one_that_died(
    harness: SupervisorHarness, runner: InMemoryRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(assignment: object) -> Handle:
        raise OSError("no more processes")

    monkeypatch.setattr(runner, "start", start)
    harness.submit(attempts_max=2)
    harness.supervisor(runner)
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "crash_loop"
    assert harness.outcomes() == ["not_started"] * 2


def test_a_fault_of_the_supervisor_is_not_its_end(
    harness: SupervisorHarness, runner: InMemoryRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.settings = harness.settings.model_copy(update=RETRIES)
    claim, faults = Attempts.claim, iter([RuntimeError("bug")])

    def faulty(*arguments: Any, **keywords: Any) -> Any:
        for fault in faults:
            raise fault
        return claim(*arguments, **keywords)

    monkeypatch.setattr(Attempts, "claim", faulty)
    harness.submit()
    supervisor = harness.supervisor(runner)
    supervisor.wake()
    runner.await_start()
