"""The supervisor, with processes that the test plays."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.domain.errors import DatabaseBusy, StorageFull
from app.domain.messages import Failed, Finished, Log, Phase, Points, Started
from app.runner.memory import MemoryRunner
from app.runner.port import Handle
from app.runner.supervisor import CANCEL_GRACE_SECONDS
from app.service.attempts import Attempts

from .conftest import Workshop


def row(seq: int, loss: float = 0.5) -> str:
    return json.dumps({"seq": seq, "step": seq, "epoch": 1, "split": "train", "values": {"loss": loss}})


def points(*seqs: int, loss: float = 0.5) -> Points:
    return Points([row(seq, loss) for seq in seqs], seqs[-1], 1, {"loss": loss}, {"value": loss})


@pytest.fixture
def runner(workshop: Workshop) -> Iterator[MemoryRunner]:
    runner = MemoryRunner()
    yield runner
    runner.obedient = True
    for handle in runner.known():
        runner.end(handle, "killed")


def begin(workshop: Workshop, runner: MemoryRunner, **settings: Any) -> Handle:
    """Submit a fit and play its process as far as the first row."""
    workshop.submit()
    workshop.supervisor(runner, **settings)
    handle = runner.await_start()
    runner.say(handle, Started(4711), points(1))
    workshop.until_rows(1)
    return handle


def test_a_fit_goes_through_its_states_and_ends_in_one(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    runner.say(handle, Phase("training"), points(2, 3), Log("info", "hello"), Finished("succeeded"))
    fit = workshop.until_state("succeeded")
    assert workshop.states() == ["queued", "starting", "running", "succeeded"]
    assert workshop.outcomes() == ["succeeded"]
    assert workshop.events("end") == [{"state": "succeeded"}]
    assert {"level": "info", "text": "hello"} in workshop.events("log")
    assert workshop.rows() == [row(1), row(2), row(3)]
    assert (fit.step, fit.epoch, fit.latest, fit.best) == (3, 1, {"loss": 0.5}, {"value": 0.5})
    assert fit.finished_at is not None
    assert fit.error is None


def test_as_many_fits_run_as_there_are_workers(workshop: Workshop, runner: MemoryRunner) -> None:
    for number in range(4):
        workshop.submit(f"fit_{number}")
    workshop.supervisor(runner, workers=2)
    first = runner.await_start(2)
    assert [workshop.fit(f"fit_{number}").state for number in range(4)] == ["starting"] * 2 + ["queued"] * 2
    runner.say(first, Started(1), Finished("succeeded"))
    assert runner.await_start(3).fit_id == "fit_2"


def test_a_fit_that_is_submitted_starts_at_a_wake(workshop: Workshop, runner: MemoryRunner) -> None:
    supervisor = workshop.supervisor(runner)
    workshop.submit()
    supervisor.wake()
    assert runner.await_start().fit_id == "fit_1"


def test_a_higher_priority_goes_first(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit("fit_1")
    workshop.submit("fit_2", priority=1)
    workshop.supervisor(runner, workers=1)
    assert runner.await_start().fit_id == "fit_2"


def test_who_works_on_what_can_be_seen(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    supervisor = workshop.supervisors[0]
    runner.say(handle, points(2))
    workshop.until_rows(2)
    (worker,) = supervisor.workers()
    assert (worker.pid, worker.fit_id, worker.attempt, worker.state) == (4711, "fit_1", 1, "running")
    assert supervisor.alive


def test_a_cancelled_fit_is_asked_to_stop_and_given_time(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.supervisors[0].cancel("fit_1")
    assert runner.await_stop(handle) == ("cancel", CANCEL_GRACE_SECONDS)
    workshop.until_state("cancelling")
    runner.say(handle, points(2), Finished("cancelled"))
    workshop.until_state("cancelled")
    assert workshop.states()[-2:] == ["cancelling", "cancelled"]
    assert workshop.last_row() == 2


def test_a_cancelled_fit_whose_process_has_to_be_killed_is_cancelled(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.supervisors[0].cancel("fit_1")
    workshop.until_state("cancelling")
    runner.end(handle, "killed")
    workshop.until_state("cancelled")
    assert workshop.outcomes() == ["killed"]


def test_a_fit_that_succeeds_while_it_is_cancelled_has_succeeded(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.supervisors[0].cancel("fit_1")
    workshop.until_state("cancelling")
    runner.say(handle, Finished("succeeded"))
    workshop.until_state("succeeded")


def test_to_cancel_what_does_not_run_changes_nothing(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.supervisors[0].cancel("fit_2")
    runner.say(handle, points(2))
    workshop.until_rows(2)
    assert runner.stopped == {}


def test_a_fit_whose_process_dies_goes_on_in_another(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    runner.end(handle, "error", "the process crashed (SIGSEGV)")
    again = runner.await_start(2)
    assert (again.fit_id, again.attempt) == ("fit_1", 2)
    assert workshop.states() == ["queued", "starting", "running", "interrupted", "starting"]
    assert workshop.outcomes() == ["error", None]
    assert workshop.events("log") == [{"level": "warning", "text": "attempt 1: the process crashed (SIGSEGV)"}]


def test_a_process_that_ends_without_a_verdict_has_died(workshop: Workshop, runner: MemoryRunner) -> None:
    runner.end(begin(workshop, runner), "finished")
    runner.await_start(2)
    assert workshop.outcomes() == ["error", None]


def test_processes_that_die_without_getting_further_end_the_fit(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit(attempts_max=3)
    workshop.supervisor(runner)
    for number in range(1, 4):
        handle = runner.await_start(number)
        runner.say(handle, Started(number))
        runner.end(handle, "blas_abort", "no memory")
    fit = workshop.until_state("failed")
    assert fit.error == {
        "code": "crash_loop",
        "detail": "3 processes in a row died without getting any further; the last one: no memory",
    }
    assert workshop.outcomes() == ["blas_abort"] * 3


def test_a_fit_that_gets_further_each_time_is_not_given_up(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit(attempts_max=2)
    workshop.supervisor(runner)
    for number in range(1, 6):
        handle = runner.await_start(number)
        runner.say(handle, Started(number), points(*range(1, number + 1)))
        runner.end(handle, "killed")
    handle = runner.await_start(6)
    runner.say(handle, Started(6), Finished("succeeded"))
    workshop.until_state("succeeded")
    assert workshop.last_row() == 5


def test_each_crash_in_a_row_makes_the_next_start_wait_longer(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit(attempts_max=3)
    workshop.supervisor(runner, backoff=(0.0, 0.3))
    moments = []
    for number in range(1, 4):
        handle = runner.await_start(number)
        moments.append(time.monotonic())
        runner.end(handle, "killed")
    assert moments[1] - moments[0] < 0.3 <= moments[2] - moments[1]


def test_a_fit_that_waits_for_its_next_process_can_be_cancelled(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit()
    supervisor = workshop.supervisor(runner, backoff=(60.0,))
    runner.end(runner.await_start(), "killed")
    fit = workshop.until_state("interrupted")
    with workshop.store.begin() as work:
        work.fits.update(fit.to("cancelled"))
    supervisor.cancel("fit_1")
    workshop.submit("fit_2")
    supervisor.wake()
    assert runner.await_start(2).fit_id == "fit_2"
    assert workshop.fit().state == "cancelled"


def test_a_failed_fit_says_why_and_is_not_tried_again(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    runner.say(handle, points(2), Failed("out_of_memory", "too much"))
    fit = workshop.until_state("failed")
    assert fit.error == {"code": "out_of_memory", "detail": "too much"}
    assert workshop.last_row() == 2
    assert workshop.events("end") == [{"state": "failed"}]


def test_rows_that_come_out_the_same_again_are_stored_once(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    runner.say(handle, points(2, 3))
    runner.end(handle, "killed")
    again = runner.await_start(2)
    runner.say(again, Started(2), points(2, 3, 4), Finished("succeeded"))
    workshop.until_state("succeeded")
    assert workshop.rows() == [row(seq) for seq in (1, 2, 3, 4)]


def test_a_fit_whose_rows_come_out_differently_fails(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    runner.say(handle, points(2, 3))
    runner.end(handle, "killed")
    again = runner.await_start(2)
    runner.say(again, Started(2), points(2, 3, 4, loss=0.25))
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "numerics_diverged"
    assert "metric row 2" in fit.error["detail"]
    assert workshop.rows() == [row(seq) for seq in (1, 2, 3)]
    runner.await_kill(again)


def test_while_rows_are_made_again_the_fit_does_not_go_back(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    runner.say(handle, points(2, 3))
    runner.end(handle, "killed")
    again = runner.await_start(2)
    runner.say(again, Started(2), points(1))
    workshop.until(lambda: workshop.fit().state == "running")
    assert workshop.fit().step == 3


@pytest.mark.parametrize("error", [StorageFull("the disk is full"), DatabaseBusy("a backup runs")])
def test_a_fit_waits_while_nothing_can_be_written_down(
    workshop: Workshop, runner: MemoryRunner, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("app.runner.supervisor.RETRY_SECONDS", 0.05)
    handle = begin(workshop, runner)
    record, failures = Attempts.record, iter([error, error])

    def record_later(*arguments: Any) -> Any:
        for failure in failures:
            raise failure
        return record(*arguments)

    monkeypatch.setattr(Attempts, "record", record_later)
    runner.say(handle, points(2), points(3), Finished("succeeded"))
    workshop.until_state("succeeded")
    assert workshop.last_row() == 3
    assert workshop.outcomes() == ["succeeded"]


def test_a_fit_that_cannot_be_written_down_at_all_fails_alone(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    workshop.submit("fit_2")
    workshop.supervisors[0].wake()
    other = runner.await_start(2)
    runner.say(handle, points(5))  # leaves a gap
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "internal_error"
    runner.await_kill(handle)
    runner.say(other, Started(2), Finished("succeeded"))
    workshop.until_state("succeeded", "fit_2")


def test_what_a_superseded_attempt_says_does_not_count(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    with workshop.store.begin() as work:
        work.attempts.end("fit_1", 1, "lost")
    runner.say(handle, points(2), Finished("succeeded"))
    workshop.submit("fit_2")
    workshop.supervisors[0].wake()
    runner.say(runner.await_start(2), Started(2), Finished("succeeded"))
    workshop.until_state("succeeded", "fit_2")
    assert workshop.last_row() == 1
    assert workshop.fit().state == "running"
    runner.await_kill(handle)


def test_a_fit_whose_dataset_is_gone_fails(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit(dataset="ds_missing")
    workshop.supervisor(runner)
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "input_missing"
    assert runner.assignments == {}


def test_a_process_that_cannot_be_started_counts_as_one_that_died(
    workshop: Workshop, runner: MemoryRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(assignment: object) -> Handle:
        raise OSError("no more processes")

    monkeypatch.setattr(runner, "start", start)
    workshop.submit(attempts_max=2)
    workshop.supervisor(runner)
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "crash_loop"
    assert workshop.outcomes() == ["not_started"] * 2


def test_a_fault_of_the_supervisor_is_not_its_end(
    workshop: Workshop, runner: MemoryRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runner.supervisor.RETRY_SECONDS", 0.01)
    claim, faults = Attempts.claim, iter([RuntimeError("bug")])

    def faulty(*arguments: Any, **keywords: Any) -> Any:
        for fault in faults:
            raise fault
        return claim(*arguments, **keywords)

    monkeypatch.setattr(Attempts, "claim", faulty)
    workshop.submit()
    supervisor = workshop.supervisor(runner)
    supervisor.wake()
    runner.await_start()


def test_a_drain_asks_every_process_and_starts_no_other(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner, workers=1)
    workshop.submit("fit_2")
    supervisor = workshop.supervisors[0]
    draining = in_thread(supervisor.drain)
    assert runner.await_stop(handle) == ("drain", workshop.settings.drain_seconds)
    assert not supervisor.alive
    runner.say(handle, points(2), Finished("drained"))
    draining()
    assert workshop.fit().state == "interrupted"
    assert workshop.outcomes() == ["drained"]
    assert workshop.last_row() == 2
    assert workshop.fit("fit_2").state == "queued"
    assert len(runner.assignments) == 1
    supervisor.wake()
    supervisor.cancel("fit_1")
    supervisor.drain()


def test_a_fit_that_has_to_be_killed_at_a_drain_has_not_crashed(workshop: Workshop, runner: MemoryRunner) -> None:
    handle = begin(workshop, runner)
    draining = in_thread(workshop.supervisors[0].drain)
    runner.await_stop(handle)
    runner.end(handle, "killed")
    draining()
    assert workshop.fit().state == "interrupted"
    assert workshop.outcomes() == ["stopped"]


@pytest.mark.parametrize(
    ("state", "afterwards"),
    [("starting", "interrupted"), ("running", "interrupted"), ("pausing", "paused"), ("cancelling", "cancelled")],
)
def test_what_an_earlier_server_was_doing_is_taken_back(
    workshop: Workshop, runner: MemoryRunner, state: str, afterwards: str
) -> None:
    workshop.submit()
    with workshop.store.begin() as work:
        fit = work.fits.claim()
        assert fit is not None
        work.attempts.start("fit_1", 1, "token")
        if state != "starting":
            work.fits.update(fit.to(state))
    (workshop.staging / "token").mkdir(parents=True)
    (workshop.staging / "token" / "step-3.partial").write_bytes(b"half")
    workshop.supervisor(runner)
    assert afterwards in workshop.states()
    assert workshop.outcomes()[0] == "lost"
    assert not (workshop.staging / "token").exists()
    if afterwards == "interrupted":
        assert runner.await_start().attempt == 2
        assert workshop.events("log")[0]["text"].startswith("attempt 1: the server went down")
    else:
        assert workshop.fit().state == afterwards


def test_a_server_that_comes_and_goes_does_not_wear_a_fit_out(workshop: Workshop, runner: MemoryRunner) -> None:
    workshop.submit(attempts_max=1)
    for number in range(1, 4):
        supervisor = workshop.supervisor(runner)
        handle = runner.await_start(number)
        draining = in_thread(supervisor.drain)
        runner.await_stop(handle)
        runner.end(handle, "killed")
        draining()
    assert workshop.fit().state == "interrupted"
    assert workshop.fit().attempt == 3


def in_thread(function: Callable[[], object]) -> Callable[[], None]:
    """Begin to call `function`; return a function that waits until it is done."""
    thread = threading.Thread(target=function)
    thread.start()

    def wait() -> None:
        thread.join(10)
        assert not thread.is_alive()

    return wait
