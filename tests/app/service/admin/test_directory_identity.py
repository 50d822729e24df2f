"""A database that is gone, empty or another's beside stored files: the start is refused, and nothing is deleted."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.cli.data_directory import opened
from app.cli.verification import verify_directory
from app.config.settings import Settings
from app.domain.errors import DatabaseUnusable
from app.domain.records import DatasetRecord
from app.domain.session import SessionRecord, SessionState
from app.main.bootstrap import open_container
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock


def settings(data_dir: Path, **changes: Any) -> Settings:
    return Settings(data_dir=data_dir, workers=1, **changes)


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


def fill(data_dir: Path, content: bytes) -> str:
    """Store a dataset, a session, and a file of the audit trail; return the digest."""
    moment = datetime(2026, 2, 3, tzinfo=UTC)
    with open_container(settings(data_dir)):
        pass
    blob = LocalBlobStore(data_dir).put(content)
    with Store.open(data_dir) as store, store.begin() as work:
        work.datasets.add(DatasetRecord("ds_1", "rows", blob.digest, 1, 1, (), "csv", moment))
        session = f"sess_{content.decode()}"
        work.sessions.add(
            SessionRecord(session, "training", SessionState.ACTIVE, "graph_1", {}, {}, 0, 60.0, moment, moment)
        )
    for file in (f"sessions/{session}/log-1", "audit/trail"):
        (data_dir / file).parent.mkdir(parents=True, exist_ok=True)
        (data_dir / file).write_bytes(content)
    return blob.digest


def stored(data_dir: Path) -> set[bytes]:
    """Return the content of each blob, of the folders of sessions, and of the audit trail, where all are the same."""
    folders = {data_dir / "blobs" / "sha256", data_dir / "sessions", data_dir / "audit"}
    contents = [{file.read_bytes() for file in folder.rglob("*") if file.is_file()} for folder in folders]
    assert all(content == contents[0] for content in contents), contents
    return contents[0]


def quarantined(data_dir: Path) -> list[bytes]:
    return sorted(file.read_bytes() for file in (data_dir / "quarantine").rglob("*") if file.is_file())


def test_an_empty_database_is_adopted_on_demand_and_the_old_one_finds_its_files_again(tmp_path: Path) -> None:
    digest, database = fill(tmp_path, b"old"), tmp_path / "adjoint.db"
    database.rename(tmp_path / "away")
    with open_container(settings(tmp_path, adopt_empty=True)) as container:
        assert container.services.system.overview().quarantine_bytes == 3 * len(b"old")
    assert (stored(tmp_path), quarantined(tmp_path)) == (set(), [b"old"] * 3)
    fill(tmp_path, b"new")
    (tmp_path / "away").rename(database)
    with open_container(settings(tmp_path)) as container:
        recovery = container.services.system.overview().recovery
        assert recovery is not None
        assert (recovery.returned, recovery.quarantined) == (2, 2)
        assert container.services.datasets.get("ds_1").digest == digest
    assert stored(tmp_path) == {b"old"}
    assert quarantined(tmp_path) == [b"new"] * 3


def test_a_database_of_another_data_directory_is_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for data_dir in (one, other):
        fill(data_dir, data_dir.name.encode())
    shutil.copy(other / "adjoint.db", one)
    for open_it in (lambda: open_container(settings(one, adopt_empty=True)), lambda: opened(one)):
        with pytest.raises(DatabaseUnusable, match="belongs to another data directory"), open_it():
            pass
    assert "another data directory" in str(verify_directory(one).findings)
    assert stored(one) == {b"one"}
    (one / "blobs" / "identity").unlink()
    with open_container(settings(one)):
        assert b"one" in quarantined(one)


def test_a_database_from_before_identities_is_taken_for_the_directorys_own(tmp_path: Path) -> None:
    fill(tmp_path, b"rows")
    with closing(sqlite3.connect(tmp_path / "adjoint.db")) as connection:
        connection.execute("DELETE FROM identity")  # as its migration leaves it
        connection.commit()
    with open_container(settings(tmp_path)):
        assert b"rows" in stored(tmp_path)


@pytest.mark.parametrize(("days", "advance", "left"), [(30, 29, 1), (30, 30, 0), (0, 0, 0)])
def test_what_is_in_quarantine_is_deleted_after_some_days(tmp_path: Path, days: int, advance: int, left: int) -> None:
    clock = ManualClock()
    with open_container(settings(tmp_path)):
        LocalBlobStore(tmp_path).put(b"nobody's")
    with open_container(settings(tmp_path, quarantine_days=days), clock) as container:
        clock.advance(advance * 86_400)
        container.quarantine.expire()
        assert len(quarantined(tmp_path)) == left
        assert container.quarantine.size() == (left, left * len(b"nobody's"))
