import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.errors import DatabaseUnusable
from app.store.database import FILE_NAME, Database, JournalSettings, journal_settings
from app.store.unit_of_work import Store

ROLLBACK = JournalSettings("delete", "extra")
WAL = JournalSettings("wal", "full")
SYNCHRONOUS = {"full": 2, "extra": 3}
SECONDS = 60

COMMIT_UNTIL_KILLED = """
import pathlib, sys
from app.store.unit_of_work import Store
store = Store.open(pathlib.Path(sys.argv[1]))
for number in range(1_000_000):
    with store.begin() as uow:
        uow.idempotency.add(str(number), "s", body_digest="d", status=202, response_body="{}")
    print(number, flush=True)
"""


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ((3, 6, 23), ROLLBACK),
        ((3, 7, 0), ROLLBACK),
        ((3, 40, 1), ROLLBACK),
        ((3, 44, 5), ROLLBACK),
        ((3, 44, 6), WAL),
        ((3, 44, 9), WAL),
        ((3, 45, 0), ROLLBACK),
        ((3, 50, 6), ROLLBACK),
        ((3, 50, 7), WAL),
        ((3, 51, 0), ROLLBACK),
        ((3, 51, 2), ROLLBACK),
        ((3, 51, 3), WAL),
        ((3, 52, 0), WAL),
        ((4, 0, 0), WAL),
    ],
)
def test_a_write_ahead_log_is_kept_only_by_versions_that_lose_nothing(
    version: tuple[int, int, int], settings: JournalSettings
) -> None:
    assert journal_settings(version) == settings


def test_the_linked_version_runs_with_its_settings(tmp_path: Path) -> None:
    database = Database.open(tmp_path)
    settings = journal_settings(sqlite3.sqlite_version_info[:3])
    pragma = {
        name: database.connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    database.close()
    assert pragma == {
        "journal_mode": settings.journal_mode,
        "synchronous": SYNCHRONOUS[settings.synchronous],
        "foreign_keys": 1,
    }


def test_a_database_left_with_a_write_ahead_log_is_taken_over(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("PRAGMA journal_mode=wal")
    connection.close()
    Database.open(tmp_path).close()


def test_the_data_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "a b%20?#" / "data"
    Database.open(folder).close()
    assert (folder / FILE_NAME).is_file()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database" * 100)
    with pytest.raises(DatabaseUnusable, match=r"adjoint\.db cannot be opened.*ADJOINT_DATA_DIR"):
        Database.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == b"not a database" * 100


@pytest.mark.slow
def test_whatever_was_committed_survives_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COMMIT_UNTIL_KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [int(next(process.stdout)) for _ in range(30)]
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
        process.wait(SECONDS)
    with Store.open(tmp_path) as store, store.begin() as uow:
        assert all(uow.idempotency.find(str(number), "s") for number in acknowledged)
        # One may have been committed and not yet acknowledged.
        assert uow.idempotency.find(str(acknowledged[-1] + 2), "s") is None
