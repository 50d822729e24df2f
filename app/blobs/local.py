"""Blobs as files: `blobs/sha256/ab/<digest>`.

A file gets its name only when it is complete and on the disk: written under a temporary name in the same tree, synced,
renamed, and the folder synced. No symbolic link is followed on the way to a blob, and a file with a second name
(a hard link) is not taken for one, since whoever planted it could change it.
"""

import errno
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from app.blobs.store import Blob, checked_digest, is_digest
from app.domain.errors import NotFound, StorageFull

CHUNK_BYTES = 1024 * 1024
SHARD_LETTERS = 2
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
# ELOOP: the last part is a symbolic link; ENXIO: a socket.
NO_SUCH_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
READ_ONLY = 0o400


class LocalBlobStore:
    """A folder of blobs. One store a folder: opening it clears away what an earlier one was writing when it died."""

    def __init__(self, data_dir: Path) -> None:
        """Open `data_dir/blobs`, made if missing."""
        blobs = data_dir.resolve() / "blobs"
        self._root = blobs / "sha256"
        self._temporary = blobs / "tmp"
        self._making_shard = threading.Lock()
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (blobs, self._root, self._temporary):
            folder.mkdir(mode=0o700, exist_ok=True)
        for folder in (blobs, blobs.parent):
            _sync_folder(folder)
        for leftover in self._temporary.iterdir():
            leftover.unlink()

    def writer(self) -> "LocalBlobWriter":
        """Open a new blob for writing."""
        return LocalBlobWriter(self, self._temporary / secrets.token_hex(16))

    def put(self, content: bytes | BinaryIO) -> Blob:
        """Store bytes, or all that is left in an open file."""
        with self.writer() as writer:
            if isinstance(content, bytes):
                writer.write(content)
            else:
                while chunk := content.read(CHUNK_BYTES):
                    writer.write(chunk)
            return writer.commit()

    def adopt(self, path: Path) -> Blob:
        """Move a finished file, on the same file system, in; NotFound if it is no plain file of its own."""
        descriptor = _open_plain_file(path)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
            self.keep(file.fileno(), path, digest)
        return Blob(digest, size)

    def keep(self, descriptor: int, path: Path, digest: str) -> None:
        """Give the complete file at `path`, open as `descriptor`, its lasting name."""
        shard = self._shard(digest)
        with _storage_full_named():
            os.fchmod(descriptor, READ_ONLY)
            os.fsync(descriptor)
            self._make_shard(shard)
            # Over an equal blob that may be there: the bytes are the same, or the old ones were damaged.
            path.rename(shard / digest)
            _sync_folder(shard)

    def open(self, digest: str) -> BinaryIO:
        """Open the blob for reading; NotFound if there is none."""
        return os.fdopen(self._open(digest), "rb")

    def local_path(self, digest: str) -> Path:
        """Return the blob's file; NotFound if there is none."""
        os.close(self._open(digest))
        return self._shard(digest) / digest

    def size(self, digest: str) -> int:
        """Return how many bytes the blob has; NotFound if there is none."""
        descriptor = self._open(digest)
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def delete(self, digest: str) -> None:
        """Delete the blob, if it is there."""
        (self._shard(checked_digest(digest)) / digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob."""
        for file in self._root.glob("*/*"):
            if is_digest(file.name):
                yield file.name

    def _shard(self, digest: str) -> Path:
        return self._root / digest[:SHARD_LETTERS]

    def _make_shard(self, shard: Path) -> None:
        # Locked, so that no thread relies on a folder that another has made and not yet synced.
        with self._making_shard:
            if not shard.is_dir():
                shard.mkdir(mode=0o700)
                _sync_folder(self._root)

    def _open(self, digest: str) -> int:
        shard = self._shard(checked_digest(digest))
        folder = _open_or_not_found(shard, os.O_DIRECTORY, digest)
        try:
            return _open_plain_file(Path(digest), folder)
        finally:
            os.close(folder)


class LocalBlobWriter:
    """A blob on its way to the disk, under a temporary name until it is committed."""

    def __init__(self, store: LocalBlobStore, path: Path) -> None:
        self._store = store
        self._path = path
        self._hash = hashlib.sha256()
        self._size = 0
        with _storage_full_named():
            # Unbuffered: a full disk is met by the write that fills it.
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb", 0)
        self._committed = False

    @property
    def size(self) -> int:
        """How many bytes were written so far."""
        return self._size

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Take more bytes; StorageFull if there is no room for them."""
        remaining = memoryview(data)
        with _storage_full_named():
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        self._hash.update(data)
        self._size += len(data)

    def commit(self) -> Blob:
        """Make what was written a blob that survives a power cut."""
        blob = Blob(self.digest, self.size)
        self._store.keep(self._file.fileno(), self._path, blob.digest)
        self._committed = True
        return blob

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        if not self._committed:
            self._path.unlink(missing_ok=True)


def _open_plain_file(path: Path, folder: int | None = None) -> int:
    """Open the file for reading; NotFound unless it is a regular file with one name."""
    # Not blocking: opening a planted pipe would wait for its writer.
    descriptor = _open_or_not_found(path, os.O_NONBLOCK, path.name, folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise NotFound(f"blob {path.name} is not a plain file with one name; restore it from a backup")
    return descriptor


def _open_or_not_found(path: Path, flags: int, name: str, folder: int | None = None) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except OSError as error:
        if error.errno in NO_SUCH_FILE:
            raise NotFound(f"there is no blob {name}") from error
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _storage_full_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StorageFull("the disk has no room for this blob; free some space, then try again") from error
        raise
