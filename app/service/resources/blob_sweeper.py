"""Deleting blobs that nothing refers to any more, never one that a running request relies on."""

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from app.domain.errors import AdjointError
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store

_logger = logging.getLogger(__name__)


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
        """Delete those of the blobs that nothing refers to, as soon as nobody holds. Call it after the commit.

        Does not raise: what cannot be deleted now is tried again with the next that is discarded, or at the next start.
        """
        with self._lock:
            self._discarded.update(digests)
            self._sweep()

    def _sweep(self) -> None:
        if self._holders or not self._discarded:
            return
        try:
            self._delete_discarded()
        except AdjointError as error:
            # Whoever calls has committed by now, and must not be told that anything of theirs has failed.
            _logger.warning("%s blobs stay for now: %s", len(self._discarded), error.detail)

    def _delete_discarded(self) -> None:
        with self._store.begin() as work:
            self._discarded = {digest for digest in self._discarded if not work.blob_references.includes(digest)}
            work.damaged_blobs.clear(self._discarded)
        for digest in sorted(self._discarded):
            self._blobs.delete(digest)
            self._discarded.remove(digest)
