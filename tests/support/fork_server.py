"""A process that has the application loaded, from which servers are forked: loading takes most of a server's start.

So are processes that workers are forked from, for runners in the processes of tests.

`python -m tests.support.fork_server DESCRIPTOR`, as `started` runs it, takes orders on that socket until its standard
input ends. It loads nothing before the first order. Any number of processes may send orders.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

from tests.extent import FULL
from tests.support.orders import NUMBER, connect, receive_number, send_order
from tests.support.standby import ENVIRONMENT, PREPARE, serve, use_preparation, use_standby

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "tests.support.fork_server")
ORDER_MAX = 1 << 17
ENDS_MAX = 4
"""Number of descriptors that come with an order at most."""


class ForkedProcess:
    """A forked process, with what is used here of `subprocess.Popen`."""

    def __init__(self, reported: socket.socket) -> None:
        """Read the pid from `reported`, on which the exit status follows in the end."""
        self.returncode: int | None = None
        self._reported = reported
        self.pid = receive_number(reported)

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        if self.returncode is None and select.select([self._reported], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when it has ended; subprocess.TimeoutExpired if it does not within `timeout` s."""
        if self.returncode is None:
            if not select.select([self._reported], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended: it may have, and its exit status still be on its way."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _end(self) -> None:
        self.returncode = receive_number(self._reported)
        self._reported.close()


class ForkedServer(ForkedProcess):
    """A server's process, and the ends of its output."""

    def __init__(self, reported: socket.socket, stdout: TextIO, stderr: TextIO) -> None:
        """Read the pid from `reported`, as for any process."""
        super().__init__(reported)
        self.stdout = stdout
        self.stderr = stderr


class ForkServer:
    """Has servers forked from the process whose orders go to the socket of this name."""

    def __init__(self, name: str) -> None:
        """Connect to it."""
        self._orders = connect(name)

    def close(self) -> None:
        """Send no orders any more."""
        self._orders.close()

    def fork(self, environment: Mapping[str, str], command: Sequence[str] = ()) -> ForkedServer:
        """Return a server that is starting, set up by `environment`, which says its URL in a line.

        A `command` is given to the command line in its place.
        """
        (stdout, out), (stderr, err) = os.pipe(), os.pipe()
        reported = send_order(self._orders, environment, command, [out, err])
        os.close(out)
        os.close(err)
        return ForkedServer(reported, os.fdopen(stdout), os.fdopen(stderr))

    def fork_workers(self, environment: Mapping[str, str], command: Sequence[str], orders: int) -> ForkedProcess:
        """Return a process that workers are forked from, which takes `orders` on that socket.

        It has this process's standard error. The `command` is what would follow the module's name on a command line.
        """
        return ForkedProcess(send_order(self._orders, environment, command, [1, 2, orders]))


@contextmanager
def started() -> Iterator[str]:
    """Run such a process and yield the name of its socket; it ends with this one. Servers of it continue."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as orders:
        orders.bind("")  # to a name of the system's choice, which is no file's
        name = orders.getsockname()[1:].decode()
        process = subprocess.Popen(
            (*COMMAND, str(orders.fileno())),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            env={**os.environ, **ENVIRONMENT},
            pass_fds=[orders.fileno()],
        )
    with process:
        yield name


def _send(sender: socket.socket, number: int) -> None:
    sender.sendall(number.to_bytes(NUMBER, "big", signed=True))


def _await_order(orders: socket.socket) -> None:
    """Wait for the next order, or exit where there will be none."""
    if orders not in select.select([orders, 0], [], [])[0]:
        os._exit(0)


def _obey(orders: socket.socket) -> tuple[list[str], int | None]:
    """Fork a keeper for each order; returns in the forked process alone.

    That gets its command, and one that workers are to be forked from the socket of its orders.
    """
    while True:
        _await_order(orders)
        order, ends, _, _ = socket.recv_fds(orders, ORDER_MAX, ENDS_MAX)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            orders.close()
            _open_nothing()
            reported, out, err, *channel = ends
            _keep(reported, out, err, *channel)
            os.environ.clear()
            os.environ.update(json.loads(order)["environment"])
            command: list[str] = json.loads(order)["command"]
            return command, channel[0] if channel else None
        for end in ends:
            os.close(end)


def _open_nothing() -> None:
    """Have standard input end at once."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)


def _keep(reported: int, out: int, err: int, *channel: int) -> None:
    """Fork the process, in which this returns; send its pid, and in the end its exit status."""
    server = os.fork()
    if server == 0:
        os.close(reported)
        for end, place in ((out, 1), (err, 2)):
            os.dup2(end, place)
            os.close(end)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return
    for end in (out, err, *channel):
        os.close(end)
    with socket.socket(fileno=reported) as sender, suppress(BrokenPipeError):  # who has sent the order may be gone
        _send(sender, server)
        if not channel:  # one that workers are forked from ends when its orders do
            _end_with(sender, server)
        _send(sender, os.waitstatus_to_exitcode(os.waitpid(server, 0)[1]))
    os._exit(0)


def _end_with(sender: socket.socket, server: int) -> None:
    """Wait until the process has exited; kill it if the sender of its order exits first, as when a test is stopped."""
    ended = os.pidfd_open(server)
    if ended not in select.select([ended, sender], [], [])[0]:
        os.kill(server, signal.SIGKILL)
    os.close(ended)


def _exit(status: int) -> NoReturn:
    """Exit as the interpreter does, but for freeing all objects: each page of theirs would be copied for it."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(descriptor: int) -> NoReturn:
    """Take orders on this socket; what returns from them is a server, which runs and exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=descriptor)
    _await_order(orders)
    # Here, since those who only give orders do without.
    from app.system.imports import importing

    with importing():
        from app.__main__ import main as run_command
        from app.config.settings import Settings
        from app.main.application import ROUTERS, run
        from tests.support.gate import VARIABLE, hold_workers, use_gate
        from tests.support.readers import Readers, use_readers
        from tests.support.warming import load_kernels, warm_up

    readers = None if FULL else Readers()
    import_module("app.worker.forking")
    assert all(route.app for router in ROUTERS for route in router.routes)  # derived here, and not in each server
    if FULL:
        load_kernels()
    else:
        warm_up()
    gc.collect()
    gc.freeze()
    command, channel = _obey(orders)
    gate, name = os.environ.get(VARIABLE), os.environ.get(PREPARE)
    hold = partial(hold_workers, Path(gate)) if gate else lambda: None
    if channel is not None:
        os.setsid()
        serve(channel, hold, command)
    if gate:
        use_gate(Path(gate))
    prepare = use_preparation(name) if name else hold
    if not command and not FULL:
        use_standby(prepare)
    if not command and readers:
        use_readers(readers)
    status = run_command(command) if command else run(Settings(), lambda url: print(url, flush=True))  # noqa: T201 (as a server of a process of its own says it)
    _exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]))
