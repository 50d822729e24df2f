"""Readers of uploads, forked from a process that has loaded what they need: most of a small upload is loading NumPy.

`python -P -m tests.support.readers`, in the environment of a reader, takes orders on its standard input, a socket,
until nobody has the other end any more. An order comes with the three standard streams of a reader, and a socket for
its exit status.
"""

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from app.ingest import child, ingest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-m", "tests.support.readers")
BLOCK = 1 << 16
ENDS = 4
"""Number of sockets that come with an order."""
NUMBER = 32


class Readers:
    """The process that readers are forked from. It is shared with the processes that are forked from this one."""

    def __init__(self) -> None:
        """Start it; it loads what it needs meanwhile."""
        environment = {**ingest._ENVIRONMENT, "PYTHONPATH": str(ROOT)}
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(COMMAND, stdin=theirs, env=environment)

    def fork(self, folder: Path) -> "Reader":
        """Return a reader that works in `folder`."""
        pairs = [*(socket.socketpair() for _ in range(3)), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        ours, theirs = zip(*pairs, strict=True)
        socket.send_fds(self._orders, [os.fsencode(folder)], [end.fileno() for end in theirs])
        for end in theirs:
            end.close()
        return Reader(*ours)


class Reader:
    """A reader's process, with what the server uses of `subprocess.Popen`."""

    def __init__(self, stdin: socket.socket, stdout: socket.socket, stderr: socket.socket, told: socket.socket) -> None:
        """`told` gives the pid, and in the end the exit status."""
        self._stdin, self._told = stdin, told
        self._output = {stdout: bytearray(), stderr: bytearray()}
        self.pid = int(told.recv(NUMBER))
        self.returncode: int | None = None

    def communicate(self, request: bytes, timeout: float) -> tuple[bytes, bytes]:
        """Send the request and return both outputs in full; subprocess.TimeoutExpired after `timeout` s."""
        with suppress(ConnectionError):  # it may have ended already
            self._stdin.sendall(request)
            self._stdin.shutdown(socket.SHUT_WR)
        end = time.monotonic() + timeout
        with selectors.DefaultSelector() as waiting:
            for stream in self._output:
                waiting.register(stream, selectors.EVENT_READ)
            while waiting.get_map():
                ready = waiting.select(max(0.0, end - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired("a reader", timeout)
                for key, _ in ready:
                    assert isinstance(key.fileobj, socket.socket)
                    block = key.fileobj.recv(BLOCK)
                    self._output[key.fileobj] += block
                    if not block:
                        waiting.unregister(key.fileobj)
        stdout, stderr = map(bytes, self._output.values())
        self._wait()
        return stdout, stderr

    def kill(self) -> None:
        """Send SIGKILL, unless it is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._wait()
        for end in (self._stdin, self._told, *self._output):
            end.close()

    def _wait(self) -> None:
        if self.returncode is None:
            self.returncode = int(self._told.recv(NUMBER))


def use_readers(readers: Readers) -> None:
    """Have the server of this process read uploads in readers that are forked."""

    def start(command: Sequence[str], *, cwd: Path, **options: Any) -> Reader | subprocess.Popen[bytes]:
        if command == ingest._COMMAND:
            return readers.fork(cwd)
        return subprocess.Popen(command, cwd=cwd, **options)  # another child, such as one that profiles

    ingest.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})  # type: ignore[assignment]


def main() -> None:
    """Fork a keeper for each order until nobody can give one."""
    orders = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need nobody to wait for them
    while True:
        order, ends, _, _ = socket.recv_fds(orders, 4096, ENDS)
        if not order:
            return
        if os.fork() == 0:
            orders.close()
            _keep(ends)
            os.chdir(order)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            child.main()
            sys.stdout.flush()
            os._exit(0)
        for end in ends:
            os.close(end)


def _keep(ends: Sequence[int]) -> None:
    """Fork the reader, in which this returns; give its pid, and in the end its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, told = ends
    reader = os.fork()
    if reader == 0:
        os.close(told)
        os.setsid()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        return
    for stream in streams:
        os.close(stream)
    with socket.socket(fileno=told) as teller:
        teller.sendall(f"{reader}".encode())
        _, status = os.waitpid(reader, 0)
        teller.sendall(f"{os.waitstatus_to_exitcode(status)}".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
