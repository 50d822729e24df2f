"""A database that is gone or empty beside stored files: nothing is deleted, and the start is refused."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.bootstrap import open_container
from app.cli.data_directory import opened
from app.domain.errors import DatabaseUnusable
from app.settings import Settings


def settings(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, workers=1)


def missing(file: Path) -> None:
    file.unlink()


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def without_tables(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version=1")
        connection.commit()


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5000])


@pytest.mark.parametrize("how", [missing, emptied, without_tables, truncated])
@pytest.mark.parametrize("stored", ["blobs/sha256/ab/" + "ab" * 32, "sessions/sess_1/log-1"])
def test_what_is_stored_outlives_its_database(tmp_path: Path, how: Callable[[Path], None], stored: str) -> None:
    with open_container(settings(tmp_path)):
        pass
    file, database = tmp_path / stored, tmp_path / "adjoint.db"
    whole = database.read_bytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"a file")
    how(database)
    for open_it in (lambda: open_container(settings(tmp_path)), lambda: opened(tmp_path)):
        with pytest.raises(DatabaseUnusable), open_it():
            pass
        assert file.read_bytes() == b"a file"
    database.write_bytes(whole)
    with opened(tmp_path):
        assert file.exists()


def test_an_empty_data_directory_is_a_new_one(tmp_path: Path) -> None:
    for how in (missing, emptied):
        with open_container(settings(tmp_path / how.__name__)):
            pass
        how(tmp_path / how.__name__ / "adjoint.db")
        with open_container(settings(tmp_path / how.__name__)) as container:
            assert container.services.system
