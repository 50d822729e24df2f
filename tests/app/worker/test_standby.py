"""The worker that is forked before it is needed, as the runner sees it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import psutil
import pytest

from app.domain.clock import SystemClock
from app.domain.messages import Assignment, Finished, MetricRows, Started
from app.runner.local import LocalRunner
from app.runner.port import Report
from app.worker.last_fit import MEMORY_MAX
from tests.app.runner.conftest import all_end
from tests.app.runner.test_local import Listener, assign
from tests.support.patience import PATIENCE
from tests.support.workers import is_waiting

__all__ = ["assign"]
Assign = Callable[..., Assignment]


@pytest.fixture
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(SystemClock())
    yield runner
    runner.close()


class Fits:
    """Fits of a step, one after another."""

    def __init__(self, runner: LocalRunner, assign: Assign) -> None:
        self._runner, self._assign, self._listener = runner, assign, Listener(runner)
        self._numbers = count(1)

    def run(self) -> int:
        """Run a fit to its end; return the pid of its worker."""
        handle = self._runner.start(self._assign(next(self._numbers), steps=1))
        pid = self._listener.await_message(handle, Started).pid
        assert self._listener.await_message(handle, Finished) == Finished("succeeded")
        self._listener.await_exit(handle)
        return pid

    def fork_server(self) -> psutil.Process:
        """Return the process that workers are forked from, after the first fit."""
        handle = self._runner.start(self._assign(next(self._numbers)))
        pid = self._listener.await_message(handle, Started).pid
        found = psutil.Process(psutil.Process(pid).ppid())
        self._runner.kill(handle)
        self._listener.await_exit(handle)
        return found

    def waiting(self, fork_server: psutil.Process) -> int:
        """Return the pid of the worker that waits, when there is one."""
        while not (children := [child for child in fork_server.children() if is_waiting(child)]):
            self._runner.receive(0.01)
        return children[0].pid


def test_a_worker_that_waits_takes_the_next_fit(runner: LocalRunner, assign: Assign) -> None:
    fits = Fits(runner, assign)
    fork_server = fits.fork_server()
    # While the fork server loads kernels it forks another one in its place.
    while fits.waiting(fork_server) != fits.run():
        pass


def test_a_fit_that_it_has_begun_gives_the_losses_of_any_other_worker(runner: LocalRunner, assign: Assign) -> None:
    """Bit for bit: it has trained on zeros before."""
    fits, listener, losses, taken = Fits(runner, assign), Listener(runner), [], 0
    fork_server = fits.fork_server()
    # The second worker of those that wait was forked after a fit had ended.
    for number in count(10):
        if taken == 2:
            break
        waiting = fits.waiting(fork_server)
        assignment = replace(assign(number, steps=5, record={"every_steps": 1}), memory_bytes=MEMORY_MAX)
        handle = runner.start(assignment)
        taken += listener.await_message(handle, Started).pid == waiting
        listener.await_exit(handle)
        messages = (news.message for news in listener.heard if isinstance(news, Report) and news.handle == handle)
        rows = (row for message in messages if isinstance(message, MetricRows) for row in message.rows)
        losses.append([json.loads(row)["values"]["loss"] for row in rows])
    assert len(losses[0]) == 5
    assert all(each == losses[0] for each in losses)


def test_one_that_dies_is_replaced(runner: LocalRunner, assign: Assign) -> None:
    fits = Fits(runner, assign)
    fork_server = fits.fork_server()
    waiting = fits.waiting(fork_server)
    with all_end([waiting], seconds=PATIENCE):
        psutil.Process(waiting).kill()
    assert fits.run() != waiting
    fits.waiting(fork_server)


def test_it_ends_with_the_fork_server(runner: LocalRunner, assign: Assign) -> None:
    fits = Fits(runner, assign)
    fork_server = fits.fork_server()
    with all_end([fits.waiting(fork_server), fork_server.pid], seconds=PATIENCE):
        fork_server.kill()
