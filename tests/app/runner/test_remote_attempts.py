"""Attempts that outlive their server, on a runner that the test plays."""

import threading
from collections.abc import Iterator

import pytest

from app.domain.errors import DatabaseUnavailable, Superseded
from app.domain.messages import Finished, Log, Started
from app.runner.port import Handle
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import Claim
from app.store.unit_of_work import UnitOfWork
from tests.support.in_memory_runner import InMemoryRunner
from tests.support.patience import PATIENCE

from .conftest import SupervisorHarness, begin, points


@pytest.fixture
def runner(harness: SupervisorHarness) -> Iterator[InMemoryRunner]:
    remote = InMemoryRunner()
    remote.is_remote = True
    yield remote
    remote.exits_on_stop = True


def received(harness: SupervisorHarness) -> int:
    with harness.store.read() as work:
        attempt = work.attempts.latest("fit_1")
    assert attempt is not None
    return attempt.received


def after_restart(harness: SupervisorHarness, handle: Handle, *, running: bool) -> InMemoryRunner:
    """Start a second server; return its runner, which finds the attempt or not."""
    again = InMemoryRunner()
    again.is_remote = True
    again.running = frozenset([handle.token] if running else [])
    harness.supervisor(again)
    return again


def test_reports_are_acknowledged_when_they_are_stored(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner)
    runner.report(handle, points(2), points(3), Log("info", "hello"), number=5)
    harness.until(lambda: runner.acknowledged.get(handle) == 7)
    assert received(harness) == 7
    runner.report(handle, Finished("succeeded"), number=8)
    harness.until_state("succeeded")
    assert received(harness) == 8
    harness.until(lambda: runner.acknowledged[handle] is None)


def test_a_server_that_stops_stores_what_it_has_and_leaves_the_attempt(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner, metrics_flush_seconds=60)
    runner.report(handle, points(2), number=2)
    harness.supervisors[0].drain()
    assert harness.fit().state == "running"
    assert (runner.stopped, runner.killed) == ({}, [])
    again = after_restart(harness, handle, running=True)
    assert again.assignments == {}
    assert received(harness) == 2
    again.report(handle, points(3), Finished("succeeded"), number=3)
    again.end(handle, "finished")
    assert harness.until_state("succeeded").attempt == 1
    assert len(harness.rows()) == 3


def test_an_attempt_that_does_not_run_any_more_is_followed_by_another(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.supervisors[0].drain()
    again = after_restart(harness, handle, running=False)
    assert again.await_start().attempt == 2
    assert harness.outcomes()[0] == "lost"


def test_what_was_asked_while_no_server_ran_reaches_the_attempt(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    handle = begin(harness, runner)
    harness.supervisors[0].drain()
    harness.cancel()
    again = after_restart(harness, handle, running=True)
    assert again.await_stop(handle)[0] == "cancel"
    again.report(handle, Finished("cancelled"), number=2)
    again.end(handle, "finished")
    harness.until_state("cancelled")


def test_a_lost_node_does_not_count_as_a_crash(harness: SupervisorHarness, runner: InMemoryRunner) -> None:
    handle = begin(harness, runner, retry_seconds=0.01)
    for number in range(2, 8):
        runner.end(handle, "node_lost", "the node was lost")
        handle = runner.await_start(number)
        runner.report(handle, Started(4711))
    assert harness.outcomes()[:-1] == ["node_lost"] * 6
    assert not harness.fit().terminal


class PlayedLeadership:
    """The leadership of a server of several, as the test says."""

    def __init__(self) -> None:
        self.epoch: int | None = 1
        self.newest: int | None = 1
        self.refused = threading.Event()

    def guard(self, _work: UnitOfWork) -> None:
        if self.epoch is None or self.epoch != self.newest:
            self.refused.set()
            raise Superseded("another server runs the fits")

    def lead(self, epoch: int) -> None:
        self.epoch = self.newest = epoch


def test_a_server_that_is_replaced_leaves_attempts_to_the_next_one(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    leadership = PlayedLeadership()
    handle = begin(harness, runner, leadership=leadership)
    leadership.epoch = None
    harness.supervisors[0].wake()
    runner.await_release(handle)
    assert (runner.killed, runner.stopped) == ([], {})
    assert harness.fit().state == "running"
    # It leads again: the attempt goes on, and what it has reported since then is received.
    runner.running = frozenset([handle.token])
    leadership.lead(3)
    harness.supervisors[0].wake()
    runner.await_known(handle)
    runner.report(handle, points(2), Finished("succeeded"), number=2)
    runner.end(handle, "finished")
    assert harness.until_state("succeeded").attempt == 1
    assert len(harness.rows()) == 2


def test_an_attempt_that_another_server_has_ended_is_killed_and_not_left(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    leadership = PlayedLeadership()
    handle = begin(harness, runner, leadership=leadership)
    after_restart(harness, handle, running=False).await_start()
    leadership.epoch = None
    harness.supervisors[0].wake()
    runner.await_kill(handle)
    assert runner.released == []
    assert harness.fit().attempt == 2


def test_a_server_that_does_not_know_yet_that_it_is_replaced_kills_no_attempt(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    leadership = PlayedLeadership()
    handle = begin(harness, runner, leadership=leadership, retry_seconds=0.01)
    leadership.newest = 2
    runner.report(handle, points(2), number=2)
    assert leadership.refused.wait(PATIENCE)
    leadership.epoch = None
    harness.supervisors[0].wake()
    runner.await_release(handle)
    assert runner.killed == []
    assert len(harness.rows()) == 1


@pytest.mark.parametrize("is_in_force", [True, False])
def test_what_becomes_of_an_attempt_is_decided_once_the_database_is_reached(
    harness: SupervisorHarness, runner: InMemoryRunner, monkeypatch: pytest.MonkeyPatch, is_in_force: bool
) -> None:
    leadership = PlayedLeadership()
    handle = begin(harness, runner, leadership=leadership, retry_seconds=0.01)
    if not is_in_force:
        after_restart(harness, handle, running=False).await_start()
    asked = threading.Semaphore(0)

    def unreached(_attempts: Attempts, _claim: Claim) -> None:
        asked.release()
        raise DatabaseUnavailable("the database is away")

    with monkeypatch.context() as away:
        away.setattr(Attempts, "fit", unreached)
        leadership.epoch = None
        harness.supervisors[0].wake()
        assert all(asked.acquire(timeout=PATIENCE) for _ in range(2))
        assert (runner.released, runner.killed) == ([], [])
    if is_in_force:
        runner.await_release(handle)
        assert runner.killed == []
    else:
        runner.await_kill(handle)
        assert runner.released == []


class AwayRunner(InMemoryRunner):
    """One whose cluster is away until it was asked for it three times."""

    is_remote = True
    asked = 0

    @property
    def unavailable_reason(self) -> str | None:
        self.asked += 1
        return "the connection to Ray was lost" if self.asked <= 3 else None

    @unavailable_reason.setter
    def unavailable_reason(self, _reason: str | None) -> None:
        pass


def test_no_fit_is_claimed_while_the_cluster_is_away(harness: SupervisorHarness) -> None:
    away = AwayRunner()
    away.is_remote = True
    away.exits_on_stop = True
    harness.submit()
    harness.supervisor(away, retry_seconds=0.01)
    assert away.await_start().attempt == 1
    assert away.asked > 3
    away.end(away.await_start(), "finished")
