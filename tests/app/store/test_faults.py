import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from app.domain.errors import DatabaseBusy, StorageFailed, StorageFull
from app.store.database import database_faults

ROOT = Path(__file__).parents[3]


def fault(code: int, name: str = "SQLITE_SOMETHING") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("the words of SQLite")
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_FULL, StorageFull),
        (sqlite3.SQLITE_BUSY, DatabaseBusy),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, DatabaseBusy),
        (sqlite3.SQLITE_IOERR, StorageFailed),
        (sqlite3.SQLITE_IOERR_FSYNC, StorageFailed),
        (sqlite3.SQLITE_CANTOPEN, StorageFailed),
        (sqlite3.SQLITE_READONLY, StorageFailed),
        (sqlite3.SQLITE_CORRUPT, StorageFailed),
    ],
)
@pytest.mark.parametrize("wrapped", [True, False])
def test_what_the_disk_does_is_named(code: int, expected: type[Exception], wrapped: bool) -> None:
    error = fault(code)
    with pytest.raises(expected) as raised, database_faults():
        raise OperationalError("COMMIT", None, error) if wrapped else error
    assert "SELECT" not in str(raised.value)


def test_a_fault_of_ours_stays_what_it_is() -> None:
    with pytest.raises(sqlite3.OperationalError, match="words of SQLite"), database_faults():
        raise fault(sqlite3.SQLITE_ERROR)


def test_a_server_that_cannot_know_whether_a_commit_lasts_ends() -> None:
    script = (
        "import sqlite3\n"
        "from app.store.database import database_faults\n"
        "with database_faults():\n"
        "    error = sqlite3.OperationalError('disk I/O error')\n"
        "    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_DIR_FSYNC\n"
        "    raise error\n"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == os.EX_IOERR
    assert "start it again" in ended.stderr
