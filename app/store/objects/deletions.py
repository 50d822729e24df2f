"""Deletions of objects: in the background, so that ending or pruning a fit does not wait for the object storage."""

import threading
from collections.abc import Callable

from app.domain.errors import StorageUnavailable

RETRY_SECONDS = 5.0


class Deletions:
    """The digests of blobs that are to be deleted. What a stop leaves of them becomes an orphan."""

    def __init__(self, delete: Callable[[str], None]) -> None:
        """Call `delete` with one digest after another, again and again while it raises StorageUnavailable."""
        self._delete = delete
        self._pending: dict[str, None] = {}
        self._present: str | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, digest: str) -> None:
        """Have a blob deleted soon."""
        with self._changed:
            if self._closed:
                return
            self._pending[digest] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="deletions", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def cancel(self, digest: str) -> None:
        """Return when the blob is not being deleted, nor will be because of an earlier `add`."""
        with self._changed:
            self._changed.wait_for(lambda: self._present != digest)
            self._pending.pop(digest, None)  # only now: a deletion that has failed is pending again

    def wait(self, timeout: float) -> bool:
        """Return whether all are deleted; wait at most `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending and self._present is None, timeout)

    def close(self) -> None:
        """Delete nothing more."""
        with self._changed:
            self._closed = True
            self._pending.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._closed)
                if self._closed:
                    return
                self._present = digest = next(iter(self._pending))
                del self._pending[digest]
            failed = False
            try:
                self._delete(digest)
            except StorageUnavailable:
                failed = True
            with self._changed:
                self._present = None
                if failed:
                    self._pending[digest] = None
                self._changed.notify_all()
                if failed:
                    self._changed.wait_for(lambda: self._closed, RETRY_SECONDS)
