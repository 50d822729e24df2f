import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.records import CheckpointRecord
from app.service.admin.quarantine import FolderBlobQuarantine, Orphans, Quarantine
from app.service.admin.recovery import Recovery, recover
from app.service.attempts.attempts import Attempts
from app.service.resources.blobs import BlobSweeper
from app.service.sessions.attempts import SessionAttempts, SessionConfig
from app.service.sessions.directories import SessionDirs
from app.service.sessions.session_storage import SessionStorage
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from app.system.durable import Durable
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

MOMENT = datetime(2026, 2, 3, tzinfo=UTC)


@pytest.fixture
def attempts(store: Store, blobs: LocalBlobStore, sweeper: BlobSweeper, clock: ManualClock, tmp_path: Path) -> Attempts:
    return Attempts(
        storage_context(store, blobs, tmp_path, sweeper=sweeper, clock=clock),
        tmp_path / "staging",
        lambda _fit_id: None,
    )


@pytest.fixture
def sessions(store: Store, blobs: LocalBlobStore, tmp_path: Path) -> SessionAttempts:
    storage = storage_context(store, blobs, tmp_path / "scratch")
    files = SessionStorage(storage, SessionDirs(tmp_path / "sessions", Durable()))
    return SessionAttempts(store, blobs, files, SessionConfig())


@pytest.fixture
def orphans(store: Store, blobs: LocalBlobStore, clock: ManualClock, tmp_path: Path) -> Orphans:
    quarantine = Quarantine(tmp_path, Durable(), clock)
    return Orphans(
        store, FolderBlobQuarantine(blobs, quarantine), tmp_path / "sessions", tmp_path / "staging", quarantine
    )


def keep(store: Store, blobs: LocalBlobStore, checkpoint_id: str, content: bytes) -> Path:
    """Store an uploaded checkpoint and return its file."""
    blob = blobs.put(content)
    record = CheckpointRecord(
        checkpoint_id, None, "graph_1", 1, 1, blob.digest, blob.size, {}, MOMENT, is_best=False, deleted=False
    )
    with store.begin() as work:
        work.checkpoints.add(record)
    return blobs.local_path(blob.digest)


def test_a_start_after_an_orderly_end_finds_nothing_and_says_nothing(
    store: Store,
    blobs: LocalBlobStore,
    orphans: Orphans,
    clock: ManualClock,
    attempts: Attempts,
    sessions: SessionAttempts,
    caplog: pytest.LogCaptureFixture,
) -> None:
    keep(store, blobs, "ckpt_1", b"sound")
    caplog.set_level(logging.DEBUG, "app.service.admin.recovery")
    assert recover(store, blobs, orphans, attempts, sessions, clock, 0) == Recovery(clock.now(), 0, 0, 0, 0, 0, 0)
    assert not caplog.records


def test_a_start_shows_what_it_found_and_what_it_cannot_mend(
    store: Store,
    blobs: LocalBlobStore,
    orphans: Orphans,
    clock: ManualClock,
    attempts: Attempts,
    sessions: SessionAttempts,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    keep(store, blobs, "ckpt_sound", b"sound")
    keep(store, blobs, "ckpt_gone", b"gone").unlink()
    cut_short = keep(store, blobs, "ckpt_short", b"cut short")
    cut_short.chmod(0o600)
    cut_short.write_bytes(b"cut")
    blobs.put(b"nobody's")
    (tmp_path / "staging" / "token").mkdir(parents=True)
    (tmp_path / "staging" / "token" / "step-1.partial").write_bytes(b"half")
    (tmp_path / "sessions" / "sess_closed").mkdir(parents=True)
    with caplog.at_level(logging.WARNING, "app.service.admin.recovery"):
        found = recover(store, blobs, orphans, attempts, sessions, clock, 2)
    assert found == Recovery(
        clock.now(),
        attempts_lost=0,
        orphan_blobs=1,
        temporary_files=2,
        staging_folders=1,
        session_folders=1,
        damaged_checkpoints=2,
        quarantined=3,
    )
    assert [*(tmp_path / "sessions").iterdir()] == []
    held = {path.relative_to(tmp_path / "quarantine").parts[1:] for path in (tmp_path / "quarantine").rglob("*")}
    assert held >= {("sessions", "sess_closed"), ("staging", "token", "step-1.partial")}
    (line,) = [record for record in caplog.records if record.name == "app.service.admin.recovery"]
    assert sorted(vars(line)["damaged"]) == ["ckpt_gone", "ckpt_short"]
    assert [*(tmp_path / "staging").iterdir()] == []
    assert len([*blobs.digests()]) == 2
