"""Workers of runners in the process of the tests: forked from one that is itself forked, instead of started."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from app.runner import fork_server
from app.worker.standby import NAME
from tests.extent import FULL
from tests.support.forked_workers import forking
from tests.support.server import fork_server as parent


@contextmanager
def forking_workers() -> Iterator[None]:
    """Have runners of this process fork what they would start to fork workers from.

    Loading the engine and its compiler takes a second.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not FULL:
            patch.setattr(fork_server, "subprocess", forking(parent))
        yield


@contextmanager
def starting_workers() -> Iterator[None]:
    """Have them started in the block, as a server does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "subprocess", subprocess)
        yield


def at_orders(fork_server: psutil.Process) -> list[psutil.Process]:
    """Return the processes that a fork server has forked for orders: without the one that waits for the next."""
    return [child for child in fork_server.children() if not is_waiting(child)]


def is_waiting(process: psutil.Process) -> bool:
    """Tell whether a process is there and waits for an order."""
    try:
        return process.name() == NAME
    except psutil.NoSuchProcess:
        return False
