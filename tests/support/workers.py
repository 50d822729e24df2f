"""Workers of runners in the process of the tests: forked from one that is itself forked, instead of started."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from app.runner import fork_server, local
from tests.extent import FULL
from tests.support import gate
from tests.support.fork_server import ForkedProcess
from tests.support.server import fork_server as parent

_COMMAND = local._COMMAND


@contextmanager
def forking_workers() -> Iterator[None]:
    """Have runners of this process fork what they would start to fork workers from.

    Loading the engine and its compiler takes a second. A command line that a test has changed is started as it is.
    `/proc` shows the command line and the environment of the process that all are forked from.
    """

    def start(
        command: Sequence[str], *, stdin: int, env: Mapping[str, str], **options: Any
    ) -> ForkedProcess | subprocess.Popen[bytes]:
        beginning, rest = tuple(command[: len(_COMMAND)]), command[len(_COMMAND) :]
        if beginning == _COMMAND:
            return parent().fork_workers(env, rest, stdin)
        if beginning == gate.COMMAND:
            return parent().fork_workers({**env, gate.VARIABLE: rest[0]}, rest[1:], stdin)
        return subprocess.Popen(command, stdin=stdin, env=env, **options)

    with pytest.MonkeyPatch.context() as patch:
        if not FULL:
            patch.setattr(fork_server, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))
        yield


@contextmanager
def starting_workers() -> Iterator[None]:
    """Have them started in the block, as a server does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "subprocess", subprocess)
        yield
