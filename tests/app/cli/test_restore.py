"""A server is backed up while it trains, and goes on elsewhere."""

import hashlib
import io
import json
import os
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

import engine
from app.cli.commands import run
from app.cli.output import REFUSED
from app.domain.audit import Act
from app.service.admin.audit import AUDIT, AuditFiles, AuditLimits, AuditRotation
from app.store.blobs.local import LocalBlobStore
from app.store.database import FILE_NAME
from app.store.unit_of_work import Store
from app.system.durable import Durable
from tests.app.demanding_fits import CLASSIFIER
from tests.app.runner.conftest import some_rows
from tests.support.gate import slowed
from tests.support.patience import LONGEST_WAIT
from tests.support.server import StartServer, serving

ROWS = 240
REQUEST: dict[str, Any] = {
    "graph": CLASSIFIER,
    "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9},
    "batch_size": 16,
    "seed": 7,
    "checkpoint": {"every_steps": 100, "every_epochs": None, "keep_last": 3},
}


def submitted(http: httpx.Client, **changes: Any) -> str:
    columns = {name: array.tolist() for name, array in some_rows(seed=1, rows=ROWS).items()}
    answer = http.post("/v1/fits", json={**REQUEST, **changes, "dataset": {"columns": columns}})
    assert answer.status_code == 202, answer.text
    fit_id: str = answer.json()["id"]
    return fit_id


def reaches(http: httpx.Client, fit_id: str, step: int) -> None:
    while http.get(f"/v1/fits/{fit_id}", params={"wait": 1, "until": "change"}).json()["step"] < step:
        pass


def outcome(http: httpx.Client, fit_id: str) -> tuple[list[dict[str, Any]], str]:
    """Return all rows and the digest of the last checkpoint of a fit that succeeds."""
    fit = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit
    rows = http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 10_000}).json()["data"]
    return rows, http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()["digest"]


def test_a_backup_made_while_training_goes_on_elsewhere_to_the_same_bits(
    start_server: StartServer, tmp_path: Path
) -> None:
    file, elsewhere = tmp_path / "backup.tar", tmp_path / "elsewhere" / "data"
    with slowed(tmp_path, 0.02) as environment:
        server = start_server(workers=1, environment=environment)
        running = submitted(server.http, steps=2500)
        waiting = submitted(server.http, steps=50)
        reaches(server.http, running, 100)
        assert run(["backup", str(file), "--url", server.url]) == 0
    outcomes = {fit_id: outcome(server.http, fit_id) for fit_id in (running, waiting)}
    assert run(["restore", str(file), "--data-dir", str(elsewhere)]) == 0

    blobs = LocalBlobStore(elsewhere)
    with Store.open(elsewhere) as store, store.begin() as work:
        fits = {fit_id: work.fits.get(fit_id) for fit_id in outcomes}
        assert (fits[running].state, fits[waiting].state) == ("running", "queued")
        rows = [json.loads(row) for _, row in work.events.metric_rows(running, 0, 100_000)]
        checkpoints = work.checkpoints.kept(running)
    assert 100 <= len(rows) < len(outcomes[running][0])
    assert rows == outcomes[running][0][: len(rows)]
    assert checkpoints
    for checkpoint in checkpoints:
        assert engine.Checkpoint.load(blobs.local_path(checkpoint.digest)).cursor["step"] == checkpoint.step
    with closing(sqlite3.connect(elsewhere / FILE_NAME)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    other = start_server(elsewhere, workers=1)
    assert {fit_id: outcome(other.http, fit_id) for fit_id in outcomes} == outcomes


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the backup of a server with one dataset, and a file of old entries of its audit trail, as bytes."""
    folder = tmp_path_factory.mktemp("backed-up")
    with Store.open(folder / "data") as store:
        with store.begin() as work:
            work.audit.append([Act("key_1", "create_fit", "/v1/fits/fit_1", "202", "req_1", "127.0.0.1")] * 12)
        AuditRotation(store, AuditFiles(folder / "data" / AUDIT, Durable()), AuditLimits(entries=11)).rotate()
    with serving(folder / "data") as server:
        server.http.post("/v1/datasets", content="a\n1\n", headers={"Content-Type": "text/csv"})
        return server.http.get("/v1/backup").content


def refused(archive: bytes, tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Try to restore; return the one line that says why that is refused."""
    file = tmp_path / "backup.tar"
    file.write_bytes(archive)
    before = {path: path.is_dir() for path in tmp_path.rglob("*")}
    assert run(["restore", str(file), "--data-dir", str(data_dir)]) == REFUSED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("adjoint: ")
    assert said.err.count("\n") == 1
    assert {path: path.is_dir() for path in tmp_path.rglob("*")} == before
    return said.err


def test_an_empty_folder_is_filled_and_is_nobody_elses_business(
    archive: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, target = tmp_path / "backup.tar", tmp_path / "data"
    file.write_bytes(archive)
    target.mkdir()
    assert run(["restore", str(file), "--data-dir", str(target)]) == 0
    assert {path.name for path in target.iterdir()} == {FILE_NAME, "blobs", AUDIT}
    assert target.stat().st_mode & 0o077 == 0
    assert {path.name for path in tmp_path.iterdir()} == {"backup.tar", "data"}
    with Store.open(target) as store, store.begin() as work:
        assert work.blob_references.all() == {*LocalBlobStore(target).digests()}
    assert run(["audit", "verify", "--data-dir", str(target)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("12 entries, unbroken; ")


def test_a_folder_with_something_in_it_stays_as_it_is(
    archive: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious").write_text("mine")
    assert "not empty" in refused(archive, tmp_path, tmp_path / "data", capsys)
    assert "no folder" in refused(archive, tmp_path, tmp_path / "data" / "precious", capsys)


@pytest.mark.parametrize("kept", [0, 511, 20_000, -1, -1024])
def test_a_torn_backup_is_not_restored(
    archive: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: int
) -> None:
    assert "torn" in refused(archive[:kept], tmp_path, tmp_path / "data", capsys) or kept == -1


def entries(archive: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        for member in tar:
            file = tar.extractfile(member)
            assert file is not None
            yield member.name, file.read()


def with_database(archive: bytes, tmp_path: Path, change: Callable[[Path], None]) -> bytes:
    """Return the archive with a changed database and a manifest that agrees with it."""
    contents = dict(entries(archive))
    path = tmp_path / "changed.db"
    path.write_bytes(contents[FILE_NAME])
    change(path)
    contents[FILE_NAME] = path.read_bytes()
    path.unlink()
    manifest = json.loads(contents["manifest.json"])
    manifest["database"] = {
        "digest": hashlib.sha256(contents[FILE_NAME]).hexdigest(),
        "size_bytes": len(contents[FILE_NAME]),
    }
    contents["manifest.json"] = json.dumps(manifest).encode()
    created = io.BytesIO()
    for name, content in contents.items():
        header = tarfile.TarInfo(name)
        header.size = len(content)
        created.write(header.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512))
    return created.getvalue() + bytes(1024)


def by(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    return change


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no database": (lambda path: (path.write_bytes(b"no database" * 1000), None)[1], "cannot be read"),
    "half a database": (truncate, "database"),
    "a newer one": (by("UPDATE alembic_version SET version_num = '9999'"), "newer"),
    "one with a trigger": (
        by("CREATE TRIGGER evil AFTER INSERT ON fits BEGIN DELETE FROM fits; END"),
        "trigger or a view",
    ),
    "one that lacks blobs": (by(f"UPDATE datasets SET digest = '{'0' * 64}'"), "does not hold"),
    "one with orphans": (
        by("INSERT INTO events VALUES ('fit_none', 1, 'log', '{}', NULL, 0)"),
        "damaged",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_with_another_database_is_not_restored(
    archive: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    changed = with_database(archive, tmp_path, CHANGES[change][0])
    assert CHANGES[change][1] in refused(changed, tmp_path, tmp_path / "data", capsys)


def test_a_place_that_cannot_be_written_is_reported(
    archive: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "cannot make the data directory" in refused(archive, tmp_path, tmp_path / "file" / "data", capsys)
