"""Copies of blobs on the local disk: `sha256/ab/<digest>`, bounded, the least recently used deleted first.

Several processes of a host may use one folder. A copy is written under a temporary name, which its writer keeps
locked, and renamed once its digest is right: so there are only whole copies, and two writers of one blob do no harm.
The time of last use of a copy is that of an empty file beside it (`used/ab/<digest>`): to set the times of the copy
itself would make all processes read it again (`app.store.blobs.plain_files`). One process at a time deletes copies. One
that is deleted can be read on by those that have it open or mapped; others have it fetched again.
"""

import fcntl
import hashlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.domain.errors import Corrupt, NotFound, storage_faults
from app.store.blobs.plain_files import BlobVerifier, open_plain_file_in
from app.store.blobs.store import SHARD_LETTERS, checked_digest, is_digest

GRACE_SECONDS = 600.0
"""A copy that was asked for is kept for so long: a process may have to start before it opens the file."""

LOW_WATER = 0.9
"""Where the copies exceed their bound, they are deleted down to this part of it: not one with every new copy."""

READ_ONLY = 0o400
CHUNK_BYTES = 1024 * 1024

_logger = logging.getLogger(__name__)


class BlobCache:
    """A folder of copies. From any thread, and from any process that has another one of the same folder."""

    def __init__(
        self, folder: Path, limit: int, in_use: Callable[[], Collection[str]] = tuple, grace: float = GRACE_SECONDS
    ) -> None:
        """Open the folder, made if missing; `in_use` names copies that are not to be deleted at any age.

        `limit` is in bytes. What is in use, or was asked for within `grace` seconds, is kept beyond it.
        """
        self._copies = folder.resolve() / "sha256"
        self._uses = folder.resolve() / "used"
        self._temporary = folder.resolve() / "tmp"
        self._limit = limit
        self._grace = grace
        self.in_use = in_use
        self._verifier = BlobVerifier()
        self._lock = threading.Lock()
        with storage_faults("the folder of copies of stored files"):
            for each in (self._copies, self._uses, self._temporary):
                each.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._delete_abandoned()
        self._size = sum(size for _, size, _ in self._listed())

    @property
    def size(self) -> int:
        """How many bytes the copies have together, as far as this process has counted."""
        return self._size

    @property
    def temporary(self) -> Path:
        """The folder for files that are about to become copies."""
        return self._temporary

    def path(self, digest: str) -> Path:
        """Return where the copy of a blob is, or would be."""
        return self._copies / digest[:SHARD_LETTERS] / checked_digest(digest)

    def find(self, digest: str) -> Path | None:
        """Return the copy of a blob, which counts as used now; None if there is none.

        Its bytes are not read here: who opens it compares them with the digest, or calls `verified`.
        """
        path = self.path(digest)
        try:
            os.close(open_plain_file_in(path.parent, digest))
        except NotFound:
            return None
        self._touch(digest)
        return path

    def verified(self, digest: str) -> Path | None:
        """Return the copy of a blob, whose bytes this process has read; None without one, or if it was damaged.

        A damaged copy is deleted, so that it is fetched again.
        """
        path = self.find(digest)
        if path is None:
            return None
        try:
            problem = self._verifier.problem(path, digest)
        except NotFound:
            problem = "is no plain file with one name"
        if problem is not None:
            _logger.warning("the copy of blob %s %s; it is fetched again", digest, problem)
            self.discard(digest)
            return None
        return path

    def add(self, digest: str, parts: Iterable[bytes]) -> Path:
        """Write a copy; Corrupt if the bytes are not those of the digest, StorageFull or StorageFailed."""
        found = hashlib.sha256()
        with self.temporary_file() as (path, descriptor):
            with storage_faults("a copy of a stored file"):
                for part in parts:
                    found.update(part)
                    _write(descriptor, part)
            if found.hexdigest() != digest:
                problem = "does not hold the bytes that its digest names"
                raise Corrupt(f"blob {digest} {problem}", blob=digest, problem=problem)
            return self.adopt(digest, path)

    def adopt(self, digest: str, path: Path) -> Path:
        """Move a file that holds the bytes of the digest in; it is copied from another file system."""
        target = self.path(digest)
        with storage_faults("a copy of a stored file"):
            status = path.stat()
            if status.st_dev != self._temporary.stat().st_dev:
                with path.open("rb") as file:
                    self.add(digest, iter(lambda: file.read(CHUNK_BYTES), b""))
                path.unlink()
                return target
        self.make_room(status.st_size)
        with storage_faults("a copy of a stored file"):
            path.chmod(READ_ONLY)
            target.parent.mkdir(exist_ok=True, mode=0o700)
            with self._lock:
                # Not synced: what a power cut leaves of a copy has another digest, and is fetched again.
                before = _size_of(target)
                path.rename(target)
                self._size += _size_of(target) - before
        self._touch(digest)
        return target

    def discard(self, digest: str) -> None:
        """Delete the copy of a blob, if there is one."""
        path = self.path(digest)
        with self._lock, suppress(OSError):
            size = _size_of(path)
            path.unlink()
            self._size -= size
        with suppress(OSError):
            self._use(digest).unlink()

    @contextmanager
    def temporary_file(self) -> Iterator[tuple[Path, int]]:
        """Make a file for what becomes a copy; it is deleted after the block unless it was moved."""
        path = self._temporary / secrets.token_hex(16)
        with storage_faults("a copy of a stored file"):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield path, descriptor
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)

    def make_room(self, size: int) -> None:
        """Delete what was not used for longest if a new copy of `size` bytes would exceed the bound."""
        if self._size + size <= self._limit:
            return
        with _exclusive(self._temporary.parent / "eviction.lock"):
            listed = sorted(self._listed())
            self._size = sum(size for _, size, _ in listed)
            if self._size + size <= self._limit:
                return
            self._delete_oldest(listed, self._size + size - int(self._limit * LOW_WATER))

    def _delete_oldest(self, listed: list[tuple[float, int, str]], excess: int) -> None:
        kept, fresh, count = frozenset(self.in_use()), time.time() - self._grace, 0
        for used_at, size, digest in listed:
            if excess <= 0:
                break
            if used_at < fresh and digest not in kept:
                self.discard(digest)
                excess -= size
                count += 1
        _logger.info("%s copies of stored files were deleted to free space", count)

    def _listed(self) -> Iterator[tuple[float, int, str]]:
        """Yield when each copy was used last (seconds since 1970), its size, and its digest."""
        for path in self._copies.glob("*/*"):
            if not is_digest(path.name):
                continue
            with suppress(OSError):
                status = path.lstat()
                try:
                    used_at = self._use(path.name).lstat().st_mtime
                except FileNotFoundError:
                    used_at = status.st_mtime
                yield used_at, status.st_size, path.name

    def _use(self, digest: str) -> Path:
        return self._uses / digest[:SHARD_LETTERS] / digest

    def _touch(self, digest: str) -> None:
        use = self._use(digest)
        try:
            os.utime(use)
        except FileNotFoundError:
            with suppress(OSError):  # the disk may be full: it counts as used when it was written
                use.parent.mkdir(exist_ok=True, mode=0o700)
                use.touch(mode=0o600)
        except OSError:
            _logger.debug("the use of a copy is not noted", exc_info=True)

    def _delete_abandoned(self) -> None:
        """Delete unfinished files whose writers are gone: a writer keeps its file locked."""
        for path in self._temporary.iterdir():
            with suppress(FileNotFoundError, BlockingIOError):
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                finally:
                    os.close(descriptor)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold a lock of this host; the system frees it when the process ends, however it ends."""
    with storage_faults("the lock of the copies of stored files"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
