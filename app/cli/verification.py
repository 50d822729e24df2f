"""Whether a data directory is whole: its database, its blobs, what sessions have kept, and the audit trail.

It writes nothing, so a server may be running; what the server changes is read again before it is reported.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from app.cli.stored_blobs import StoredBlobs, stored_blobs
from app.config.database import DatabaseSettings
from app.domain.audit import TrailBroken, examined
from app.domain.errors import ApiError, BlobStorageUnusable, DatabaseUnusable, StorageUnavailable
from app.service.admin.audit import AUDIT, AuditFiles, AuditRotation
from app.service.admin.directory_identity import foreign_identity
from app.service.sessions.directories import SESSIONS
from app.store.database import FILE_NAME
from app.store.locations import SqliteLocation, location_of
from app.store.session_files import FilePart
from app.store.unit_of_work import Store
from app.system.durable import Durable
from app.worker.session.session_dir import LOG, check_log, find_newest, read_log
from app.worker.session.wal import DamagedLog

TRIES = 5
"""How often the files of a session that a running server replaces are read again."""


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong: with the "database", "storage", a "blob", a "session" or the "audit" trail, and what needs it."""

    kind: str
    name: str
    problem: str
    needed_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write it as a line."""
        needed = f"; needed by {', '.join(self.needed_by)}" if self.needed_by else ""
        return f"{self.kind} {self.name}: {self.problem}{needed}"


@dataclass(slots=True)
class Report:
    """What was looked at, and what was found. What nothing refers to does no harm: a start moves it away."""

    findings: list[Damage] = field(default_factory=list)
    blobs: int = 0
    bytes: int = 0
    sessions: int = 0
    audit_entries: int = 0
    unreferenced_blobs: list[str] = field(default_factory=list)
    unreferenced_sessions: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _References:
    """What a database refers to: what uses each blob, the open sessions and whether they have begun, all folders.

    `stored` is what is wrong with the sessions whose files are in the database, None if nothing is.
    """

    uses: Mapping[str, tuple[str, ...]]
    sessions: Mapping[str, bool]
    folders: frozenset[str]
    stored: Mapping[str, str | None]


def verify_directory(data_dir: Path) -> Report:
    """Check a data directory as a whole; OSError if it cannot be read."""
    begun, report = time.monotonic(), Report()
    if not data_dir.is_dir():
        raise NotADirectoryError(f"{data_dir} is no folder")
    try:
        _verify(data_dir, report)
    except (BlobStorageUnusable, StorageUnavailable) as error:
        report.findings.append(Damage("storage", "ADJOINT_BLOB_URL", error.detail))
        report.unreferenced_blobs.clear()
    except ApiError as error:
        report.findings.append(Damage("database", FILE_NAME, error.detail))
        report.unreferenced_blobs.clear()
    report.seconds = time.monotonic() - begun
    return report


def _verify(data_dir: Path, report: Report) -> None:
    blobs = stored_blobs(data_dir)
    known, found = _looked_at(data_dir, blobs, report)
    report.blobs, report.bytes, report.sessions = len(known.uses), blobs.read_bytes, len(known.sessions)
    files = blobs.digests()
    folders = {folder.name for folder in _folders(data_dir)}
    if found or files - known.uses.keys() or folders - known.folders:
        # A server may have deleted, healed or begun something since.
        now, found_again = _looked_at(data_dir, blobs, report)
        found &= found_again
        report.unreferenced_blobs = sorted(files - known.uses.keys() - now.uses.keys())
        report.unreferenced_sessions = sorted(folders - known.folders - now.folders)
    report.findings += sorted(found, key=lambda each: (each.kind, each.name))


def _looked_at(data_dir: Path, blobs: StoredBlobs, report: Report) -> tuple[_References, set[Damage]]:
    """Return what the database refers to now, and what is wrong with any of it."""
    with _copied(data_dir) as store:
        foreign = foreign_identity(data_dir, store)
        if foreign is not None:
            raise DatabaseUnusable(foreign)
        known = _known(store)
        trail = [*_audit_problems(store, data_dir, report)]
    return known, {*trail, *_blob_problems(blobs, known), *_session_problems(data_dir, known)}


@contextmanager
def _copied(data_dir: Path) -> Iterator[Store]:
    """Open a copy of the database, which is sound; DatabaseUnusable if it is not."""
    with tempfile.TemporaryDirectory(prefix="adjoint-verify-") as folder:
        location = location_of(DatabaseSettings()) or SqliteLocation(data_dir)
        location.copy(Path(folder))
        with Store.open(Path(folder)) as store:
            yield store


def _known(store: Store) -> _References:
    uses: defaultdict[str, list[str]] = defaultdict(list)
    with store.read() as work:
        for digest, use in work.blob_references.uses():
            uses[digest].append(use)
        sessions = {session.id: session.begun for session in work.sessions.open()}
        folders = work.sessions.with_folders()
        stored = {each: _stored_problem(work.session_files.parts(each)) for each in work.session_files.sessions()}
    return _References({digest: tuple(named) for digest, named in uses.items()}, sessions, folders, stored)


def _blob_problems(blobs: StoredBlobs, known: _References) -> Iterator[Damage]:
    for digest, uses in known.uses.items():
        problem = blobs.problem(digest)
        if problem is not None:
            yield Damage("blob", digest, problem, uses)


def _session_problems(data_dir: Path, known: _References) -> Iterator[Damage]:
    for session_id, begun in known.sessions.items():
        if session_id in known.stored:
            problem = known.stored[session_id]
        else:
            problem = _session_problem(data_dir / SESSIONS / session_id, begun=begun)
        if problem is not None:
            yield Damage("session", session_id, problem)


def _session_problem(folder: Path, *, begun: bool) -> str | None:
    """Return what is wrong with what a session has kept, None if nothing is."""
    gone: OSError | None = None
    for _ in range(TRIES):
        try:
            names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
            number = find_newest(names, has_snapshot=begun)
            if number is not None:
                read_log(folder, number)
        except FileNotFoundError as error:
            gone = error
        except DamagedLog as error:
            return str(error)
        else:
            return None
    return f"its files are replaced again and again ({gone})"


def _stored_problem(parts: Iterable[FilePart]) -> str | None:
    """Return what is wrong with the files of a session in the database; those that are blobs are checked as such."""
    files = {name: [part.data for part in group] for name, group in groupby(parts, key=lambda part: part.name)}
    try:
        number = find_newest(files, has_snapshot=True)
        assert number is not None  # else it raises
        contents = files[LOG.format(number)]
        if None not in contents:
            check_log(b"".join(data for data in contents if data is not None), number)
    except DamagedLog as error:
        return str(error)
    return None


def _audit_problems(store: Store, data_dir: Path, report: Report) -> Iterator[Damage]:
    trail = AuditRotation(store, AuditFiles(data_dir / AUDIT, Durable()))
    try:
        extent = examined(trail.entries())
    except (TrailBroken, FileNotFoundError) as error:
        yield Damage("audit", "trail", str(error))
        return
    report.audit_entries = extent.count
    if not extent.accounted:
        missing = f"entry {extent.first - 1} is missing, and no entry says that it was deleted"
        yield Damage("audit", "trail", missing)


def _folders(data_dir: Path) -> list[Path]:
    root = data_dir / SESSIONS
    return [folder for folder in root.iterdir() if folder.is_dir()] if root.is_dir() else []
