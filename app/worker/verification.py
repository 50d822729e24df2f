"""Checking the files of datasets that a process opens.

The file of a blob is named by its digest (see `app.store.blobs.store`). A file of another name is no blob.
"""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from app.domain.errors import DatasetCorrupt, NotFound
from app.store.blobs.store import is_digest
from app.store.blobs.verification import BlobVerifier

_VERIFIER = BlobVerifier()
"""The verdicts of this process: the variants of a sweep, and the steps of a session, read the same files."""


def check_file(path: str) -> None:
    """Read the file of a blob as a whole, the first time; DatasetCorrupt, which names it, unless it holds its bytes."""
    file = Path(path)
    if not is_digest(file.name):
        return
    try:
        problem = _VERIFIER.problem(file, file.name)
    except NotFound:
        problem = "is no plain file with one name"
    if problem is not None:
        what = f"the file of a column (blob {file.name}) {problem}"
        detail = f"{what}; upload the same bytes of the dataset again, or restore the file from a backup"
        raise DatasetCorrupt(detail, blob=file.name, problem=problem)


class BackgroundCheck:
    """Checks files in a thread while a fit is being prepared. Ask `finish` before the first step."""

    def __init__(self) -> None:
        """Begin no thread before there is a file."""
        self._pool: ThreadPoolExecutor | None = None
        self._pending: dict[str, Future[None]] = {}
        self._finished = False

    def add(self, paths: Iterable[str]) -> None:
        """Have files checked that are being opened; after `finish` at once, with DatasetCorrupt if one is damaged."""
        for path in paths:
            if self._finished:
                check_file(path)
            elif path not in self._pending:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(1, thread_name_prefix="check")
                self._pending[path] = self._pool.submit(check_file, path)

    def finish(self) -> None:
        """Wait until all are checked; DatasetCorrupt if one of them is damaged."""
        self._finished = True
        for pending in self._pending.values():
            pending.result()
        self.close()

    def close(self) -> None:
        """Check no more files than the one that is being read."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
