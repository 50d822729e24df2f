"""`adjoint verify` finds every damage to every kind of file in a data directory, and nothing in one that is whole."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.cli.verification import Report, verify_directory
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord, Column, DatasetRecord
from app.domain.session import SessionRecord, SessionState
from app.store.blobs.local import LocalBlobStore
from app.store.blobs.store import blob_path
from app.store.session_files import FilePart
from app.store.unit_of_work import Store
from app.system.durable import Durable
from app.worker.session.session_dir import SessionDir
from tests.support.manual_clock import ManualClock

CHECKPOINT, UPLOAD, COLUMN = (f"bytes of {what} ".encode() * 40 for what in ("a checkpoint", "an upload", "a column"))


def flipped(place: float) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        damaged = bytearray(content)
        damaged[min(int(place * len(content)), len(content) - 1)] ^= 4
        return bytes(damaged)

    return flip


DAMAGES: Mapping[str, Callable[[bytes], bytes | None]] = {
    "flipped at the start": flipped(0),
    "flipped in the middle": flipped(0.5),
    "flipped at the end": flipped(1),
    "truncated": lambda content: content[:-1],
    "emptied": lambda _: b"",
    "deleted": lambda _: None,
}


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory with a checkpoint, a dataset of one column, and a session that rests."""
    folder, now = tmp_path / "data", ManualClock().now()
    with Store.open(folder) as store:
        blobs = LocalBlobStore(folder)
        checkpoint, upload, column = (blobs.put(content) for content in (CHECKPOINT, UPLOAD, COLUMN))
        session = SessionRecord(
            new_id("sess"), "training", SessionState.ACTIVE, "graph_1", {}, {}, 1, 60.0, now, now, begun=True
        )
        with store.begin() as work:
            work.checkpoints.add(
                CheckpointRecord(
                    "ckpt_1", None, "graph_1", 7, 1, checkpoint.digest, checkpoint.size, {}, now, False, False
                )
            )
            columns = (Column("x", "float32", (), column.digest, None, None, None, 0),)
            work.datasets.add(DatasetRecord("ds_1", "d", upload.digest, upload.size, 3, columns, "npy", now))
            work.sessions.add(session)
    place = folder / "sessions" / session.id
    place.mkdir(parents=True)
    kept = [({"kept": {"seq": number}}, b"an answer") for number in (1, 2)]
    SessionDir(place, Durable()).start_log(3, lambda file: file.write(b"a snapshot " * 20), kept).close()
    return folder


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def damage(file: Path, how: Callable[[bytes], bytes | None]) -> None:
    content = how(file.read_bytes())
    if content is None:
        file.unlink()
    else:
        file.chmod(0o600)
        file.write_bytes(content)


def found(report: Report) -> list[tuple[str, str]]:
    return [(finding.kind, finding.name) for finding in report.findings]


def test_nothing_is_found_in_a_directory_that_is_whole(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in data_dir.rglob("*") if path.is_file()}
    assert main(["verify", "--data-dir", str(data_dir)]) == 0
    assert "all whole; 3 blobs" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in data_dir.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("content", [CHECKPOINT, UPLOAD, COLUMN], ids=["checkpoint", "upload", "column"])
def test_every_damage_to_a_blob_is_found_with_what_needs_it(data_dir: Path, content: bytes) -> None:
    file = blob_path(data_dir, digest_of(content))
    for name, how in DAMAGES.items():
        damage(file, how)
        report = verify_directory(data_dir)
        assert found(report) == [("blob", file.name)], name
        assert report.findings[0].needed_by[0].split()[1] == ("ckpt_1" if content is CHECKPOINT else "ds_1")
        file.unlink(missing_ok=True)
        file.write_bytes(content)
        assert not verify_directory(data_dir).findings


@pytest.mark.parametrize("name", ["snapshot-3.safetensors", "log-3"])
def test_every_damage_to_what_a_session_has_kept_is_found(data_dir: Path, name: str) -> None:
    (file,) = data_dir.glob(f"sessions/*/{name}")
    content = file.read_bytes()
    for what, how in DAMAGES.items():
        damage(file, how)
        assert found(verify_directory(data_dir)) == [("session", file.parent.name)], what
        file.write_bytes(content)
    assert not verify_directory(data_dir).findings


def test_sessions_that_are_kept_in_the_database_are_checked_there(data_dir: Path) -> None:
    (folder,) = (data_dir / "sessions").iterdir()
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    log = files["log-3"]
    damaged = log[:20] + b"?" + log[21:]
    contents: list[tuple[dict[str, bytes], bool]] = [
        (files, True), ({**files, "log-3": damaged + log}, False), ({"snapshot-3.safetensors": b""}, False)
    ]  # fmt: skip
    for kept, is_whole in contents:
        with Store.open(data_dir) as store, store.begin() as work:
            work.session_files.remove(folder.name)
            work.session_files.add(folder.name, [FilePart(name, 0, content) for name, content in kept.items()])
        assert found(verify_directory(data_dir)) == ([] if is_whole else [("session", folder.name)])


@pytest.mark.parametrize("how", ["truncated", "emptied", "deleted", "no database", "no tables"])
def test_a_database_that_is_damaged_or_gone_is_found(data_dir: Path, how: str) -> None:
    file = data_dir / "adjoint.db"
    content = file.read_bytes()
    damages: Mapping[str, Callable[[bytes], bytes | None]] = {
        **DAMAGES,
        "truncated": lambda content: content[: len(content) // 2],
        "no database": lambda _: b"not a database at all " * 100,
        "no tables": lambda _: empty_database(data_dir.parent / "empty.db"),
    }
    damage(file, damages[how])
    assert found(verify_directory(data_dir)) == [("database", "adjoint.db")]
    file.write_bytes(content)
    assert not verify_directory(data_dir).findings


def empty_database(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (a)")
        connection.commit()
    return path.read_bytes()


def test_a_database_whose_server_was_killed_in_a_commit_is_read_as_it_was_before(data_dir: Path) -> None:
    file = data_dir / "adjoint.db"
    whole = file.read_bytes()
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode=delete")
    connection.execute("PRAGMA cache_spill=1")
    connection.execute("PRAGMA cache_size=1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE torn (a)")
    connection.executemany("INSERT INTO torn VALUES (?)", [("x" * 4000,)] * 50)
    journal = (data_dir / "adjoint.db-journal").read_bytes()
    torn = file.read_bytes()
    connection.execute("ROLLBACK")
    connection.close()
    file.write_bytes(torn)
    (data_dir / "adjoint.db-journal").write_bytes(journal)
    assert torn != whole
    assert not verify_directory(data_dir).findings
    assert file.read_bytes() == torn


def test_what_nothing_refers_to_is_reported_and_is_no_damage(data_dir: Path) -> None:
    orphan = LocalBlobStore(data_dir).put(b"nobody's").digest
    (data_dir / "sessions" / "sess_gone").mkdir()
    report = verify_directory(data_dir)
    assert (report.findings, report.unreferenced_blobs, report.unreferenced_sessions) == ([], [orphan], ["sess_gone"])


def test_findings_are_reported_to_programs_and_by_the_exit_status(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = digest_of(CHECKPOINT)
    blob_path(data_dir, digest).unlink()
    assert main(["verify", "--data-dir", str(data_dir), "--json"]) == 1
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    needed = ["checkpoint ckpt_1 (step 7 of no fit)"]
    assert not printed["ok"]
    assert printed["findings"] == [
        {"kind": "blob", "name": digest, "problem": "its file is missing", "needed_by": needed}
    ]
    assert main(["verify", "--data-dir", str(data_dir)]) == 1
    assert f"blob {digest}: its file is missing; needed by {needed[0]}" in capsys.readouterr().out
    assert main(["verify", "--data-dir", str(data_dir / "nowhere")]) == 2
