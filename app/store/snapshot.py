"""A copy of the database while it is in use."""

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from app.domain.errors import DatabaseBusy, Draining
from app.store.blob_references import BlobReferences
from app.store.database import BUSY_SECONDS, FILE_NAME, Database, database_faults
from app.store.migrations import HEAD
from app.store.tables import checkpoints, datasets, events, fits, graphs, sessions

SLICE_PAGES = 512
"""Pages (of 4 KiB) that are copied at a time, while all others wait."""

PAUSE_SECONDS = 0.001
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
COUNTED = (graphs, datasets, fits, checkpoints, events, sessions)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of the database in the file `path`: its schema's revision, its rows by table, and its blobs' digests."""

    path: Path
    revision: str
    counts: Mapping[str, int]
    blobs: frozenset[str]


def take_snapshot(database: Database, folder: Path) -> Snapshot:
    """Copy the database into `folder`, as it is at one moment while this lasts, and look at the copy.

    The database is locked for a slice at a time. StorageFull if the disk is, DatabaseBusy if another program keeps
    the file locked, Draining if the database is closed meanwhile.
    """
    path = folder / FILE_NAME
    with database_faults():
        _copy(database, path)
    copied = Database.open(folder)
    try:
        with copied.transaction() as connection:
            return Snapshot(path, HEAD, _counts(connection), BlobReferences(connection).all())
    finally:
        copied.close()


def _copy(database: Database, path: Path) -> None:
    # What is committed between two slices goes through the connection that is copied from, so that SQLite changes the
    # copy along with the original: the copy is the database as it is with the last slice
    # (https://www.sqlite.org/c3ref/backup_finish.html).
    busy_until = time.monotonic() + BUSY_SECONDS

    def give_way(status: int, remaining: int, _total: int) -> None:
        nonlocal busy_until
        if status not in BUSY:
            busy_until = time.monotonic() + BUSY_SECONDS
        elif time.monotonic() > busy_until:
            raise DatabaseBusy("another program keeps the database locked; try again")
        if not remaining:
            return
        database.lock.release()
        try:
            time.sleep(PAUSE_SECONDS)
        finally:
            database.lock.acquire()
        if database.connection.closed:
            raise Draining("the server is stopping; make the backup when it is back")

    with closing(sqlite3.connect(path)) as target, database.lock:
        target.execute("PRAGMA synchronous=OFF")  # the copy is of no use after a power cut
        source = database.connection.connection.driver_connection
        assert source is not None
        source.backup(target, pages=SLICE_PAGES, progress=give_way)


def _counts(connection: Connection) -> dict[str, int]:
    return {table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in COUNTED}
