"""Dataset columns of a worker: files are memory-mapped, verified and, for text, mapped to the model's class numbers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.domain.errors import DatasetCorrupt, NotFound
from app.ingest.stored_arrays import map_array
from app.store.blobs.plain_files import BlobVerifier
from app.store.blobs.store import is_digest

_VERIFIER = BlobVerifier()
"""The verdicts of this process: the variants of a sweep, and the steps of a session, read the same files."""


def check_file(path: str) -> None:
    """Verify the file of a blob the first time it is used; DatasetCorrupt, which names the blob, if it is damaged."""
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


class BackgroundVerifier:
    """Verifies files in a thread while the fit is prepared. Call `finish` before the first step."""

    def __init__(self) -> None:
        """The thread is started with the first file."""
        self._pool: ThreadPoolExecutor | None = None
        self._pending: dict[str, Future[None]] = {}
        self._finished = False

    def add(self, paths: Iterable[str]) -> None:
        """Verify files that are being opened; after `finish` synchronously, with DatasetCorrupt if one is damaged."""
        for path in paths:
            if self._finished:
                check_file(path)
            elif path not in self._pending:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(1, thread_name_prefix="check")
                self._pending[path] = self._pool.submit(check_file, path)

    def finish(self) -> None:
        """Wait until all files are verified; DatasetCorrupt if one is damaged."""
        self._finished = True
        for pending in self._pending.values():
            pending.result()
        self.close()

    def close(self) -> None:
        """Cancel the verification of files that are still pending."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class MappedColumns(Mapping[str, list[np.ndarray[Any, Any]] | engine.TextColumn]):
    """Columns by name, each as the arrays of its files, memory-mapped on access.

    A column that is not used takes neither a file descriptor nor address space.
    """

    def __init__(
        self,
        paths: Mapping[str, Sequence[str]],
        check: Callable[[Sequence[str]], object],
        recodings: Mapping[str, Sequence[Sequence[int] | None]] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Map the files at `paths`, those of each column in their order; `check` is called with those that are mapped.

        What it raises keeps them from being mapped. `recodings` has, for text columns, a table for each file: the
        model's number of each class, by the file's number. Such a column is copied into memory; None leaves a file as
        it is. `texts` has, for text columns that are preprocessed, the texts of the model's numbers.
        """
        self._check = check
        self._paths = paths
        self._recodings = recodings or {}
        self._texts = texts or {}

    def __getitem__(self, name: str) -> list[np.ndarray[Any, Any]] | engine.TextColumn:
        files = self.files(name)
        return engine.TextColumn(files, self._texts[name]) if name in self._texts else files

    def files(self, name: str) -> list[np.ndarray[Any, Any]]:
        """Return the numbers of a column, by file."""
        self._check(self._paths[name])
        files = [map_array(path) for path in self._paths[name]]
        tables = self._recodings.get(name, [None] * len(files))
        return [file if table is None else recode(file, table) for file, table in zip(files, tables, strict=True)]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def recode(numbers: np.ndarray[Any, Any], table: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return the model's class numbers for those of a dataset, in the same type; -1, a missing text, remains."""
    recoded: np.ndarray[Any, Any] = np.asarray([*table, -1], numbers.dtype)[numbers]
    return recoded
