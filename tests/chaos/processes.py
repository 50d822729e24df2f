"""A server's processes, seen and killed from outside."""

import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import psutil

from tests.support.workers import at_orders

FORK_SERVER = "fork_server"
"""What the command line of a server's fork server has in it, be it started or forked."""
PROMPT_SECONDS = 2.0


def family(server: int) -> list[int]:
    """Return the server's pid and those of all its descendants."""
    try:
        return [server, *(process.pid for process in psutil.Process(server).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def workers(server: int) -> list[int]:
    """Return the pids of the processes that fit: those that the server's fork server has forked for that."""
    try:
        return [child.pid for forker in _children(server) for child in at_orders(forker)]
    except psutil.NoSuchProcess:
        return []


def kill(pids: Iterable[int]) -> None:
    """Send SIGKILL to each, if it is still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def all_end(pids: Iterable[int], seconds: float = PROMPT_SECONDS) -> Iterator[None]:
    """Whatever the block does, it makes an end of all these processes within `seconds`."""
    watched = [*_watched(pids)]
    try:
        yield
        end = time.monotonic() + seconds
        waiting = set(watched)
        while waiting:
            ready, _, _ = select.select([*waiting], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{len(waiting)} processes live on after {seconds} s"
            waiting -= set(ready)
    finally:
        for descriptor in watched:
            os.close(descriptor)


def _watched(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(ProcessLookupError):
            yield os.pidfd_open(pid)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children()
    except psutil.NoSuchProcess:
        return []
