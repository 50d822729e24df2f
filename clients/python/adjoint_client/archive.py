"""Backups as files: read strictly, so that a torn or a forged one is never taken for a whole one.

The server writes an uncompressed tar: the database, blobs named after their SHA-256, files of sessions, files of old
entries of the audit trail, and a manifest, which lists them all.
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from adjoint_client.errors import BackupDamaged

FORMATS = ("adjoint-backup/1", "adjoint-backup/2", "adjoint-backup/3")
"""The first one has no sessions, the second one no files of the audit trail."""
DATABASE, BLOBS, SESSIONS, AUDIT = "adjoint.db", "blobs/", "sessions/", "audit/"
MANIFEST, ERROR = "manifest.json", "error.json"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SESSION_FILE = re.compile(r"sess_[0-9a-z]{26}/(?:(?:snapshot|saved)-[0-9]{1,20}\.safetensors|log-[0-9]{1,20})")
_AUDIT_FILE = re.compile(r"[0-9]{12,15}-[0-9]{12,15}\.ndjson")
_CHUNK_BYTES = 1 << 20
_DOCUMENT_BYTES = 1 << 16
_LISTED_BYTES = 256

Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds: the server's version, its schema's revision, rows by table, and the bytes of all blobs, of
    all files of sessions, and of all files of the audit trail.
    """

    version: str
    revision: str
    made_at: str
    counts: dict[str, int]
    database_bytes: int
    blobs: dict[str, int]
    sessions: dict[str, int]
    audit: dict[str, int]


class Sink(Protocol):
    """Takes the content of a backup; a context that is left without an exception was given the right bytes."""

    def database(self) -> AbstractContextManager[Write]:
        """Open a place for the database."""
        ...

    def blob(self) -> AbstractContextManager[Write]:
        """Open a place for a blob."""
        ...

    def session_file(self, path: str, /) -> AbstractContextManager[Write]:
        """Open a place for a file of a session; the path is its id, a slash and a name, and goes nowhere else."""
        ...

    def audit_file(self, name: str, /) -> AbstractContextManager[Write]:
        """Open a place for a file of the audit trail; the name holds no slash."""
        ...


class Nowhere:
    """Reads the content of a backup and keeps nothing: to verify that it is complete."""

    @contextmanager
    def database(self) -> Iterator[Write]:
        """Open a place for the database."""
        yield len

    @contextmanager
    def blob(self) -> Iterator[Write]:
        """Open a place for a blob."""
        yield len

    @contextmanager
    def session_file(self, _path: str, /) -> Iterator[Write]:
        """Open a place for a file of a session."""
        yield len

    @contextmanager
    def audit_file(self, _name: str, /) -> Iterator[Write]:
        """Open a place for a file of the audit trail."""
        yield len


def read_archive(file: BinaryIO, sink: Sink) -> Manifest:
    """Read a backup to its end, hand its content to `sink`, and return what it holds.

    What `sink` was given counts only if this returns. Memory grows with the number of blobs, not with their size.

    Raises:
        BackupDamaged: it is torn, or holds anything but what a server writes, or other bytes than it says.
    """
    name, size = _header(file)
    if name != DATABASE:
        raise BackupDamaged(f"it does not begin with {DATABASE}")
    with sink.database() as write:
        database = {"digest": _content(file, size, write), "size_bytes": size}
    blobs: dict[str, int] = {}
    files: dict[str, dict[str, dict[str, Any]]] = {SESSIONS: {}, AUDIT: {}}
    kinds = {SESSIONS: (_SESSION_FILE, sink.session_file), AUDIT: (_AUDIT_FILE, sink.audit_file)}
    while (entry := _header(file))[0] not in (MANIFEST, ERROR):
        kind = next((kind for kind in kinds if entry[0].startswith(kind)), None)
        if kind is not None:
            own = _own_name(entry[0].removeprefix(kind), kinds[kind][0], files[kind])
            with kinds[kind][1](own) as write:
                files[kind][own] = {"digest": _content(file, entry[1], write), "size_bytes": entry[1]}
            continue
        digest, size = _blob_name(entry[0], blobs), entry[1]
        with sink.blob() as write:
            if _content(file, size, write) != digest:
                raise BackupDamaged(f"blob {digest} does not hold the bytes that it is named after")
        blobs[digest] = size
    document = _document(file, *entry, _DOCUMENT_BYTES + _LISTED_BYTES * (len(blobs) + sum(map(len, files.values()))))
    if file.read(2 * tarfile.BLOCKSIZE + 1) != bytes(2 * tarfile.BLOCKSIZE):
        raise BackupDamaged("it does not end where it should")
    if entry[0] == ERROR:
        raise BackupDamaged(f"the server could not complete it: {document.get('detail')}")
    return _manifest(document, database, blobs, files[SESSIONS], files[AUDIT])


def _own_name(name: str, known: re.Pattern[str], before: dict[str, dict[str, Any]]) -> str:
    if not known.fullmatch(name):
        raise BackupDamaged(f"no backup has an entry {name[:80]!a}")
    if name in before:
        raise BackupDamaged(f"{name} comes twice")
    return name


def _header(file: BinaryIO) -> tuple[str, int]:
    """Read the name and the size of the next entry, which must be a plain file."""
    block = _exactly(file, tarfile.BLOCKSIZE)
    try:
        entry = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.HeaderError, ValueError) as error:
        raise BackupDamaged("it is torn, or no backup at all: there is no entry where one should be") from error
    if entry.type != tarfile.REGTYPE or entry.linkname or entry.size < 0:
        raise BackupDamaged("an entry is no plain file")
    return entry.name, entry.size


def _blob_name(name: str, before: dict[str, int]) -> str:
    digest = name.removeprefix(BLOBS)
    if name == digest or not _DIGEST.fullmatch(digest):
        raise BackupDamaged(f"no backup has an entry {name[:80]!a}")
    if digest in before:
        raise BackupDamaged(f"blob {digest} comes twice")
    return digest


def _content(file: BinaryIO, size: int, write: Write) -> str:
    """Hand the content of an entry on and return its SHA-256."""
    digest, left = hashlib.sha256(), size
    while left:
        chunk = _exactly(file, min(_CHUNK_BYTES, left))
        left -= len(chunk)
        digest.update(chunk)
        write(chunk)
    if any(_exactly(file, -size % tarfile.BLOCKSIZE)):
        raise BackupDamaged("there is something between two entries")
    return digest.hexdigest()


def _document(file: BinaryIO, name: str, size: int, most: int) -> dict[str, Any]:
    if size > most:
        raise BackupDamaged(f"{name} has {size} bytes, which is more than there is to say")
    content = bytearray()
    _content(file, size, content.extend)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BackupDamaged(f"{name} is not JSON") from error
    if not isinstance(document, dict):
        raise BackupDamaged(f"{name} holds no object")
    return document


def _manifest(
    document: dict[str, Any],
    database: dict[str, Any],
    blobs: dict[str, int],
    sessions: dict[str, dict[str, Any]],
    audit: dict[str, dict[str, Any]],
) -> Manifest:
    if document.get("format") not in FORMATS:
        raise BackupDamaged(f"its format is none of {', '.join(FORMATS)}: read it with the version that wrote it")
    listed = [document.get("database"), document.get("blobs"), document.get("sessions", {}), document.get("audit", {})]
    if listed != [database, blobs, sessions, audit]:
        raise BackupDamaged("what it holds is not what its manifest lists")
    return Manifest(
        version=str(document.get("version")),
        revision=str(document.get("revision")),
        made_at=str(document.get("made_at")),
        counts=_counts(document.get("counts")),
        database_bytes=database["size_bytes"],
        blobs=blobs,
        sessions={name: file["size_bytes"] for name, file in sessions.items()},
        audit={name: file["size_bytes"] for name, file in audit.items()},
    )


def _counts(listed: Any) -> dict[str, int]:
    if not isinstance(listed, dict) or not all(isinstance(count, int) for count in listed.values()):
        raise BackupDamaged("its manifest does not count what it holds")
    return listed


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise BackupDamaged("it is torn: its end is missing")
    return data
