"""Backups of a server at work: one archive of the database at one moment, of every blob that it refers to then, of what
sessions have put aside, and of the files of old entries of the audit trail.

The archive is an uncompressed tar: `adjoint.db`, the blobs as `blobs/<digest>` in the order of their digests, the files
of sessions as `sessions/<id>/<name>`, those of the trail as `audit/<first>-<last>.ndjson`, and `manifest.json`, which
says what there is and so shows that nothing is missing. Should a blob turn out to be damaged, `error.json` ends the
archive in place of the manifest.
"""

import hashlib
import json
import logging
import tarfile
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from app.domain.clock import rfc3339
from app.domain.errors import ApiError, BackupInProgress, NotFound, storage_faults
from app.service.admin.audit import AuditFile, AuditRotation
from app.service.resources.blobs import Integrity
from app.service.resources.storage import StorageContext
from app.service.sessions.directories import SessionDirs, SessionFile
from app.store.blobs.store import BlobStore
from app.store.snapshot import Snapshot

FORMAT = "adjoint-backup/3"
DATABASE, BLOBS, SESSIONS, TRAIL = "adjoint.db", "blobs/", "sessions/", "audit/"
MANIFEST, ERROR = "manifest.json", "error.json"
CHUNK_BYTES = 1024 * 1024
END = bytes(2 * tarfile.BLOCKSIZE)
RETRY_SECONDS = 10
END_SECONDS = 2.0

_logger = logging.getLogger(__name__)


class BlobDamaged(ApiError):  # noqa: N818 (named as the others of its tree)
    """A blob is missing or damaged; raised during a backup, never in a response."""

    code = "blob_damaged"
    title = "A blob is damaged"


@dataclass(frozen=True, slots=True)
class BackupContents:
    """What a backup holds besides blobs, as of `made_at`, and the `version` of the server that made it."""

    snapshot: Snapshot
    sessions: Sequence[SessionFile]
    trail: Sequence[AuditFile]
    made_at: datetime
    version: str


class Backup:
    """A backup in progress: its bytes, and the `resources` that are released when it is closed."""

    def __init__(self, contents: BackupContents, blobs: BlobStore, integrity: Integrity, resources: ExitStack) -> None:
        """Read the `contents`, and from `blobs` what their snapshot refers to; `integrity` marks damaged blobs."""
        self._integrity = integrity
        self._contents = contents
        self._snapshot = contents.snapshot
        self._files = [
            *((f"{SESSIONS}{file.session_id}/{file.name}", file.path, file.size_bytes) for file in contents.sessions),
            *((TRAIL + file.path.name, file.path, file.path.stat().st_size) for file in contents.trail),
        ]
        self._blobs = blobs
        self._resources = resources
        self.name = f"adjoint-{contents.made_at:%Y%m%dT%H%M%SZ}.tar"
        self.chunks = self._written()

    def close(self) -> None:
        """Release what is held for the backup."""
        self.chunks.close()
        self._resources.close()

    def _written(self) -> Generator[bytes]:
        with self._snapshot.path.open("rb") as file:
            size = self._snapshot.path.stat().st_size
            digest = yield from _write_entry(DATABASE, file, size)
        listed: dict[str, int] = {}
        try:
            for blob in sorted(self._snapshot.blobs):
                listed[blob] = yield from self._blob(blob)
        except BlobDamaged as error:
            _logger.error("a backup ends early", extra={"detail": error.detail})
            yield from _write_document(ERROR, {"code": error.code, "detail": error.detail})
        else:
            files = yield from self._written_files()
            yield from _write_document(MANIFEST, self._manifest({"digest": digest, "size_bytes": size}, listed, files))
        yield END

    def _blob(self, digest: str) -> Generator[bytes, None, int]:
        try:
            file = self._blobs.open(digest)
        except NotFound as error:
            self._integrity.note(digest, "is missing")
            raise BlobDamaged(f"blob {digest} is missing; delete what refers to it, or restore it") from error
        with file:
            size = self._blobs.size(digest)
            if (yield from _write_entry(BLOBS + digest, file, size)) != digest:
                self._integrity.note(digest, "does not hold the bytes that its digest names")
                raise BlobDamaged(f"blob {digest} holds other bytes; delete what refers to it, or restore it")
        return size

    def _written_files(self) -> Generator[bytes, None, dict[str, Any]]:
        """Write the files of sessions and of the trail, and return their sizes and digests by name."""
        listed: dict[str, Any] = {}
        for name, path, size in self._files:
            with path.open("rb") as file:
                digest = yield from _write_entry(name, file, size)
            listed[name] = {"digest": digest, "size_bytes": size}
        return listed

    def _manifest(
        self, database: Mapping[str, Any], blobs: Mapping[str, int], files: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": self._contents.version,
            "revision": self._snapshot.revision,
            "made_at": rfc3339(self._contents.made_at),
            "counts": dict(self._snapshot.counts),
            "database": dict(database),
            "blobs": dict(blobs),
            "sessions": _strip_prefix(SESSIONS, files),
            "audit": _strip_prefix(TRAIL, files),
        }


class Backups:
    """The use cases of backups."""

    def __init__(self, storage: StorageContext, dirs: SessionDirs, trail: AuditRotation, version: str) -> None:
        """Back up `storage`, the `dirs` of sessions and the files of the audit `trail`; `version` is the server's.

        While a backup is downloaded, the copy of the database and hard links to those files are in the scratch
        directory.
        """
        self._storage = storage
        self._dirs = dirs
        self._trail = trail
        self._version = version
        self._lock = threading.Lock()

    def open(self) -> Backup:
        """Copy the database and return the backup, to be closed by the caller; the server keeps working.

        BackupInProgress while there is another, StorageFull without disk space for the copy, StorageFailed.
        """
        if not self._lock.acquire(blocking=False):
            raise BackupInProgress(
                "another backup is being downloaded; wait until it is done", retry_after=RETRY_SECONDS
            )
        with ExitStack() as resources, storage_faults("the copy of the database"):
            resources.callback(self._lock.release)
            self._storage.space.check_disk()
            # Before the copy is made: from then on no blob that it may refer to is deleted.
            resources.enter_context(self._storage.sweeper.paused())
            folder = resources.enter_context(tempfile.TemporaryDirectory(dir=self._storage.scratch))
            made_at = self._storage.clock.now()
            # Before the database, which then lists all datasets and checkpoints that they refer to.
            sessions = self._dirs.link(Path(folder) / "sessions")
            # At one moment: what leaves the table for a file must be in one of them, and so in the copy.
            with self._trail.resting() as files:
                trail = files.link(Path(folder) / "audit")
                snapshot = self._storage.store.snapshot(Path(folder))
            contents = BackupContents(snapshot, sessions, trail, made_at, self._version)
            return Backup(contents, self._storage.blobs, self._storage.integrity, resources.pop_all())

    def end(self) -> None:
        """Start no more backups, and wait shortly for one that is being closed: its resources are closed next."""
        self._lock.acquire(timeout=END_SECONDS)


def _strip_prefix(prefix: str, files: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): file for name, file in files.items() if name.startswith(prefix)}


def _write_entry(name: str, file: BinaryIO, size: int) -> Generator[bytes, None, str]:
    """Write an entry of `size` bytes and return the SHA-256 of the actual content.

    Unreadable parts become zeros, so that the archive stays readable up to the error document at its end.
    """
    yield _entry_header(name, size)
    digest, left = hashlib.sha256(), size
    while left and (chunk := _read_chunk(file, min(CHUNK_BYTES, left))):
        digest.update(chunk)
        left -= len(chunk)
        yield chunk
    while left:
        zeros = bytes(min(CHUNK_BYTES, left))
        left -= len(zeros)
        yield zeros
    yield _padding(size)
    return digest.hexdigest()


def _read_chunk(file: BinaryIO, size: int) -> bytes:
    try:
        return file.read(size)
    except OSError:
        _logger.exception("cannot read a file")
        return b""


def _write_document(name: str, document: Mapping[str, Any]) -> Generator[bytes]:
    content = json.dumps(document, separators=(",", ":")).encode()
    yield _entry_header(name, len(content)) + content + _padding(len(content))


def _entry_header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mode = 0o600
    return entry.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)
