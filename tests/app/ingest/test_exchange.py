"""Answers of a process that forks for each request: lines as they come, and how the fork ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.ingest import exchange
from app.ingest.exchange import ChildError, Process, ask_reader, end_process
from app.ingest.limits import IngestLimits, IngestOptions
from app.ingest.verdict import IngestRequest, encode_request
from tests.support.patience import LONGEST_WAIT

FORKING = """
import os, sys
from app.ingest.exchange import pass_on
for line in sys.stdin.buffer:
    output, written = os.pipe()
    fork = os.fork()
    if fork == 0:
        os.dup2(written, 1)
        exec(line)
        os._exit(0)
    os.close(written)
    pass_on(output, fork, 1)
    os.close(output)
"""


@contextmanager
def forking(script: str = FORKING) -> Iterator[Process]:
    pipe = subprocess.PIPE
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = (sys.executable, "-P", "-c", script)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(process: Process, request: bytes, timeout: float = LONGEST_WAIT) -> list[bytes]:
    return [*ask_reader(process, request + b"\n", timeout)]


def test_lines_of_any_length_come_whole_and_one_request_after_another():
    with forking() as process:
        for size in (0, 1, 70_000, 1 << 20):
            request = b"os.write(1, b'a\\r\\n'); print('b' * %d, flush=True); os.write(1, b'c')" % size
            assert lines_of(process, request) == [b"a\r\n", b"b" * size + b"\n", b"c"]
        assert lines_of(process, b"pass") == []


def test_a_line_comes_before_the_next_one_is_written(tmp_path: Path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with forking() as process:
        request = f"os.write(1, b'1\\n'); open({str(gate)!r}).read(); os.write(1, b'2\\n')\n"
        lines = ask_reader(process, request.encode(), LONGEST_WAIT)
        assert next(lines) == b"1\n"
        gate.write_bytes(b"")
        assert [*lines] == [b"2\n"]


@pytest.mark.parametrize(
    ("request_line", "said"),
    [
        (b"os.write(1, b'why'); os._exit(3)", "exit status 3: why"),
        (b"os.kill(os.getpid(), 9)", f"exit status {-signal.SIGKILL}"),
        (b"os.kill(os.getppid(), 9); os.read(0, 1)", f"exit status {-signal.SIGKILL}"),
    ],
)
def test_a_fork_that_fails_is_an_error(request_line: bytes, said: str):
    with forking() as process, pytest.raises(ChildError, match=said):
        lines_of(process, request_line)


def test_an_answer_is_not_waited_for_longer_than_allowed():
    with forking() as process, pytest.raises(ChildError, match="no verdict"):
        lines_of(process, b"import time; time.sleep(1000)", 0.001)


@pytest.mark.parametrize("request_line", [b"x", b"x" * (1 << 20)])
def test_a_process_that_has_ended_says_why(request_line: bytes):
    with forking("import sys; sys.exit('it cannot start')") as process, pytest.raises(ChildError) as caught:
        lines_of(process, request_line)
    assert str(caught.value) == "exit status 1: it cannot start\n"


def test_a_fork_has_ended_when_its_process_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "FORK_SECONDS", LONGEST_WAIT)
    script = (
        "import os, time; from app.ingest import child\n"
        "def wait(*_):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(1000)\n"
        "child.read_file = wait\n"
        "child.main()"
    )
    (tmp_path / "upload").write_bytes(b"a\n1\n")
    request = IngestRequest(tmp_path / "upload", "csv", tmp_path, IngestOptions(), IngestLimits())
    with forking(script) as process:
        fork = Path(f"/proc/{int(next(ask_reader(process, encode_request(request), LONGEST_WAIT)))}/fd")
        assert len([*fork.iterdir()]) == 4, "its three streams, and by what the server knows that it has not ended"
        end_process(process)
    assert not fork.exists() or not [*fork.iterdir()]
