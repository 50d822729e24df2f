"""Failures of SQLite and of the disk below it, as errors of the domain.

SQLite 3.7.0 to 3.51.2 can lose committed transactions when two connections write or checkpoint a write-ahead log at
once (fixed in 3.51.3, and in 3.44.6 and 3.50.7). So one process opens the file, through one connection, and an
affected SQLite keeps a rollback journal instead.
"""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Self

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.exc import DatabaseError

from app.domain.errors import (
    DatabaseBusy,
    DatabaseUnusable,
    Draining,
    StorageFailed,
    StorageFull,
    storage_faults,
)
from app.store import schema
from app.store.dialect import SQLITE
from app.store.migrations import HEAD
from app.system.durable import Durable

FAILING = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    }
)
PRIMARY = 0xFF
"""The part of a code that names the kind of error; the rest is more specific."""

IN_DOUBT = os.EX_IOERR

_logger = logging.getLogger(__name__)


@contextmanager
def database_faults() -> Iterator[None]:
    """Have errors named: StorageFull, StorageFailed, DatabaseBusy. Nothing of the transaction stays in each case.

    SQLite undoes what it could not commit, from its journal, and the connection can be used again
    (https://www.sqlite.org/lang_transaction.html). With one exception: once the journal is deleted a transaction is
    committed, and if the folder cannot be synced after that, a power cut may still undo it. Such a commit can neither
    be acknowledged nor be denied, so this process ends: the next start takes up what it finds.
    """
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        named = _named(error.orig if isinstance(error, DatabaseError) else error)
        if named is None:
            raise
        raise named from error


def _named(cause: object) -> StorageFull | StorageFailed | DatabaseBusy | None:
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return None
    if code == sqlite3.SQLITE_IOERR_DIR_FSYNC:
        _logger.critical("it is not known whether a commit is durable (%s); the server ends, start it again", cause)
        os._exit(IN_DOUBT)
    if code & PRIMARY == sqlite3.SQLITE_FULL:
        return StorageFull("the database cannot grow: the disk is full; free some space, then try again")
    if code & PRIMARY == sqlite3.SQLITE_BUSY:
        return DatabaseBusy("another program keeps the database locked; nothing was changed, try again")
    if code & PRIMARY in FAILING:
        name = getattr(cause, "sqlite_errorname", code)
        _logger.error("the database failed (%s): %s", name, cause)
        return StorageFailed(
            f"the database failed ({name}), and nothing was changed; have the server's disk checked, then try again"
        )
    return None


def revision(connection: Connection) -> str | None:
    """Return the revision stamped into the database, None for an empty one. Leaves no transaction open."""
    with connection.begin():
        return schema.read_revision(connection)


def bring_up_to_date(connection: Connection) -> None:
    """Create the newest schema in an empty database, or run the migrations that are missing, all or none.

    DatabaseUnusable if a newer server wrote the database.
    """
    with connection.begin():
        if connection.exec_driver_sql("SELECT 1 FROM sqlite_master").first() is None:
            schema.create(connection)
            return
    present = revision(connection)
    if present != HEAD:
        _without_foreign_keys(connection, lambda: schema.migrate(connection, present, _check_foreign_keys))


def _without_foreign_keys(connection: Connection, run: Callable[[], object]) -> None:
    # A migration may rebuild a table by dropping the old one, which with foreign keys on would delete the rows that
    # refer to it. The switch does nothing inside a transaction, hence around it.
    driver = _driver(connection)
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        run()
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _check_foreign_keys(connection: Connection) -> None:
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise RuntimeError(f"a migration left {len(broken)} rows that refer to rows that are gone: {broken[:3]}")


FILE_NAME = "adjoint.db"
BUSY_SECONDS = 5.0
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

SLICE_PAGES = 512
"""Pages (of 4 KiB) that are copied at a time, while all others wait."""

PAUSE_SECONDS = 0.001
CACHE_KIB = 32 * 1024

WAL_FIXED = (3, 51, 3)
WAL_FIXED_IN_RELEASE: Mapping[tuple[int, int], int] = MappingProxyType({(3, 44): 6, (3, 50): 7})


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """How commits are made durable: SQLite's `journal_mode` and `synchronous`."""

    journal_mode: str
    synchronous: str


def journal_settings(sqlite_version: tuple[int, int, int]) -> JournalSettings:
    """Return the fastest settings that lose no commit, even to a power cut, with this version of SQLite.

    A rollback journal needs EXTRA, which also syncs the folder; a write-ahead log needs FULL
    (https://www.sqlite.org/pragma.html#pragma_synchronous).
    """
    major, minor, patch = sqlite_version
    patched = WAL_FIXED_IN_RELEASE.get((major, minor))
    if sqlite_version >= WAL_FIXED or (patched is not None and patch >= patched):
        return JournalSettings("wal", "full")
    return JournalSettings("delete", "extra")


class Database:
    """An open SQLite database at the newest schema. Hold `lock` while using `connection`."""

    dialect = SQLITE
    is_shared = False  # no other process changes anything

    def __init__(self, engine: Engine, connection: Connection) -> None:
        self._engine = engine
        self._in_use = False
        self.connection = connection
        self.lock = threading.RLock()

    @classmethod
    def open(cls, data_dir: Path, durable: Durable | None = None) -> Self:
        """Open `adjoint.db` in `data_dir`, made if missing, and bring its schema up to date.

        Raises DatabaseUnusable if the file is no database of ours, is in use, or was written by a newer server.
        Commits that change something are operations of `durable`.
        """
        durable = durable or Durable()
        durable.mkdir(data_dir.resolve())
        path = data_dir / FILE_NAME
        engine = _engine(path, durable)
        try:
            connection = engine.connect()
            bring_up_to_date(connection)
        except DatabaseError as error:
            engine.dispose()
            raise DatabaseUnusable(
                f"{path} cannot be opened: {error.orig}; restore it from a backup, or set ADJOINT_DATA_DIR to another "
                "folder"
            ) from error
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, connection)

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Connection]:  # noqa: ARG002
        """Commit what the block does, or nothing if it raises or the commit fails; see `database_faults`.

        Threads take turns, those that only read too. RuntimeError if this thread has a transaction already.
        """
        with self.lock:
            self._check_unused("this thread has a unit of work already; pass it on, two cannot commit apart")
            self._in_use = True
            try:
                with database_faults(), self._committed():
                    yield self.connection
            finally:
                self._in_use = False

    @contextmanager
    def _committed(self) -> Iterator[None]:
        try:
            with self.connection.begin():
                yield
        except BaseException:
            # After a commit that was refused SQLAlchemy takes the transaction for closed, SQLite does not.
            driver = _driver(self.connection)
            if driver.in_transaction:
                driver.rollback()
            raise

    def _check_unused(self, problem: str) -> None:
        if self._in_use:
            raise RuntimeError(problem)

    def copy(self, path: Path) -> None:
        """Copy the database to the new file `path`, while others go on to use it: it is locked for a slice at a time.

        StorageFull if the disk is, DatabaseBusy if another program keeps the file locked, Draining if it is closed
        meanwhile.
        """
        with self.lock:
            self._check_unused("this thread has a unit of work; copy the database before or after it")
        with database_faults():
            self._copy(path)

    def _copy(self, path: Path) -> None:
        # What is committed between two slices goes through the connection that is copied from, so that SQLite changes
        # the copy along with the original: the copy is the database as it is with the last slice
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
            self.lock.release()
            try:
                time.sleep(PAUSE_SECONDS)
            finally:
                self.lock.acquire()
            if self.connection.closed:
                raise Draining("the server is stopping; make the backup when it is back")

        with closing(sqlite3.connect(path)) as target, self.lock:
            target.execute("PRAGMA synchronous=OFF")  # the copy is of no use after a power cut
            _driver(self.connection).backup(target, pages=SLICE_PAGES, progress=give_way)

    def announce(self, changed: Collection[str]) -> None:
        """Do nothing: one server has the file."""

    def listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        """Do nothing: no other process changes anything."""

    def give_up(self) -> None:
        """Do nothing: the file is there."""

    def close(self) -> None:
        """Close the file. What was committed stays."""
        with self.lock:
            self.connection.close()
            self._engine.dispose()


def _engine(path: Path, durable: Durable) -> Engine:
    # isolation_level None: the driver starts no transaction of its own accord, the "begin" hook below does.
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": BUSY_SECONDS},
    )
    event.listen(engine, "connect", _prepare)
    turns = _Turns(durable)
    event.listen(engine, "begin", turns.begin)
    event.listen(engine, "commit", turns.commit)
    return engine


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    settings = journal_settings(sqlite3.sqlite_version_info[:3])
    (mode,) = connection.execute(f"PRAGMA journal_mode={settings.journal_mode}").fetchone()
    if mode != settings.journal_mode:
        raise DatabaseUnusable(
            f"the database keeps journal mode {mode}, not {settings.journal_mode}; put the data directory on a local "
            "disk"
        )
    connection.execute(f"PRAGMA synchronous={settings.synchronous}")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    connection.execute("PRAGMA temp_store=MEMORY")


class _Turns:
    """The beginning and the end of each transaction of the one connection."""

    def __init__(self, durable: Durable) -> None:
        self._durable = durable
        self._changes = 0

    def begin(self, connection: Connection) -> None:
        # IMMEDIATE takes the write lock at once: should another program hold it, we wait before the work, not amid
        # it. Straight to the driver: through SQLAlchemy this would be a third of the cost of reading a row.
        driver = _driver(connection)
        driver.execute("BEGIN IMMEDIATE").close()
        self._changes = driver.total_changes

    def commit(self, connection: Connection) -> None:
        # One that changes nothing writes nothing.
        if _driver(connection).total_changes != self._changes:
            with storage_faults("this change"):
                self._durable.about_to("commit")


def _driver(connection: Connection) -> sqlite3.Connection:
    driver: sqlite3.Connection | None = connection.connection.driver_connection
    assert driver is not None
    return driver
