"""Blob stores: bytes by digest, their writers, and how many bytes there are and may be."""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from app.domain.errors import Corrupt, NotFound, StorageFull
from app.store.blobs.digests import ParallelDigest

CHUNK_BYTES = 1024 * 1024


class Usage:
    """Counts the bytes of stored blobs, and of those on their way: together they stay within the quota."""

    def __init__(self, stored_bytes: int = 0, quota_bytes: int | None = None) -> None:
        """Begin with what is stored; None sets no limit but the disk's."""
        self._stored = stored_bytes
        self._reserved = 0
        self._quota = quota_bytes
        self._lock = threading.Lock()

    @property
    def stored_bytes(self) -> int:
        """How many bytes the blobs have together."""
        return self._stored

    def reserve(self, size: int) -> None:
        """Reserve space for bytes that are about to be written; StorageFull if the quota has none."""
        with self._lock:
            self._check(size)
            self._reserved += size

    def settle(self, *, reserved: int = 0, stored: int = 0) -> None:
        """Give up space that was reserved, and count the bytes that are stored since (fewer, if it is negative)."""
        with self._lock:
            self._reserved -= reserved
            self._stored += stored

    def check(self) -> None:
        """StorageFull if not even one more byte may be stored."""
        with self._lock:
            self._check(1)

    def _check(self, size: int) -> None:
        used = self._stored + self._reserved
        if self._quota is not None and used + size > self._quota:
            raise StorageFull(
                f"{used} of {self._quota} bytes are in use, {size} more do not fit; delete datasets, fits or "
                "checkpoints, or raise ADJOINT_STORAGE_QUOTA_BYTES"
            )


_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Blob:
    """Stored bytes: the SHA-256 of them in hexadecimal, and how many there are."""

    digest: str
    size: int


def is_digest(text: str) -> bool:
    """Whether `text` has the form of a digest: 64 hexadecimal digits in lower case."""
    return _DIGEST.fullmatch(text) is not None


def checked_digest(digest: str) -> str:
    """Return `digest`; NotFound if it does not have the form of one. Check this before building a path of it."""
    if not is_digest(digest):
        raise NotFound(f"there is no blob {digest[:80]!r}: a digest is 64 hexadecimal digits in lower case")
    return digest


class BlobWriter(ABC):
    """Takes bytes as they come. Leave its context without `commit`, and nothing is left of them.

    Counts and hashes what is written; quota is reserved for it until it is stored or given up.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._digest = ParallelDigest()
        self._size = 0
        self._reserved = 0

    @property
    def size(self) -> int:
        """How many bytes were written so far."""
        return self._size

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written so far, in hexadecimal."""
        return self._digest.hexdigest()

    @abstractmethod
    def write(self, data: bytes | bytearray) -> None:
        """Take more bytes; StorageFull if there is no space for them, StorageFailed if they cannot be written."""

    @abstractmethod
    def commit(self) -> Blob:
        """Make what was written a blob that survives a power cut, and return it. To be called once, last.

        StorageFailed if that cannot be: then nothing is stored.
        """

    def _count(self, data: bytes | bytearray) -> None:
        """Count bytes that are to be written; StorageFull if there is no space for them."""
        self._usage.reserve(len(data))
        self._reserved += len(data)
        self._size += len(data)
        self._digest.update(data)

    def _release(self) -> None:
        self._digest.close()
        self._usage.settle(reserved=self._reserved)
        self._reserved = 0

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class BlobStore(ABC):
    """Bytes by digest. NotFound if there is no such blob; to delete one that is not there is no error.

    Here is what a store does whose blobs are files of this machine. Where they are not, all but `usage`, `prepare`,
    `delete` and `digests` may raise StorageUnavailable: nothing was changed then.

    Attributes:
        is_remote: whether blobs are elsewhere, and processes of this machine read copies of them.
        usage: how many bytes the blobs have together, and may have.
        cleared: how many unfinished files were found when it was opened.
    """

    is_remote = False
    cleared = 0

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._before_storing: list[Callable[[str], object]] = []
        self._observers: list[Callable[[str], object]] = []

    @abstractmethod
    def writer(self) -> BlobWriter:
        """Open a new blob for writing."""

    def put(self, content: bytes | BinaryIO) -> Blob:
        """Store bytes, or all that is left in an open file."""
        with self.writer() as writer:
            if isinstance(content, bytes):
                writer.write(content)
            else:
                while chunk := content.read(CHUNK_BYTES):
                    writer.write(chunk)
            return writer.commit()

    @abstractmethod
    def adopt(self, path: Path) -> Blob:
        """Move a finished local file in: afterwards it is a blob, and gone from `path`.

        Made by this server's own processes, on the file system of the store, and not open for writing any more.
        StorageFull if there is no space for it, when it stays where it is; StorageFailed if it cannot be stored.
        """

    def adopt_soon(self, path: Path) -> Blob:
        """Do as `adopt`, and raise TransferPending where that takes long: repeat the call to learn how it ended."""
        return self.adopt(path)

    def find_adopted(self, digest: str) -> Blob | None:
        """Return the blob that a file with this digest has become, None if there is no whole one; observers are called.

        A call of `adopt` that fails in an observer has moved the file: it cannot be repeated.
        """
        for observer in self._before_storing:
            observer(digest)
        try:
            size = self.verified_path(digest).stat().st_size
        except Corrupt:
            return None
        for observer in self._observers:
            observer(digest)
        return Blob(digest, size)

    def send_ahead(self, paths: Iterable[Path]) -> None:  # noqa: B027 (nothing to do where files are here)
        """Begin to store finished local files that are adopted next, so that they travel together."""

    def prepare(self, digests: Iterable[str]) -> bool:  # noqa: ARG002 (the files are here)
        """Copy blobs to this machine in the background; return whether all have arrived.

        What prevented an earlier copy is raised once: StorageUnavailable, StorageFull or StorageFailed. A blob that is
        missing or damaged is not waited for: `verified_path` says what is wrong.
        """
        return True

    @abstractmethod
    def open(self, digest: str) -> BinaryIO:
        """Open the blob for reading; the caller closes it."""

    def stream(self, digest: str, on_damage: Callable[[], object]) -> BinaryIO | None:  # noqa: ARG002 (it is here)
        """Open a blob that is not on this machine, without a copy of it; None if `verified_path` need fetch nothing.

        Read from begin to end it yields the bytes of the blob, or an error instead of the last ones: if the blob is
        missing or damaged, `on_damage` is called, which raises it. Ranges are not compared with the digest.
        """
        return None

    @abstractmethod
    def local_path(self, digest: str) -> Path:
        """Return where a process of this machine finds the blob's bytes, for reading or mapping only."""

    @abstractmethod
    def verified_path(self, digest: str) -> Path:
        """Return the path as `local_path` does, once the file is known to hold the blob's bytes.

        The file is read as a whole, unless this process has done so since it was last changed. Corrupt if it is missing
        or holds other bytes.
        """

    def before_storing(self, observer: Callable[[str], object]) -> None:
        """Call `observer` with the digest of each blob before it comes into place; see `on_stored`."""
        self._before_storing.append(observer)

    def on_stored(self, observer: Callable[[str], object]) -> None:
        """Call `observer` with the digest of each blob that is stored from now on, whether it was there before or not.

        From the thread that stores it, which must not have a unit of work open; what it raises is passed on.
        """
        self._observers.append(observer)

    def on_transferred(self, call: Callable[[], object]) -> None:  # noqa: B027 (nothing to do where files are here)
        """Call this whenever a background transfer has ended."""

    def discard_copy(self, digest: str) -> bool:  # noqa: ARG002 (there are no copies)
        """Delete the copy of a blob that a process has found to be damaged; False if there are no copies."""
        return False

    @abstractmethod
    def size(self, digest: str) -> int:
        """Return how many bytes the blob has."""

    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """Return the size of every blob in bytes; of one that has no plain file, -1."""

    def sign(self, digest: str, seconds: int) -> str | None:  # noqa: ARG002 (the server alone reads files)
        """Return a URL from which anyone can read the blob for `seconds`; None if the store has no such URLs."""
        return None

    def check_available(self) -> None:  # noqa: B027 (nothing to do where files are here)
        """StorageUnavailable if the place of the blobs does not answer now."""

    def close(self) -> None:  # noqa: B027 (nothing to do where files are here)
        """Cancel what is done in the background; callers that wait for it repeat it later."""

    @abstractmethod
    def delete(self, digest: str) -> None:
        """Delete the blob, if it is there. Readers that have it open can read on."""

    def delete_now(self, digest: str) -> None:
        """Delete the blob, if it is there, before this returns; `delete` may do it in the background."""
        self.delete(digest)

    @abstractmethod
    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob, in no order."""


class MovableBlobs(Protocol):
    """Blobs that can be moved to another folder, and back."""

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob, in no order."""
        ...

    def move_out(self, digest: str, target: Path) -> None:
        """Move the blob's bytes to the new file `target`, on the file system of the store: it is no blob any more."""
        ...

    def move_in(self, digest: str, path: Path) -> None:
        """Make a file that was moved out the blob `digest` again; it is deleted if there is one by now.

        The bytes are not read: who opens them compares them with the digest.
        """
        ...


SHARD_LETTERS = 2


def blobs_folder(data_dir: Path) -> Path:
    """Return the folder that holds all blobs."""
    return data_dir / "blobs" / "sha256"


def blob_path(data_dir: Path, digest: str) -> Path:
    """Return the file of the blob `digest`, which is checked to be a digest, whether the file is there or not."""
    return blobs_folder(data_dir) / digest[:SHARD_LETTERS] / digest


def blob_files(data_dir: Path) -> Iterator[Path]:
    """Yield the file of every blob, in no order."""
    return (file for file in blobs_folder(data_dir).glob("*/*") if is_digest(file.name))
