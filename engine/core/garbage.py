"""Garbage collection beside the allocation of many objects at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

COLLECTIONS_BETWEEN = 1000
"""Collections of the youngest objects, of 700 each, until what has survived one is visited again."""


class OldGenerations:
    """The objects of this process that have survived a collection, which blocks in any thread put off visiting.

    A visit of hundreds of thousands of objects halts all threads for tens of milliseconds.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks = 0
        self._usual = gc.get_threshold()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Visit them rarely while many objects are made in this block that stay until its end.

        What becomes garbage young is collected as usual.
        """
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            self._blocks += 1
            if self._blocks == 1:
                self._usual = gc.get_threshold()
                if gc.get_count()[1] > self._usual[1]:
                    gc.collect(1)  # due since the last block, of which most is gone by now
                gc.set_threshold(self._usual[0], COLLECTIONS_BETWEEN, self._usual[2])

    def _leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                gc.set_threshold(*self._usual)


rare_collections = OldGenerations().deferred
"""Context manager, or decorator of a function, in which the older generations of this process are collected rarely."""
