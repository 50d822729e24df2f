"""Deleting blobs that nothing refers to any more, never one that a running request relies on."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from app.blobs.store import BlobStore
from app.store.unit_of_work import Store


class BlobSweeper:
    """Same bytes are the same blob, so one may be wanted again while its last owner is deleted.

    A request that stores blobs does so within `holding`, until the row that refers to them is committed; what is
    discarded meanwhile is looked at once nobody holds.
    """

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        """Delete from `blobs` what `store` does not refer to."""
        self._store = store
        self._blobs = blobs
        self._lock = threading.Lock()
        self._holders = 0
        self._discarded: set[str] = set()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep every blob in place for the length of the block."""
        with self._lock:
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                self._sweep()

    def discard(self, digests: Iterable[str]) -> None:
        """Delete those of the blobs that nothing refers to, as soon as nobody holds. Call it after the commit."""
        with self._lock:
            self._discarded.update(digests)
            self._sweep()

    def discard_orphans(self) -> None:
        """Delete what a server that died left behind: blobs that were stored, and no row committed."""
        self.discard(self._blobs.digests())

    def _sweep(self) -> None:
        if self._holders or not self._discarded:
            return
        with self._store.begin() as work:
            referenced = {digest for digest in self._discarded if work.blob_references.includes(digest)}
        for digest in self._discarded - referenced:
            self._blobs.delete(digest)
        self._discarded.clear()
