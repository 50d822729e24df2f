"""Threads of the process that run shards: never more at work than there are cores, over all fits of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue

from engine.core.cpu import usable_cores

Job = Callable[[], object]


class ThreadPool:
    """Threads that wait for work, and the count of cores that are taken."""

    def __init__(self, cores: int) -> None:
        """Start no thread yet.

        Args:
            cores: how many threads may work at a time, the callers' included.
        """
        self.cores = cores
        self._lock = threading.Lock()
        self._working = 0
        self._idle: list[SimpleQueue[Job]] = []

    @contextmanager
    def members(self, wanted: int) -> Iterator[list[SimpleQueue[Job]]]:
        """Lend helpers to the calling thread, so that with it at most `wanted` work, and no more than are free.

        What is put into the queue of a helper is run by it.
        """
        with self._lock:
            self._working += 1
            count = max(min(wanted - 1, self.cores - self._working), 0)
            self._working += count
            lent = [self._idle.pop() if self._idle else _hired() for _ in range(count)]
        try:
            yield lent
        finally:
            with self._lock:
                self._working -= 1 + count
                self._idle += lent


def _hired() -> SimpleQueue[Job]:
    jobs: SimpleQueue[Job] = SimpleQueue()
    threading.Thread(target=_work, args=(jobs,), name="adjoint-shard", daemon=True).start()
    return jobs


def _work(jobs: SimpleQueue[Job]) -> None:
    while True:
        jobs.get()()


@cache
def thread_pool() -> ThreadPool:
    """Return the threads of this process."""
    return ThreadPool(usable_cores())
