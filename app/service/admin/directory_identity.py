"""The database of a data directory and the files beside it belong together: each holds the identity of the other.

`blobs/identity` lists the identities of all databases that this data directory has had, the present one last. The
database holds its own. So a start neither takes the files of a lost database for orphans, nor those of another
data directory. A database without an identity, from before there were any, takes that of the files.
"""

import logging
import re
import secrets
from contextlib import suppress
from pathlib import Path

from app.domain.clock import Clock
from app.domain.errors import DatabaseUnusable, storage_faults
from app.service.admin.audit import AUDIT
from app.service.admin.quarantine import QUARANTINE, Quarantine
from app.service.sessions.directories import SESSIONS
from app.store.blobs.store import blob_files
from app.store.locations import DatabaseLocation, SqliteLocation
from app.store.unit_of_work import Store
from app.system.durable import Durable

MARKER = "identity"
"""The file in the folder of blobs."""

_IDENTITY = re.compile(r"[0-9a-f]{32}")

_logger = logging.getLogger(__name__)


def open_database(
    data_dir: Path,
    clock: Clock,
    durable: Durable,
    quarantine: Quarantine,
    location: DatabaseLocation | None = None,
    *,
    adopt_empty: bool = False,
) -> Store:
    """Open the database of a data directory, and make one if there are no stored files either.

    It is an SQLite file in the directory, unless `location` says where else it is.

    With `adopt_empty` also if there are: they stay, and what the database does not refer to goes to quarantine when
    the server starts. Raises DatabaseUnusable if the database is missing or empty beside stored files, belongs to
    another data directory, or cannot be opened.
    """
    location = location or SqliteLocation(data_dir.resolve())
    directory = DirectoryIdentity(data_dir, durable, quarantine, location)
    if location.is_empty():
        if directory.has_files and not adopt_empty:
            raise DatabaseUnusable(_lost_message(location))
        directory.begin()
    store = location.open(clock, durable)
    try:
        directory.check(store)
    except BaseException:
        store.close()
        raise
    return store


def foreign_identity(data_dir: Path, store: Store) -> str | None:
    """Return what is wrong if the database belongs to another data directory than the stored files, else None."""
    with store.read() as work:
        own = work.identity.get()
    known = read_identities(data_dir)
    if own is None or not known or own in known:
        return None
    return f"it belongs to another data directory: its identity is {own}, and the stored files have had {known[-1]}"


def read_identities(data_dir: Path) -> list[str]:
    """Return the identities that the folder of blobs holds, the present one last; none if there is no such file."""
    try:
        lines = _marker_path(data_dir).read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [line for line in lines if _IDENTITY.fullmatch(line)]


class DirectoryIdentity:
    """What a data directory records about its databases. Hold its lock."""

    def __init__(self, data_dir: Path, durable: Durable, quarantine: Quarantine, location: DatabaseLocation) -> None:
        """Move what belongs to another database than the one at `location` to `quarantine`."""
        self._location = location
        self._data_dir = data_dir.resolve()
        self._durable = durable
        self._quarantine = quarantine

    @property
    def has_files(self) -> bool:
        """Whether anything is stored that a database may refer to."""
        sessions = self._data_dir / SESSIONS
        return any(True for _ in blob_files(self._data_dir)) or (sessions.is_dir() and any(sessions.iterdir()))

    def begin(self) -> None:
        """Give the directory a new identity, for a database that is about to be made."""
        for leftover in self._location.leftovers():
            if leftover.exists():
                _logger.warning("%s is left of a database that is gone; it is in quarantine", leftover.name)
                self._quarantine.hold("database", leftover)
        self._turn_to(secrets.token_hex(16))

    def check(self, store: Store) -> None:
        """Record the identities of the database and of the directory in each other.

        Raises:
            DatabaseUnusable: the database belongs to another directory.
        """
        with store.begin() as work:
            work.lock("identity")  # servers that share the database may start at the same time
            own = work.identity.get()
            if own is None:
                # Not before the commit is the marker written: a database with an identity is taken by a folder without.
                known = read_identities(self._data_dir)
                own = known[-1] if known else secrets.token_hex(16)
                work.identity.set(own)
        problem = foreign_identity(self._data_dir, store)
        if problem is not None and self.has_files:
            raise DatabaseUnusable(
                f"{self._location.name} cannot be used: {problem}; put back the database that was here, or "
                "restore a backup to another folder with `adjoint restore`; to have this database take over the files, "
                f"delete {_marker_path(self._data_dir)}: those that it does not refer to go to the folder {QUARANTINE}"
            )
        self._turn_to(own)

    def _turn_to(self, own: str) -> None:
        """Make `own` the present identity; the audit trail of the one before makes way for that of this one."""
        known = read_identities(self._data_dir)
        before, trail = known[-1] if known else None, self._data_dir / AUDIT
        if before != own:
            if before is not None and trail.is_dir():
                self._quarantine.hold(AUDIT, trail, before)
            self._write([*(each for each in known if each != own), own])
        if not trail.is_dir():
            self._quarantine.release(AUDIT, own, trail)

    def _write(self, identities: list[str]) -> None:
        target = _marker_path(self._data_dir)
        partial = target.with_suffix(".partial")
        with storage_faults("the identity of the data directory"):
            self._durable.mkdir(target.parent)
            with suppress(FileNotFoundError):
                partial.unlink()
            with self._durable.create(partial) as file:
                file.write("".join(f"{each}\n" for each in identities).encode())
                file.sync()
            self._durable.rename(partial, target)
            self._durable.sync_folder(target.parent)


def _marker_path(data_dir: Path) -> Path:
    return data_dir / "blobs" / MARKER


def _lost_message(location: DatabaseLocation) -> str:
    return (
        f"{location.name} is missing or empty, and there are files in the data directory that it referred to; "
        f"{location.remedy}; to begin with an empty database, start with --adopt-empty: the files go to the folder "
        f"{QUARANTINE}, and are deleted after "
        "ADJOINT_QUARANTINE_DAYS"
    )
