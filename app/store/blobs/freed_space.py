"""Deletes large files without a wait until their space is free.

A file system frees a file when its last name is deleted and no process has it open. What of it is on its way to the
disk has to arrive there first, which takes 0.3 ms for each megabyte of a file that was just written.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import BoundedSemaphore

LARGE_BYTES = 16 << 20
"""Smaller files are freed at once."""

HELD_FILES = 16
"""The maximum number of deleted files that are kept open; any more are freed at once."""


class FreedSpace:
    """Keeps large files open while they are deleted, and closes them one after another in a thread."""

    def __init__(self) -> None:
        """The thread is started with the first file."""
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="freed space")
        self._places = BoundedSemaphore(HELD_FILES)

    @contextmanager
    def later(self, path: Path, size: int) -> Iterator[None]:
        """Free the space of a file of `size` bytes, which the block deletes, after the block if it is large."""
        descriptor = self._hold(path) if size >= LARGE_BYTES else None
        try:
            yield
        finally:
            if descriptor is not None:
                self._free(descriptor)

    def close(self) -> None:
        """Return when all is free. What is deleted from now on is freed at once."""
        self._executor.shutdown()

    def _hold(self, path: Path) -> int | None:
        """Open a file; None if too many are open, or if it is no plain file."""
        if not self._places.acquire(blocking=False):
            return None
        try:
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._places.release()
            return None

    def _free(self, descriptor: int) -> None:
        try:
            self._executor.submit(self._close, descriptor)
        except RuntimeError:  # it was shut down
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        os.close(descriptor)
        self._places.release()
