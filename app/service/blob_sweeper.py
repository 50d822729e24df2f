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
    def holding(self) -> Iterator[set[str]]:
        """Keep every blob in place for the length of the block.

        The block notes in the set the digests of what it stores: should it raise, they are discarded.
        """
        stored: set[str] = set()
        with self._lock:
            self._holders += 1
        try:
            yield stored
        except BaseException:
            with self._lock:
                self._discarded |= stored
            raise
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
        """Delete what a server that died left behind: blobs without a committed row. Call it at start."""
        with self._lock:
            with self._store.begin() as work:
                referenced = work.blob_references.all()
            for digest in set(self._blobs.digests()) - referenced:
                self._blobs.delete(digest)

    def _sweep(self) -> None:
        if self._holders or not self._discarded:
            return
        with self._store.begin() as work:
            referenced = {digest for digest in self._discarded if work.blob_references.includes(digest)}
        for digest in self._discarded - referenced:
            self._blobs.delete(digest)
        self._discarded.clear()
