"""Opens and verifies stored files: regular files with one name, reached by no symbolic link.

A file is read as a whole the first time that a process opens it, and again when it is another file or was changed
since: it is known by its device, inode, size and the times of its last change. SHA-256 is fast enough (about 700 MB/s
on a processor with instructions for it, 340 MB/s without) that no other checksum is kept beside the digest.
"""

import errno
import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import FileReplaced, NotFound

# ELOOP: the last part is a symbolic link; ENXIO: a socket; ENOTDIR: a link, or a file, in the place of a folder.
NO_PLAIN_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENOTDIR})


def open_plain_file(path: Path, folder: int | None = None) -> int:
    """Open the file for reading, in the open `folder` if given. NotFound; FileReplaced unless plain with one name."""
    while True:
        # Not blocking: opening a planted pipe would wait for its writer.
        descriptor = _open_or_not_found(path, os.O_NONBLOCK, path.name, folder)
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            return descriptor
        os.close(descriptor)
        # Without a name: the file was deleted, or an equal one was stored in its place, since it was opened.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise _file_replaced(path.name)


def open_plain_file_in(folder: Path, name: str) -> int:
    """Open the file `name` of a folder that is no symbolic link itself, as `open_plain_file` does."""
    descriptor = _open_or_not_found(folder, os.O_DIRECTORY, name)
    try:
        return open_plain_file(Path(name), descriptor)
    finally:
        os.close(descriptor)


def _open_or_not_found(path: Path, flags: int, name: str, folder: int | None = None) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise NotFound(f"there is no blob {name}") from error
        if error.errno in NO_PLAIN_FILE:
            raise _file_replaced(name) from error
        raise


def _file_replaced(name: str) -> FileReplaced:
    return FileReplaced(f"blob {name} is not a plain file with one name; restore it from a backup")


REMEMBERED = 100_000
"""Verdicts that are kept, of about 300 bytes each."""

UNSETTLED_NS = 100_000_000
"""A verdict on a file that was changed this recently is not kept: the clock of the file system may be so coarse that a
later change would leave the same times.
"""

STRIPES = 16


@dataclass(frozen=True, slots=True)
class _Identity:
    """What distinguishes the content of a file from that of another, or from its own at another time."""

    digest: str
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, descriptor: int, digest: str) -> "_Identity":
        status = os.fstat(descriptor)
        return cls(digest, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class BlobVerifier:
    """Remembers the verdicts of one process. Several threads may ask; one reads a file, the others wait for it."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        """Keep the latest `remembered` verdicts."""
        self._remembered = remembered
        self._verdicts: OrderedDict[_Identity, str | None] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = [threading.Lock() for _ in range(STRIPES)]
        self.read_bytes = 0
        """Bytes that were read to check them."""

    def problem(self, path: Path, digest: str) -> str | None:
        """Return what is wrong with the file of the blob `digest` as part of a sentence, None if nothing is.

        FileReplaced if it is a link or has a second name; OSError if it cannot be opened for another reason than its
        absence, such as too many open files.
        """
        with self._turns[hash(digest) % STRIPES]:
            try:
                descriptor = open_plain_file_in(path.parent, path.name)
            except NotFound as error:
                if type(error) is not NotFound:
                    raise
                return "is missing"
            try:
                return self._judged(descriptor, digest)
            finally:
                os.close(descriptor)

    def _judged(self, descriptor: int, digest: str) -> str | None:
        identity = _Identity.of(descriptor, digest)
        with self._lock:
            if identity in self._verdicts:
                self._verdicts.move_to_end(identity)
                return self._verdicts[identity]
        begun = time.time_ns()
        try:
            verdict = self._read(descriptor, digest)
        except OSError as error:
            # Not remembered: the disk may read it the next time.
            return f"cannot be read ({errno.errorcode.get(error.errno or 0, 'unknown error')})"
        if identity == _Identity.of(descriptor, digest) and begun - identity.changed_ns > UNSETTLED_NS:
            with self._lock:
                self._verdicts[identity] = verdict
                while len(self._verdicts) > self._remembered:
                    self._verdicts.popitem(last=False)
        return verdict

    def _read(self, descriptor: int, digest: str) -> str | None:
        with os.fdopen(os.dup(descriptor), "rb", buffering=0) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            with self._lock:
                self.read_bytes += file.tell()
        return None if found == digest else "does not hold the bytes that its digest names"
