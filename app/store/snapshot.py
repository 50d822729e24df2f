"""Copies of the database, and whether a file is a sound database of this server."""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, func, select

from app.domain.errors import DatabaseUnusable
from app.store.blob_references import BlobReferences
from app.store.database import FILE_NAME, Database
from app.store.migrations import HEAD
from app.store.tables import checkpoints, datasets, events, fits, graphs, sessions

COUNTED = (graphs, datasets, fits, checkpoints, events, sessions)


class CopyableDatabase(Protocol):
    """A database that can be copied while it is used."""

    def copy(self, path: Path) -> None:
        """Make `path` an SQLite database with all rows as they are at one moment while this lasts."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of the database in the file `path`: its schema's revision, its rows by table, and its blobs' digests."""

    path: Path
    revision: str
    counts: Mapping[str, int]
    blobs: frozenset[str]


def take_snapshot(database: CopyableDatabase, folder: Path) -> Snapshot:
    """Copy the database into `folder`, as it is at one moment while this lasts, and look at the copy."""
    path = folder / FILE_NAME
    database.copy(path)
    copied = Database.open(folder)
    try:
        with copied.transaction() as connection:
            return Snapshot(path, HEAD, _counts(connection), BlobReferences(connection).all())
    finally:
        copied.close()


def _counts(connection: Connection) -> dict[str, int]:
    return {table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in COUNTED}


JOURNALS = ("-journal", "-wal")
"""What SQLite keeps beside a database, by the ends of the names."""

# What a database of ours is made of: no trigger or view, which would run code of the file's author.
_FOREIGN = "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"


def copy_database(data_dir: Path, folder: Path) -> Path:
    """Copy the database of a data directory, which a server may be using, into `folder`, and return the copy.

    Nothing is written to the data directory. DatabaseUnusable if there is no database, or it cannot be read.
    """
    source, target = data_dir / FILE_NAME, folder / FILE_NAME
    if not source.is_file():
        raise DatabaseUnusable("it is missing")
    if not source.stat().st_size:
        raise DatabaseUnusable("it is empty")
    try:
        with (
            closing(sqlite3.connect(_read_only(source), uri=True)) as read,
            closing(sqlite3.connect(target)) as written,
        ):
            read.backup(written)
    except sqlite3.OperationalError:
        # A server that was killed has left a journal, which only a writer can roll back: the copy can.
        for suffix in ("", *JOURNALS):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
        with closing(sqlite3.connect(target)) as recovered:
            _tables(recovered)
    except sqlite3.DatabaseError as error:
        raise DatabaseUnusable(f"it cannot be read: {error}") from error
    return target


def check_database(path: Path) -> None:
    """DatabaseUnusable if the file is damaged, or holds what no server of ours puts into a database."""
    try:
        with closing(sqlite3.connect(_read_only(path), uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            foreign = connection.execute(_FOREIGN).fetchall()
            ((verdict,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:
        raise DatabaseUnusable(f"its database cannot be read: {error}") from error
    if foreign:
        raise DatabaseUnusable("its database holds a trigger or a view, which no server puts there")
    if verdict != "ok" or orphans:
        raise DatabaseUnusable(f"its database is damaged: {verdict if verdict != 'ok' else 'rows refer to none'}")


def check_tables(path: Path) -> None:
    """DatabaseUnusable if the file is a database that no server has made its tables in."""
    try:
        with closing(sqlite3.connect(_read_only(path), uri=True)) as connection:
            tables = _tables(connection)
    except sqlite3.DatabaseError as error:
        raise DatabaseUnusable(f"it cannot be read: {error}") from error
    if "alembic_version" not in tables:
        raise DatabaseUnusable("it holds no tables of a server")


def has_tables(path: Path) -> bool:
    """Whether there is a file at `path` that is not an empty database: one with tables, or one that is damaged."""
    if not path.exists():
        return False
    try:
        # Not read only: where a server was killed while it made its tables, they are rolled back first.
        with closing(sqlite3.connect(path)) as connection:
            return bool(_tables(connection))
    except DatabaseUnusable:
        return True


def _tables(connection: sqlite3.Connection) -> frozenset[str]:
    try:
        return frozenset(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    except sqlite3.DatabaseError as error:
        raise DatabaseUnusable(f"it cannot be read: {error}") from error


def _read_only(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"
