"""The fork server as the runner sees it: what it dies of is said, and one that answers no more is replaced."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engine
from app.domain.frames import FORK, FORK_SERVER, ORDER
from app.domain.messages import Assignment, Failed, Finished, Log, MetricRows, Phase, Started
from app.runner import local
from app.runner.local import LocalRunner
from tests.app.runner.test_local import Listener, assign
from tests.support.manual_clock import ManualClock

__all__ = ["assign"]
Assign = Callable[..., Assignment]
DEFECTS = {
    "PermissionError: [Errno 13] Permission denied: 'kernels'": """
from app.worker import forking
def serve(self):
    raise PermissionError(13, "Permission denied", "kernels")
forking.ForkServer.serve = serve
""",
    "ModuleNotFoundError: import of engine halted; None in sys.modules": """
import sys
sys.modules["engine"] = None
""",
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def runner(clock: ManualClock) -> Iterator[LocalRunner]:
    runner = LocalRunner(clock, lease_seconds=20.0)
    yield runner
    runner.close()


@pytest.mark.parametrize("reason", DEFECTS)
def test_the_error_that_ends_the_fork_server_is_reported_to_fits_and_operators(
    runner: LocalRunner,
    assign: Assign,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    clock: ManualClock,
    reason: str,
) -> None:
    script = DEFECTS[reason] + "from app.worker import fork_server\nfork_server.main()"
    with monkeypatch.context() as patch:
        patch.setattr(local, "_COMMAND", (sys.executable, "-P", "-c", script))
        listener = Listener(runner)
        exited = listener.await_exit(runner.start(assign(1)))
        assert exited.reason == "fork_server"
        assert exited.detail.endswith(f"it ended by an error: {reason}")
        assert runner.unavailable_reason is not None
        assert runner.unavailable_reason.endswith(reason)
        # Each line is a record: a traceback is a field of one.
        records = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
        assert [record["level"] for record in records] == ["critical"]
        assert records[0]["traceback"].splitlines()[-1] == reason
    # It is started anew by itself, and well again once what was wrong is put right.
    while runner.unavailable_reason is not None:
        clock.advance(1.0)
        runner.receive(0.05)
    listener.await_message(runner.start(assign(2, steps=3)), Finished)


def test_a_fork_server_that_does_not_answer_is_replaced(
    runner: LocalRunner, assign: Assign, clock: ManualClock
) -> None:
    listener = Listener(runner)
    lost = runner.start(assign(1))
    listener.await_message(lost, MetricRows)
    pid = listener.await_message(lost, Started).pid
    server = int(_status(pid)[1])
    _await_ready(runner, clock, listener)
    os.kill(server, signal.SIGSTOP)
    while _status(server)[0] != "T":
        os.sched_yield()
    for _ in range(4):  # what it had answered before
        listener.heard += runner.receive(0.0)
    waiting = runner.start(assign(2))
    troubles = []
    for _ in range(6):
        troubles.append(runner.unavailable_reason)
        clock.advance(5.0)
        listener.heard += runner.receive(0.0)
    assert troubles[:2] == [None, None]
    assert troubles[3] == "the process that workers are forked from has not answered for 10 s"
    assert troubles[5] == "there is no process to fork workers from: it had not answered for 20 s and was killed"
    for handle in (lost, waiting):
        exited = listener.await_exit(handle)
        assert exited.reason == "stalled"
        assert exited.detail.endswith("it had not answered for 20 s and was killed")
    listener.await_message(runner.start(assign(3, steps=3)), Finished)
    _await_ready(runner, clock, listener)
    assert runner.unavailable_reason is None


def _status(pid: int) -> list[str]:
    """Return the fields of a process's status, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


NO_NEW_CODE = """
import ctypes
assert ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) == 0  # PR_SET_MDWE, as systemd's MemoryDenyWriteExecute
from app.worker import fork_server
fork_server.main()
"""


def test_a_fit_gets_numpy_where_the_system_lets_no_process_make_code(
    runner: LocalRunner, assign: Assign, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "native" not in engine.executors() or not _memory_can_be_denied():
        pytest.skip("needs the native executor, and Linux 6.3 or later")
    with monkeypatch.context() as patch:
        patch.setattr(local, "_COMMAND", (sys.executable, "-P", "-c", NO_NEW_CODE))
        listener = Listener(runner)
        for number in (1, 2):
            fit = runner.start(assign(number, steps=3))
            assert listener.await_message(fit, Finished) == Finished("succeeded")
            entry = listener.await_message(fit, Log)
            assert (entry.level, entry.code) == ("warning", "native_unavailable")
            assert "cannot allocate executable memory" in entry.text
            assert listener.await_message(fit, Phase).runtime["executor"] == "numpy"
        native = assign(3)
        native.runtime["executor"] = "native"
        failed = listener.await_message(runner.start(native), Failed)
        assert failed.code == "extra_missing"
        assert "cannot allocate executable memory" in failed.detail


def _memory_can_be_denied() -> bool:
    asked = "import ctypes, sys; sys.exit(ctypes.CDLL(None).prctl(66, 0, 0, 0, 0) < 0)"  # PR_GET_MDWE
    return subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0


def _await_ready(runner: LocalRunner, clock: ManualClock, listener: Listener) -> None:
    """Wait until the fork server has loaded everything and answers at once.

    A worker may say that it has started before the fork server says that it begins to load: only its answer to a ping
    shows that neither is to come.
    """
    clock.advance(5.0)
    listener.heard += runner.receive(0.0)
    while runner._server._loading or runner._server._unanswered:
        listener.heard += runner.receive(1.0)


def test_a_fork_server_whose_runner_is_gone_ends_without_a_word() -> None:
    ours, theirs = socket.socketpair()
    environment = {**os.environ, "PYTHONPATH": str(Path(engine.__file__).parents[1])}
    with theirs:
        process = subprocess.Popen(local._COMMAND, stdin=theirs.fileno(), stderr=subprocess.PIPE, env=environment)
    assert ORDER.unpack(ours.recv(ORDER.size, socket.MSG_WAITALL))[0] == FORK_SERVER
    # Its next report, that a worker ended which found nobody to talk to, meets a broken connection.
    channel, end = socket.socketpair()
    ours.shutdown(socket.SHUT_RD)
    with channel, end:
        socket.send_fds(ours, [ORDER.pack(1, FORK)], [end.fileno()])
    _, said = process.communicate(timeout=60)
    ours.close()
    assert (process.returncode, said) == (0, b"")
