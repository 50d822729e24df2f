import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import engine
from app.domain.clock import SystemClock
from app.domain.messages import (
    Assignment,
    CheckpointWritten,
    Failed,
    Finished,
    Heartbeat,
    Message,
    MetricRows,
    Phase,
    Started,
)
from app.domain.runtime import allot
from app.runner.local import LocalRunner
from app.runner.port import Exited, Handle, Report
from tests.support.patience import PATIENCE
from tests.support.workers import starting_workers

from .conftest import all_end

GRAPH = {
    "inputs": {"x": ["batch", 2]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}
ENDLESS = {
    "steps": 10**9,
    "optimizer": {"kind": "sgd", "lr": 0.001},
    "checkpoint": {"every_epochs": None},
    "record": {"every_steps": 1},
}


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    """One for all: that it stays usable after each of these tests is a test by itself."""
    runner = LocalRunner(SystemClock())
    runner.open()
    yield runner
    runner.close()


Assign = Callable[..., Assignment]


@pytest.fixture
def assign(tmp_path: Path) -> Assign:
    np.save(tmp_path / "x.npy", np.ones((64, 2), "float32"))
    definition = engine.parse_graph(GRAPH).to_json()

    def build(number: int = 1, **request: Any) -> Assignment:
        staging = tmp_path / f"staging-{number}"
        staging.mkdir()
        return Assignment(
            fit_id=f"fit_{number}",
            attempt=1,
            token=f"token {number}",
            definition=definition,
            request={**ENDLESS, **request},
            columns={"x": [str(tmp_path / "x.npy")]},
            validation_columns=None,
            resume_from=None,
            staging=str(staging),
            runtime=allot({}, None, cores=1, workers=1).to_json(),
        )

    return build


class Listener:
    """Keeps what attempts said, so that a test can wait for one message after another."""

    def __init__(self, runner: LocalRunner) -> None:
        self._runner = runner
        self.heard: list[Report | Exited] = []

    def await_message(self, handle: Handle, kind: type[Message]) -> Any:
        def said() -> list[Message]:
            reports = (news for news in self.heard if isinstance(news, Report) and news.handle == handle)
            return [report.message for report in reports if isinstance(report.message, kind)]

        self._until(lambda: bool(said()))
        return said()[-1]

    def await_exit(self, handle: Handle) -> Exited:
        def exits() -> list[Exited]:
            return [news for news in self.heard if isinstance(news, Exited) and news.handle == handle]

        self._until(lambda: bool(exits()))
        return exits()[0]

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            left = end - time.monotonic()
            assert left > 0, f"it was not heard in time; known are {self._runner.known()}"
            self.heard += self._runner.receive(left)


@pytest.fixture
def listener(runner: LocalRunner) -> Iterator[Listener]:
    listener = Listener(runner)
    yield listener
    for handle in runner.known():
        runner.kill(handle)
        listener.await_exit(handle)


def test_a_process_starts_reports_and_ends(runner: LocalRunner, assign: Assign, listener: Listener) -> None:
    handle = runner.start(assign(steps=3))
    assert runner.known() == (handle,)
    exited = listener.await_exit(handle)
    reports = [news for news in listener.heard if isinstance(news, Report)]
    assert [report.number for report in reports] == [*range(1, len(reports) + 1)]
    kinds = [type(report.message) for report in reports]
    kinds = [kind for kind in kinds if kind is not Heartbeat]  # of a slow machine
    assert kinds[:2] == [Started, Phase]
    assert kinds[-2:] == [CheckpointWritten, Finished]
    assert MetricRows in kinds
    assert listener.heard[-1] == exited
    assert exited.reason == "finished"
    assert runner.known() == ()


def test_a_killed_process_is_reported_after_what_it_said(
    runner: LocalRunner, assign: Assign, listener: Listener
) -> None:
    handle = runner.start(assign())
    listener.await_message(handle, MetricRows)
    runner.kill(handle)
    assert listener.await_exit(handle).reason == "killed"
    assert isinstance(listener.heard[-1], Exited)


@pytest.mark.parametrize(("kind", "outcome"), [("cancel", "cancelled"), ("drain", "drained")])
def test_a_process_stops_when_asked_with_a_checkpoint(
    runner: LocalRunner, assign: Assign, listener: Listener, kind: Any, outcome: Any
) -> None:
    handle = runner.start(assign())
    listener.await_message(handle, MetricRows)
    runner.stop(handle, kind, grace=PATIENCE)
    assert listener.await_message(handle, Finished) == Finished(outcome)
    written = listener.await_message(handle, CheckpointWritten)
    assert engine.Checkpoint.load(Path(written.path)).cursor["step"] == written.step
    assert listener.await_exit(handle).reason == "finished"


def test_a_process_that_is_asked_before_it_is_there_stops(
    runner: LocalRunner, assign: Assign, listener: Listener
) -> None:
    handle = runner.start(assign())
    runner.stop(handle, "cancel", grace=PATIENCE)
    assert listener.await_message(handle, Finished) == Finished("cancelled")
    assert listener.await_exit(handle).reason == "finished"


def test_a_process_that_does_not_stop_in_time_is_killed(
    runner: LocalRunner, assign: Assign, listener: Listener
) -> None:
    handle = runner.start(assign())
    os.kill(listener.await_message(handle, Started).pid, signal.SIGSTOP)
    runner.stop(handle, "cancel", grace=0.05)
    assert listener.await_exit(handle).reason == "killed"


def test_a_process_that_stands_still_does_not_hold_up_another(
    runner: LocalRunner, assign: Assign, listener: Listener
) -> None:
    still = runner.start(assign(1))
    os.kill(listener.await_message(still, Started).pid, signal.SIGSTOP)
    moving = runner.start(assign(2, steps=3))
    assert listener.await_message(moving, Finished) == Finished("succeeded")
    assert still in runner.known()


def test_what_a_held_process_says_is_kept_until_it_is_wanted(
    runner: LocalRunner, assign: Assign, listener: Listener
) -> None:
    handle = runner.start(assign())
    listener.await_message(handle, MetricRows)
    assert runner.receive(0.2, hold={handle}) == []
    assert runner.receive(PATIENCE)


def test_a_process_leaves_the_machine_usable_and_computes_with_one_thread(
    runner: LocalRunner, assign: Assign, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = runner.start(assign())
    process = psutil.Process(listener.await_message(handle, Started).pid)
    listener.await_message(handle, MetricRows)
    assert process.nice() == min(10 + psutil.Process().nice(), 19)
    assert resource.prlimit(process.pid, resource.RLIMIT_CORE) == (0, 0)
    # The fit, and the thread that listens; the thread that has verified the files may not have ended yet.
    end = time.monotonic() + PATIENCE
    while process.num_threads() != 2:
        assert time.monotonic() < end


def test_a_worker_has_an_environment_of_its_own_without_the_settings_of_the_server(
    assign: Assign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJOINT_API_KEY", "secret")
    runner = LocalRunner(SystemClock())
    listener = Listener(runner)
    with starting_workers():
        handle = runner.start(assign())
    environment = psutil.Process(listener.await_message(handle, Started).pid).environ()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        assert environment[name] == "1"
    assert environment["PYTHONHASHSEED"] == "0"
    assert "ADJOINT_API_KEY" not in environment
    runner.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_only_the_server_stops_a_process(
    runner: LocalRunner, assign: Assign, listener: Listener, number: signal.Signals
) -> None:
    handle = runner.start(assign())
    pid = listener.await_message(handle, Started).pid
    os.kill(pid, number)
    os.kill(psutil.Process(pid).ppid(), number)
    runner.stop(handle, "drain", grace=PATIENCE)
    assert listener.await_message(handle, Finished) == Finished("drained")


def test_a_fit_that_cannot_be_done_says_why(runner: LocalRunner, assign: Assign, listener: Listener) -> None:
    handle = runner.start(assign(batch_size=0))
    failed = listener.await_message(handle, Failed)
    assert failed.code == "document_invalid"
    assert "/batch_size" in failed.detail


def test_the_death_of_the_fork_server_takes_its_workers_and_is_made_good(
    runner: LocalRunner, assign: Assign, listener: Listener
) -> None:
    lost = runner.start(assign(1))
    pid = listener.await_message(lost, Started).pid
    fork_server = psutil.Process(pid).parent()
    assert fork_server is not None
    with all_end([pid], seconds=PATIENCE):
        fork_server.kill()
        assert listener.await_exit(lost).reason == "killed"
    found = runner.start(assign(2, steps=3))
    assert listener.await_message(found, Finished) == Finished("succeeded")


def test_a_wake_ends_the_wait(runner: LocalRunner) -> None:
    runner.wake()
    started = time.monotonic()
    assert runner.receive(PATIENCE) == []
    assert time.monotonic() - started < PATIENCE / 2


def test_closing_leaves_no_process(assign: Assign) -> None:
    runner = LocalRunner(SystemClock())
    listener = Listener(runner)
    pids = [listener.await_message(runner.start(assign(number)), Started).pid for number in (1, 2)]
    parent = psutil.Process(pids[0]).ppid()
    with all_end([*pids, parent], seconds=PATIENCE):
        runner.close()
    runner.wake()
