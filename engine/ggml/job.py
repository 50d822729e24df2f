"""Job: tasks of which some wait for others, worked off by any number of threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

Task = Callable[[], bool]
"""Does one thing; True stops the job."""


class Job:
    """Tasks, each run once, after those it waits for.

    What a task computes depends on no other that runs beside it, so the results are those of one thread, to the bit.

    Attributes:
        stopped: whether a task asked to stop; those that had not begun were left out.
    """

    def __init__(self, tasks: Sequence[Task], sources: Sequence[Sequence[int]]) -> None:
        """Take the tasks and for each the indices of the tasks it waits for."""
        self.stopped = False
        self._tasks = tasks
        self._error: BaseException | None = None
        self._waits_for = [len(set(needed)) for needed in sources]
        self._followers: list[list[int]] = [[] for _ in tasks]
        for index, needed in enumerate(sources):
            for source in set(needed):
                self._followers[source].append(index)
        self._ready = deque(index for index, count in enumerate(self._waits_for) if not count)
        self._left = len(tasks)
        self._running = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        """Run tasks until none is left. IEEE results (inf, NaN) are results, not warnings."""
        with np.errstate(all="ignore"):
            while (index := self._next()) is not None:
                stop = True
                try:
                    stop = self._tasks[index]()
                except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for the job
                    self._error = self._error or error
                finally:
                    self._finish(index, stop)

    def wait(self) -> None:
        """Wait until no task is left or running; raise what a task raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._over() and not self._running)
        if self._error is not None:
            raise self._error

    def _over(self) -> bool:
        return self.stopped or not self._left

    def _next(self) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: self._over() or bool(self._ready))
            if self._over():
                return None
            self._running += 1
            return self._ready.popleft()

    def _finish(self, index: int, stop: bool) -> None:
        with self._changed:
            self._running -= 1
            self._left -= 1
            self.stopped = self.stopped or stop
            for follower in self._followers[index]:
                self._waits_for[follower] -= 1
                if not self._waits_for[follower]:
                    self._ready.append(follower)
            self._changed.notify_all()
