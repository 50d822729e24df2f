"""A process that workers are forked from, itself forked from one that has loaded all it needs instead of started.

To load the engine and its compiler anew for the first fit of each server would take most of that fit's time.
"""

import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NoReturn

from app.runner import fork_server

ENVIRONMENT = {name: value for name, value in fork_server._ENVIRONMENT.items() if name != "PYTHONPATH"}
"""With this a process has to be started that is to load the engine for workers."""


PREPARE = "TESTS_PREPARE_WORKERS"
"""Names a function, as module:name, that a server which tests fork has its fork server call before it serves."""

_FORK_SERVER = """
import os
from app.worker import fork_server
from tests.support.standby import preparation

preparation({name!r})()
fork_server.main()
os._exit(0)
"""


def preparation(name: str) -> Callable[[], None]:
    """Return the function that PREPARE names."""
    module, _, function = name.partition(":")
    found: Callable[[], None] = getattr(import_module(module), function)
    return found


def use_preparation(name: str) -> Callable[[], None]:
    """Return that function for a standby; fork servers that are started call it as well."""
    from app.runner import local  # a fork server does without

    local._COMMAND = (sys.executable, "-P", "-c", _FORK_SERVER.format(name=name))
    return preparation(name)


class Standby:
    """A forked process that waits for the socket of its orders, with what is used here of `subprocess.Popen`."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        """Fork it, to call `prepare` before it serves; there must be no threads yet. It ends with this process."""
        self._start, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._start.close()
            _serve(theirs, prepare)
        theirs.close()

    def start(self, orders: int) -> "Standby":
        """Have it take orders from this socket."""
        with self._start:
            socket.send_fds(self._start, [b"\0"], [orders])
        return self

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when it has ended; subprocess.TimeoutExpired if it does not within `timeout` s."""
        descriptor = os.pidfd_open(self.pid)
        try:
            if not select.select([descriptor], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a fork server", timeout or 0.0)
        finally:
            os.close(descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """Send SIGKILL."""
        os.kill(self.pid, 9)


def use_standby(prepare: Callable[[], None]) -> None:
    """Have the first fork server of this process be one that is forked now; others are started as ever."""
    waiting = [Standby(prepare)]

    def start(command: Sequence[str], *, stdin: int, **options: Any) -> Standby | subprocess.Popen[bytes]:
        return waiting.pop().start(stdin) if waiting else subprocess.Popen(command, stdin=stdin, **options)

    fork_server.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})  # type: ignore[assignment]


def _serve(start: socket.socket, prepare: Callable[[], None]) -> None:
    os.setsid()
    _, orders, _, _ = socket.recv_fds(start, 1, 1)
    if not orders:
        os._exit(0)
    start.close()
    environment = fork_server._environment()
    os.environ.clear()
    os.environ.update(environment)
    serve(orders[0], prepare)


def serve(orders: int, prepare: Callable[[], None], arguments: Sequence[str] = ()) -> NoReturn:
    """Be a fork server that takes orders from this socket, after `prepare`; `arguments` are its command line's."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor, place in ((orders, 0), (nothing, 1)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    prepare()
    # Here, since a process that only needs ENVIRONMENT does without.
    from app.worker.fork_server import main

    main(*arguments)
    os._exit(0)
