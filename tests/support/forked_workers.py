"""Processes that workers are forked from, forked from the one of the tests (`fork_server`) instead of started."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from app.runner import fork_server, local
from tests.extent import FULL
from tests.support import gate
from tests.support.fork_server import ForkedProcess, ForkServer
from tests.support.orders import SHARED

_COMMAND = local._COMMAND


def forking(parent: Callable[[], ForkServer]) -> SimpleNamespace:
    """Return what `app.runner.fork_server` is to have as its `subprocess`: there, `parent` forks what it starts.

    A command line that a test has changed is started as it is. `/proc` shows the command line and the environment of
    the process that all are forked from.
    """

    def start(
        command: Sequence[str], *, stdin: int, env: Mapping[str, str], **options: Any
    ) -> ForkedProcess | subprocess.Popen[bytes]:
        beginning, rest = tuple(command[: len(gate.COMMAND)]), command[len(gate.COMMAND) :]
        if beginning == gate.COMMAND:
            return parent().fork_workers({**env, gate.VARIABLE: rest[0]}, rest[1:], stdin)
        if beginning == _COMMAND:
            return parent().fork_workers(env, rest, stdin)
        return subprocess.Popen(command, stdin=stdin, env=env, **options)

    return SimpleNamespace(**{**vars(subprocess), "Popen": start})


def use_shared_fork_server() -> None:
    """Have this process's runners use the fork server that it was told of, if it reaches that.

    From another network namespace it does not; they start what they need then.
    """
    if not FULL and SHARED in os.environ:
        with suppress(OSError):
            parent = ForkServer(os.environ[SHARED])
            fork_server.subprocess = forking(lambda: parent)  # type: ignore[assignment]  # stands in for a module
