"""Checking that the file of a blob still holds the bytes that its digest names.

A file is read as a whole the first time that a process opens it, and again when it is another file or was changed
since: it is known by its device, inode, size and the times of its last change. SHA-256 is fast enough (about 700 MB/s
on a processor with instructions for it, 340 MB/s without) that no other checksum is kept beside the digest.
"""

import errno
import hashlib
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import NotFound
from app.store.blobs.plain_files import open_plain_file_in

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

        Planted if it is a link or has a second name; OSError if it cannot be opened for another reason than its
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
