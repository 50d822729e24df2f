"""The confined processes that read, profile and write datasets, forked from one that has loaded what they need.

Most of a small upload is loading NumPy. `python -P -m tests.support.readers`, in the environment of such a process,
takes orders on its standard input, a socket, until nobody has the other end any more. An order names the module to run
and its folder; with it come the three standard streams, and a socket for the exit status.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from app.ingest import child, export_child, ingest, profile_child

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-m", "tests.support.readers")
BLOCK = 1 << 16
ENDS = 4
"""Number of sockets that come with an order."""
NUMBER = 32
MODULES = {module.__name__: module.main for module in (child, export_child, profile_child)}
_COMMANDS = {module._COMMAND: name for module, name in zip((ingest, export_child, profile_child), MODULES, strict=True)}


class Readers:
    """The process that readers are forked from. It is shared with the processes that are forked from this one."""

    def __init__(self, *modules: str) -> None:
        """Start it; it imports what all readers need, and `modules`, in the background."""
        environment = {**ingest._ENVIRONMENT, "PYTHONPATH": str(ROOT)}
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen((*COMMAND, *modules), stdin=theirs, env=environment)

    def fork(self, module: str, folder: Path) -> "Reader":
        """Return a process that runs one of MODULES in `folder`."""
        pairs = [*(socket.socketpair() for _ in range(3)), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        ours, theirs = zip(*pairs, strict=True)
        order = json.dumps([module, str(folder)]).encode()
        socket.send_fds(self._orders, [order], [end.fileno() for end in theirs])
        for end in theirs:
            end.close()
        return Reader(*ours)

    def close(self) -> None:
        """End the process; readers of it go on."""
        self._orders.close()
        self._process.wait()


class Reader:
    """A reader's process, with what the server uses of `subprocess.Popen`."""

    def __init__(
        self, stdin: socket.socket, stdout: socket.socket, stderr: socket.socket, reported: socket.socket
    ) -> None:
        """Read the pid from `reported`, on which the exit status follows in the end."""
        self._stdin, self._reported = stdin, reported
        self._output = {stdout: bytearray(), stderr: bytearray()}
        self.stdin = stdin.makefile("wb", buffering=0)
        self.stdout, self.stderr = (end.makefile("rb", buffering=0) for end in (stdout, stderr))
        self.pid = int(reported.recv(NUMBER))
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
        self.wait()
        return stdout, stderr

    def poll(self) -> int | None:
        """Return the exit status; None if it has not ended."""
        if self.returncode is None:
            with suppress(BlockingIOError):
                self.returncode = int(self._reported.recv(NUMBER, socket.MSG_DONTWAIT))
        return self.returncode

    def kill(self) -> None:
        """Send SIGKILL, unless it is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return the exit status when it has ended."""
        if self.returncode is None:
            self.returncode = int(self._reported.recv(NUMBER))
        return self.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait()
        for end in (self.stdin, self.stdout, self.stderr, self._stdin, self._reported, *self._output):
            end.close()


def use_readers(readers: Readers) -> None:
    """Have this process fork readers, and whatever else reads or writes datasets, from there on."""
    ingest.subprocess = _forking(readers)  # type: ignore[assignment]


@contextmanager
def using_readers(*modules: str) -> Iterator[None]:
    """Have this process fork them in the block, with `modules` loaded."""
    readers, before = Readers(*modules), ingest.subprocess
    try:
        use_readers(readers)
        yield
    finally:
        ingest.subprocess = before
        readers.close()


def _forking(readers: Readers) -> SimpleNamespace:
    """Return the module subprocess, with a Popen that forks what it is given a command of."""

    def start(command: Sequence[str], *, cwd: Path, **options: Any) -> Reader | subprocess.Popen[bytes]:
        module = _COMMANDS.get(tuple(command))
        return subprocess.Popen(command, cwd=cwd, **options) if module is None else readers.fork(module, cwd)

    return SimpleNamespace(**{**vars(subprocess), "Popen": start})


def main() -> None:
    """Load the modules that are named, and fork a keeper for each order until nobody can give one."""
    for name in sys.argv[1:]:
        import_module(name)
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
            module, folder = json.loads(order)
            os.chdir(folder)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            MODULES[module]()
            sys.stdout.flush()
            os._exit(0)
        for end in ends:
            os.close(end)


def _keep(ends: Sequence[int]) -> None:
    """Fork the reader, in which this returns; give its pid, and in the end its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, reported = ends
    reader = os.fork()
    if reader == 0:
        os.close(reported)
        os.setsid()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        return
    for stream in streams:
        os.close(stream)
    with socket.socket(fileno=reported) as sender, suppress(ConnectionError):  # the server may have ended
        sender.sendall(f"{reader}".encode())
        _, status = os.waitpid(reader, 0)
        sender.sendall(f"{os.waitstatus_to_exitcode(status)}".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
