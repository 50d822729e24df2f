"""Copies columns out of an upload while the rest of it is read."""

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from app.ingest.column_ranges import ColumnRange
from app.store.blobs.store import Blob, BlobStore


class ColumnCopies:
    """Makes blobs of columns that are bytes of an upload, one after another, in a thread.

    Leave its context, and the thread ends before another copy is begun.
    """

    def __init__(self, blobs: BlobStore, upload: Path, stored: set[str]) -> None:
        """Read `upload`; `stored` gets the digest of each blob as it is made."""
        self._blobs = blobs
        self._upload = upload
        self._stored = stored
        self._copies: dict[int, Future[Blob]] = {}
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="column copies")
        self._closed = False

    def begin(self, column: ColumnRange) -> None:
        """Have a column copied."""
        self._copies[column.offset] = self._executor.submit(self._copy, column)

    def blob(self, offset: int) -> Blob:
        """Return the blob of the column that begins there; StorageFull or StorageFailed if it cannot be stored."""
        return self._copies[offset].result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed = True
        self._executor.shutdown(cancel_futures=True)

    def _copy(self, column: ColumnRange) -> Blob:
        with self._blobs.writer() as writer:
            for piece in column.pieces(self._upload):
                if self._closed:
                    raise CancelledError
                writer.write(piece)
            blob = writer.commit()
        self._stored.add(blob.digest)
        return blob
