"""Blobs in use: opening them with an integrity check, and deleting those that nothing refers to."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.domain.errors import (
    ApiError,
    CheckpointCorrupt,
    Corrupt,
    DatasetCorrupt,
    Finding,
    GradientCorrupt,
    NotFound,
)
from app.domain.records import CheckpointRecord, Column, DatasetRecord, GradientRecord
from app.store.blobs.plain_files import open_plain_file
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store

_logger = logging.getLogger(__name__)


class BlobSweeper:
    """Deletes unused blobs. Equal bytes are one blob, so one may be stored again while its last owner is deleted.

    Therefore a request that stores blobs holds the sweeper until the row that refers to them is committed;
    deletions are delayed until there are no holders.
    """

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        self._store = store
        self._blobs = blobs
        self._lock = threading.Lock()
        self._holders = 0
        self._discarded: set[str] = set()

    @contextmanager
    def paused(self) -> Iterator[set[str]]:
        """Delete no blob for the length of the block.

        The block adds the digests of the blobs that it stores to the set: they are discarded if it raises.
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
        """Delete those blobs that nothing refers to, once there are no holders. Call it after the commit.

        Does not raise: failed deletions are retried with the next ones, or at the next start.
        """
        with self._lock:
            self._discarded.update(digests)
            self._sweep()

    def _sweep(self) -> None:
        if self._holders or not self._discarded:
            return
        try:
            self._delete_discarded()
        except ApiError as error:
            # The caller has committed already; its operation has not failed.
            _logger.warning("cannot delete %s unused blobs now: %s", len(self._discarded), error.detail)

    def _delete_discarded(self) -> None:
        with self._store.begin() as work:
            self._discarded = {digest for digest in self._discarded if not work.blob_references.includes(digest)}
            work.damaged_blobs.clear(self._discarded)
        for digest in sorted(self._discarded):
            self._blobs.delete(digest)
            self._discarded.remove(digest)


class Integrity:
    """Opens the files of blobs. Call it outside units of work; each method that raises Corrupt marks the blob.

    The argument `pointer` of the methods is the place of the reference in a request, for the findings of the error.
    """

    def __init__(self, store: Store, blobs: BlobStore, redirect_seconds: int | None = None) -> None:
        """Open `blobs`; `redirect_seconds` is how long URLs of them are valid, None to make none."""
        self._store = store
        self._blobs = blobs
        self._redirect_seconds = redirect_seconds
        self._lock = threading.Lock()
        self.found = 0
        """How often damage was found, from the start of this server on, each blob counting once until it is whole."""

    def checkpoint(self, checkpoint: CheckpointRecord, pointer: str | None = None) -> Path:
        """Return the file of a checkpoint that is not deleted; Corrupt unless it is what was stored."""
        what = f"checkpoint {checkpoint.id} is damaged: its file"
        advice = "upload the same bytes again, restore the file from a backup, or take another checkpoint"
        return self._opened(checkpoint.digest, checkpoint.corrupt, CheckpointCorrupt, what, advice, pointer)

    def upload(self, dataset: DatasetRecord) -> Path:
        """Return the file of the bytes that a dataset came as; Corrupt unless it is what was stored."""
        return self._of_dataset(dataset, dataset.digest, "the file of its bytes as they came", None)

    def column(self, dataset: DatasetRecord, name: str, pointer: str | None = None) -> Path:
        """Return the file of a column of a dataset; Corrupt unless it is what was stored."""
        blob = next(column.blob for column in dataset.columns if column.name == name)
        return self._of_dataset(dataset, blob, f"the file of its column {name[:64]!r}", pointer)

    def columns(self, dataset: DatasetRecord) -> dict[str, list[str]]:
        """Return the paths of each column's files, of which there is one, for a process that checks what it opens.

        Corrupt if one is missing; they are not read here.
        """
        return {column.name: [str(self._present(dataset, column))] for column in dataset.columns}

    def gradient(self, gradient: GradientRecord) -> Path:
        """Return the file of a captured gradient; Corrupt unless it is what was stored."""
        what = f"the gradient of {gradient.parameter[:64]!r} at step {gradient.step} is damaged: its file"
        return self._opened(
            gradient.digest, gradient.corrupt, GradientCorrupt, what, "restore the file from a backup", None
        )

    def open_checkpoint(self, checkpoint: CheckpointRecord) -> BinaryIO:
        """Open the file of a checkpoint for a download; Corrupt as for `checkpoint`, or from reading its last bytes."""
        return self._streamed(checkpoint.digest, checkpoint.corrupt, lambda: self.checkpoint(checkpoint))

    def open_upload(self, dataset: DatasetRecord) -> BinaryIO:
        """Open the file of the bytes that a dataset came as, likewise."""
        return self._streamed(dataset.digest, dataset.corrupt, lambda: self.upload(dataset))

    def _streamed(self, blob: str, marked: bool, verify: Callable[[], Path]) -> BinaryIO:
        streamed = None if marked else self._blobs.stream(blob, verify)
        return os.fdopen(open_plain_file(verify()), "rb") if streamed is None else streamed

    def signed_url(self, digest: str, *, marked: bool) -> str | None:
        """Return a URL from which anyone reads a blob for a while; None if there are none, or it may be damaged."""
        if self._redirect_seconds is None or marked:
            return None
        try:
            return self._blobs.sign(digest, self._redirect_seconds)
        except NotFound:
            return None  # who opens it says what is wrong

    def check_marked(self, dataset: DatasetRecord, pointer: str) -> None:
        """Corrupt if a column of the dataset is known to be damaged, and is so still; reads no file that is not."""
        blobs = {column.blob: column.name for column in dataset.columns}
        with self._store.read() as work:
            marked = work.damaged_blobs.among(blobs)
        for blob in sorted(marked):
            self.column(dataset, blobs[blob], pointer)

    def note(self, blob: str, problem: str) -> None:
        """Mark a blob that is damaged."""
        with self._store.begin() as work:
            new = work.damaged_blobs.mark(blob, problem)
        if new:
            with self._lock:
                self.found += 1
            _logger.error("blob %s is damaged: its file %s", blob, problem)

    def note_copy(self, blob: str, problem: str) -> None:
        """Mark a blob whose file a process has found to be damaged, unless that is a copy, which is made again."""
        if not self._blobs.discard_copy(blob):
            self.note(blob, problem)

    def clear(self, blobs: Iterable[str]) -> None:
        """Remove the marks of blobs whose bytes were stored again, or were found to be whole."""
        with self._store.begin() as work:
            work.damaged_blobs.clear(blobs)

    def marked(self) -> int:
        """Return how many blobs are marked now."""
        with self._store.read() as work:
            return work.damaged_blobs.count()

    def _of_dataset(self, dataset: DatasetRecord, blob: str, what: str, pointer: str | None) -> Path:
        advice = "upload the same bytes again, or restore the file from a backup"
        what = f"dataset {dataset.id} is damaged: {what}"
        return self._opened(blob, dataset.corrupt, DatasetCorrupt, what, advice, pointer)

    def _opened(
        self, blob: str, marked: bool, kind: type[Corrupt], what: str, advice: str, pointer: str | None
    ) -> Path:
        try:
            path = self._blobs.verified_path(blob)
        except Corrupt as error:
            self.note(blob, error.problem)
            detail = f"{what} {error.problem}; {advice}"
            findings = () if pointer is None else (Finding(pointer, kind.code, detail),)
            raise kind(detail, blob=blob, problem=error.problem, findings=findings) from error
        if marked:
            # The file was restored by hand.
            self.clear([blob])
        return path

    def _present(self, dataset: DatasetRecord, column: Column) -> Path:
        try:
            return self._blobs.local_path(column.blob)
        except NotFound:
            # The error, and the mark, are those of reading what lies in its place.
            return self.column(dataset, column.name)
