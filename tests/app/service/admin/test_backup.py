import io
import json
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjoint_client import BackupDamaged
from adjoint_client.archive import Nowhere, read_archive
from app.domain.audit import Act
from app.domain.errors import BackupInProgress, StorageFull
from app.domain.records import DatasetRecord
from app.service.admin import backup
from app.service.admin.audit import AuditFiles, AuditLimits, AuditRotation
from app.service.admin.backup import Backups
from app.service.resources.blobs import BlobSweeper
from app.service.resources.storage import DiskSpace
from app.service.sessions.directories import SessionDirs
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from app.system.durable import Durable
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

SESSION = "sess_01m7xpv32a4ykd0nsmnkebvv3p"
Stored = Callable[[bytes], str]


@pytest.fixture
def folders(tmp_path: Path) -> SessionDirs:
    return SessionDirs(tmp_path / "sessions", Durable())


@pytest.fixture
def rotation(store: Store, tmp_path: Path) -> AuditRotation:
    return AuditRotation(store, AuditFiles(tmp_path / "audit", Durable()), AuditLimits(entries=4, files=2))


@pytest.fixture
def backups(
    store: Store,
    blobs: LocalBlobStore,
    sweeper: BlobSweeper,
    folders: SessionDirs,
    rotation: AuditRotation,
    scratch: Path,
    tmp_path: Path,
    clock: ManualClock,
) -> Backups:
    storage = storage_context(store, blobs, scratch, sweeper=sweeper, space=DiskSpace(tmp_path, 0), clock=clock)
    return Backups(storage, folders, rotation, "1.2.3")


@pytest.fixture
def stored(store: Store, blobs: LocalBlobStore, clock: ManualClock) -> Stored:
    """Return how to store a dataset of some bytes; it returns their digest."""

    def add(content: bytes) -> str:
        blob = blobs.put(content)
        with store.begin() as work:
            work.datasets.add(
                DatasetRecord(f"ds_{blob.digest[:8]}", "rows", blob.digest, blob.size, 1, (), "csv", clock.now())
            )
        return blob.digest

    return add


def written(backups: Backups) -> io.BytesIO:
    created = backups.open()
    try:
        return io.BytesIO(b"".join(created.chunks))
    finally:
        created.close()


def path_of(blobs: LocalBlobStore, digest: str) -> Path:
    path = blobs.local_path(digest)
    path.chmod(0o600)
    return path


def test_a_backup_holds_the_database_and_what_it_refers_to(
    backups: Backups, stored: Stored, blobs: LocalBlobStore, scratch: Path, clock: ManualClock
) -> None:
    large = stored(bytes(range(256)) * 20_000)
    digests = sorted([stored(b"rows"), stored(b""), large])
    blobs.put(b"nobody refers to this")
    archive = written(backups)
    assert [*scratch.iterdir()] == []
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        assert tar.getnames() == ["adjoint.db", *(f"blobs/{digest}" for digest in digests), "manifest.json"]
    archive.seek(0)
    manifest = read_archive(archive, Nowhere())
    assert [*manifest.blobs] == digests
    assert manifest.blobs[large] == 256 * 20_000
    assert (manifest.version, manifest.counts["datasets"]) == ("1.2.3", 3)
    assert manifest.made_at == "2026-02-03T04:05:06.789Z"


def test_what_is_deleted_while_a_backup_is_made_is_in_it_and_goes_afterwards(
    backups: Backups, stored: Stored, store: Store, blobs: LocalBlobStore, sweeper: BlobSweeper
) -> None:
    digest = stored(b"rows")
    created = backups.open()
    with store.begin() as work:
        work.datasets.delete(f"ds_{digest[:8]}")
        work.after_commit(lambda: sweeper.discard([digest]))
    archive = io.BytesIO(b"".join(created.chunks))
    assert digest in {*blobs.digests()}
    created.close()
    assert digest not in {*blobs.digests()}
    assert digest in read_archive(archive, Nowhere()).blobs


def test_what_sessions_have_put_aside_is_in_it_as_it_was_when_the_backup_began(
    backups: Backups, folders: SessionDirs, scratch: Path
) -> None:
    folder = folders.create(SESSION)
    log, snapshot = folder / "log-7", folder / "snapshot-7.safetensors"
    log.write_bytes(b"seven, eight")
    snapshot.write_bytes(bytes(5000))
    for passing in ("lock", "answer-4711-1", "log-9.partial"):
        (folder / passing).write_bytes(b"no part of it")
    created = backups.open()
    with log.open("ab") as file:
        file.write(b", nine")
    snapshot.unlink()
    archive = io.BytesIO(b"".join(created.chunks))
    created.close()
    assert [*scratch.iterdir()] == []
    manifest = read_archive(archive, Nowhere())
    assert manifest.sessions == {f"{SESSION}/log-7": 12, f"{SESSION}/snapshot-7.safetensors": 5000}
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        kept = tar.extractfile(f"sessions/{SESSION}/log-7")
        assert kept is not None
        assert kept.read() == b"seven, eight"


def test_there_is_one_backup_at_a_time(backups: Backups) -> None:
    first = backups.open()
    with pytest.raises(BackupInProgress) as caught:
        backups.open()
    assert int(caught.value.headers["Retry-After"]) >= 1
    first.close()
    backups.open().close()


def test_a_backup_that_is_given_up_leaves_nothing(backups: Backups, stored: Stored, scratch: Path) -> None:
    stored(b"rows")
    created = backups.open()
    next(created.chunks)
    created.close()
    assert [*scratch.iterdir()] == []
    assert read_archive(written(backups), Nowhere()).counts["datasets"] == 1


def test_a_backup_that_cannot_begin_leaves_nothing(
    backups: Backups, store: Store, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_folder: Path) -> Any:
        raise StorageFull("no room")

    with monkeypatch.context() as patched:
        patched.setattr(store, "snapshot", full)
        with pytest.raises(StorageFull):
            backups.open()
    assert [*scratch.iterdir()] == []
    backups.open().close()


def overwrite(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [overwrite, cut, Path.unlink])
def test_a_damaged_blob_ends_a_backup_that_then_counts_as_none(
    backups: Backups, stored: Stored, blobs: LocalBlobStore, damage: Callable[[Path], None]
) -> None:
    digests = sorted(stored(name.encode() * 1000) for name in "abcd")
    damage(path_of(blobs, digests[2]))
    archive = written(backups)
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        response = tar.extractfile("error.json")
        assert response is not None
        assert json.loads(response.read())["code"] == "blob_damaged"
    archive.seek(0)
    with pytest.raises(BackupDamaged, match=digests[2]):
        read_archive(archive, Nowhere())


def test_a_file_that_shrinks_while_it_is_read_leaves_the_archive_readable(
    backups: Backups, stored: Stored, blobs: LocalBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = stored(b"rows" * 1000)
    monkeypatch.setattr(backup, "CHUNK_BYTES", 100)
    monkeypatch.setattr(backup, "_read_chunk", lambda file, size: b"" if file.tell() else file.read(size))
    archive = written(backups)
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        assert tar.getnames()[-1] == "error.json"
    assert digest in {*blobs.digests()}


def test_others_store_while_a_backup_is_made(backups: Backups, stored: Stored) -> None:
    for number in range(50):
        stored(str(number).encode())
    created = backups.open()
    storing = threading.Thread(target=lambda: [stored(f"later {number}".encode()) for number in range(20)])
    storing.start()
    archive = io.BytesIO(b"".join(created.chunks))
    storing.join()
    created.close()
    assert read_archive(archive, Nowhere()).counts["datasets"] == 50
    assert read_archive(written(backups), Nowhere()).counts["datasets"] == 70


def test_the_files_of_the_audit_trail_are_in_it_though_they_go_concurrently(
    backups: Backups, store: Store, rotation: AuditRotation
) -> None:
    def enter(count: int) -> None:
        with store.begin() as work:
            work.audit.append([Act("key_1", "create_fit", "/v1/fits/fit_1", "202", "req_1", "127.0.0.1")] * count)
        rotation.rotate()

    enter(8)
    created = backups.open()
    enter(20)
    archive = io.BytesIO(b"".join(created.chunks))
    created.close()
    names = ["000000000001-000000000002.ndjson", "000000000003-000000000004.ndjson"]
    assert [*read_archive(archive, Nowhere()).audit] == names
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        kept = tar.extractfile(f"audit/{names[1]}")
        assert kept is not None
        assert [json.loads(line)["seq"] for line in kept] == [3, 4]
