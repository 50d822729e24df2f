"""Deleting unused blobs where several servers store them: after a while, by the server that runs the fits."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from app.domain.errors import ApiError
from app.service.resources.blobs import BlobSweeper
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store

KEPT_FOR = timedelta(minutes=15)
"""Longer than any request takes from storing a blob to the commit of the row that refers to it."""

DELETED_AT_ONCE = 20
"""Number of blobs that are deleted in one transaction; servers that store one of them wait for it."""

_logger = logging.getLogger(__name__)


class SharedBlobSweeper(BlobSweeper):
    """Notes unused blobs in the database. One that any server stores again in the meantime is not deleted."""

    def __init__(self, store: Store, blobs: BlobStore, kept_for: timedelta = KEPT_FOR) -> None:
        super().__init__(store, blobs)
        self._kept_for = kept_for

    @contextmanager
    def paused(self) -> Iterator[set[str]]:
        """Discard the digests that the block adds to the set if it raises; deletions come too late to disturb it."""
        stored: set[str] = set()
        try:
            yield stored
        except BaseException:
            self.discard(stored)
            raise

    def discard(self, digests: Iterable[str]) -> None:
        """Note blobs for deletion. Does not raise: what is not noted now is noted with the next ones."""
        with self._lock:
            self._discarded.update(digests)
            if not self._discarded:
                return
            try:
                with self._store.begin() as work:
                    work.discarded_blobs.add(self._discarded)
            except ApiError as error:
                _logger.warning("cannot note %s unused blobs now: %s", len(self._discarded), error.detail)
            else:
                self._discarded.clear()

    def collect(self) -> int:
        """Delete what was noted long enough ago and is still unused; return how many blobs that were."""
        deleted = 0
        while True:
            with self._store.begin() as work:
                noted = work.discarded_blobs.take(self._kept_for, DELETED_AT_ONCE)
                unused = [digest for digest in noted if not work.blob_references.includes(digest)]
                work.damaged_blobs.clear(unused)
                # Within the transaction, which locks their rows: `keep` returns once they are deleted, and what is
                # stored then stays.
                for digest in unused:
                    self._blobs.delete_now(digest)
            deleted += len(unused)
            if len(noted) < DELETED_AT_ONCE:
                return deleted

    def keep(self, digest: str) -> None:
        """Do not delete a blob that is about to be stored again. Returns when it is not being deleted either."""
        with self._store.begin() as work:
            work.discarded_blobs.remove([digest])
