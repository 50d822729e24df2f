"""Blobs as files: `blobs/sha256/ab/<digest>`.

A file gets its name only when it is complete and on the disk: written under a temporary name in the same tree, synced,
renamed, and the folder synced. An operation that fails is not tried again: the blob is not stored then. No symbolic
link is followed on the way to a blob, and a file with a second name (a hard link) is not taken for one, since another
process could change it.
"""

import hashlib
import logging
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from app.domain.errors import Corrupt, StorageFailed, storage_faults
from app.store.blobs.freed_space import FreedSpace
from app.store.blobs.plain_files import BlobVerifier, open_plain_file, open_plain_file_in
from app.store.blobs.store import (
    SHARD_LETTERS,
    Blob,
    BlobStore,
    BlobWriter,
    Usage,
    blob_files,
    blob_path,
    blobs_folder,
    checked_digest,
)
from app.system.durable import Durable
from app.system.writeback import WRITEBACK_BYTES, start_writeback

READ_ONLY = 0o400

_logger = logging.getLogger(__name__)


class LocalBlobStore(BlobStore):
    """A folder of blobs. One store a folder: opening it clears away what an earlier one was writing when it died."""

    def __init__(
        self,
        data_dir: Path,
        durable: Durable | None = None,
        quota_bytes: int | None = None,
        temporary: Path | None = None,
    ) -> None:
        """Open `data_dir/blobs`, made if missing; all blobs together may have `quota_bytes`.

        Unfinished files are in `temporary`, a folder that no other store uses; by default one among the blobs.
        """
        self._data_dir = data_dir.resolve()
        self._root = blobs_folder(self._data_dir)
        blobs = self._root.parent
        self._temporary = temporary or blobs / "tmp"
        self._durable = durable or Durable()
        self._making_shard = threading.Lock()
        self._naming = threading.Lock()
        self._verifier = BlobVerifier()
        self._freed_space = FreedSpace()
        with storage_faults("the folder of blobs"):
            for folder in (self._root, self._temporary):
                self._durable.mkdir(folder)
            # A server that was killed may have made one of them, or a shard, and not come to sync it.
            for folder in (self._root, blobs, blobs.parent):
                self._durable.sync_folder(folder)
            leftovers = sorted(self._temporary.iterdir())
            for leftover in leftovers:
                self._durable.unlink(leftover)
        self.cleared = len(leftovers)
        super().__init__(Usage(sum(map(_size_of, self._files())), quota_bytes))

    def writer(self) -> "LocalBlobWriter":
        """Open a new blob for writing."""
        return LocalBlobWriter(self, self._durable, self._temporary / secrets.token_hex(16))

    def adopt(self, path: Path) -> Blob:
        """Move a finished file, on the same file system, in; NotFound if it is no plain file of its own."""
        with os.fdopen(open_plain_file(path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            self.usage.reserve(size)
            try:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                self.keep(file.fileno(), path, digest)
            finally:
                self.usage.settle(reserved=size)
        return Blob(digest, size)

    def keep(self, descriptor: int, path: Path, digest: str) -> None:
        """Give the complete file at `path`, open as `descriptor`, its lasting name; StorageFailed if it has none."""
        for observer in self._before_storing:
            observer(digest)
        shard = self._root / digest[:SHARD_LETTERS]
        target = shard / digest
        with storage_faults("this blob"):
            os.fchmod(descriptor, READ_ONLY)
            self._durable.fsync(descriptor, path)
            with self._making_shard:  # so that no thread relies on one that another has made and not yet synced
                self._durable.mkdir(shard)
            replaced = self._rename(path, target)
            try:
                self._durable.sync_folder(shard)
            except OSError:
                # Nobody may take it for a blob that lasts. In the place of an older one it stays: the bytes are the
                # same, and something may refer to them.
                if not replaced:
                    self._discard(target)
                raise
        for observer in self._observers:
            observer(digest)

    def open(self, digest: str) -> BinaryIO:
        """Open the blob for reading; NotFound if there is none."""
        return os.fdopen(self._open(digest), "rb")

    def local_path(self, digest: str) -> Path:
        """Return the blob's file; NotFound if there is none."""
        os.close(self._open(digest))
        return self._path(digest)

    def verified_path(self, digest: str) -> Path:
        """Return the blob's file, which was read and holds what it should; Corrupt if it does not, or is missing.

        StorageFailed if the file cannot be opened now. Files are read once as long as nothing changes them.
        """
        path = self._path(digest)
        try:
            problem = self._verifier.problem(path, digest)
        except OSError as error:
            _logger.error("blob %s cannot be opened", digest, exc_info=error)
            raise StorageFailed("a stored file could not be opened; try again") from error
        if problem is not None:
            raise Corrupt(f"blob {digest} {problem}", blob=digest, problem=problem)
        return path

    def size(self, digest: str) -> int:
        """Return how many bytes the blob has; NotFound if there is none."""
        descriptor = self._open(digest)
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def sizes(self) -> Mapping[str, int]:
        """Return the size of every blob, -1 if its file is a link or has a second name."""
        return {file.name: _plain_size(file) for file in self._files()}

    def delete(self, digest: str) -> None:
        """Delete the blob, if it is there; StorageFailed if it cannot be.

        The space of a large one is free soon afterwards.
        """
        path = self._path(digest)
        # Not synced: if it is back after a power cut, nothing refers to it, and the next start deletes it.
        with storage_faults("the deletion of this blob"), self._naming:
            size = _size_of(path)
            with self._freed_space.later(path, size):
                self._durable.unlink(path)
            self.usage.settle(stored=-size)

    def close(self) -> None:
        """Wait until the space of what was deleted is free."""
        self._freed_space.close()

    def move_out(self, digest: str, target: Path) -> None:
        """Move the blob's file to `target`; StorageFailed if it cannot be moved."""
        path = self._path(digest)
        with storage_faults("the move of this blob"), self._naming:
            size = _size_of(path)
            self._durable.rename(path, target)
            self.usage.settle(stored=-size)
            self._durable.sync_folder(target.parent)

    def move_in(self, digest: str, path: Path) -> None:
        """Make the file at `path` the blob `digest`, unless there is one; StorageFailed if it cannot be moved."""
        target = self._path(digest)
        with storage_faults("the move of this blob"):
            if target.exists():
                self._durable.unlink(path)
                return
            with self._making_shard:
                self._durable.mkdir(target.parent)
            self._rename(path, target)
            self._durable.sync_folder(target.parent)

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob."""
        return (file.name for file in self._files())

    def _files(self) -> Iterator[Path]:
        return blob_files(self._data_dir)

    def _rename(self, path: Path, target: Path) -> bool:
        """Move a file to its lasting name and count it; return whether another one had that name."""
        # Over an equal blob that may be there: the bytes are the same, or the old ones were damaged.
        with self._naming:
            before = _size_of(target)
            replaced = target.exists()
            self._durable.rename(path, target)
            self.usage.settle(stored=_size_of(target) - before)
        return replaced

    def _discard(self, path: Path) -> None:
        """Delete a blob that does not last; should that fail too, the next start does it."""
        try:
            self.delete(path.name)
        except StorageFailed:
            _logger.warning("blob %s stays until the next start", path.name)

    def _path(self, digest: str) -> Path:
        return blob_path(self._data_dir, checked_digest(digest))

    def _open(self, digest: str) -> int:
        return open_plain_file_in(self._path(digest).parent, digest)


class LocalBlobWriter(BlobWriter):
    """A blob on its way to the disk, under a temporary name until it is committed."""

    def __init__(self, store: LocalBlobStore, durable: Durable, path: Path) -> None:
        super().__init__(store.usage)
        self._store = store
        self._durable = durable
        self._unsent = 0
        with storage_faults("this blob"):
            self._file = durable.create(path)

    def write(self, data: bytes | bytearray) -> None:
        """Take more bytes; StorageFull if there is no space for them, StorageFailed if they cannot be written."""
        self._count(data)
        with storage_faults("this blob"):
            self._file.write(data)
        self._unsent += len(data)
        if self._unsent >= WRITEBACK_BYTES:
            start_writeback(self._file.fileno())
            self._unsent = 0

    def commit(self) -> Blob:
        """Make what was written a blob that survives a power cut; StorageFailed if it is not, or not all of it."""
        descriptor = self._file.fileno()
        if os.fstat(descriptor).st_size != self._size:
            raise StorageFailed("this blob was not written to its end; send it again")
        blob = Blob(self.digest, self.size)
        self._store.keep(descriptor, self._file.path, blob.digest)
        self._release()
        return blob

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release()
        self._file.close()
        try:
            self._durable.unlink(self._file.path)  # no longer there if it was committed
        except OSError:
            _logger.exception("an unfinished blob stays until the next start")


def _plain_size(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:
        return -1
    return status.st_size if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 else -1


def _size_of(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
