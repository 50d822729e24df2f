"""What SQLite and the disk below it may do to whoever uses the database, as errors of ours."""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DatabaseError

from app.domain.errors import DatabaseBusy, StorageFailed, StorageFull

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
"""The part of a code that names the kind of error; the rest tells more."""

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
        _logger.critical("the disk cannot tell whether a commit lasts (%s); the server ends, start it again", cause)
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
