"""Files of sessions where servers have no folder in common: what one server has stored, another one restores."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.domain.errors import Corrupt, SessionElsewhere, StorageUnavailable
from app.domain.session import SessionRecord, SessionState
from app.service.resources.blobs import BlobSweeper
from app.service.sessions.directories import SessionDirs
from app.service.sessions.session_storage import INLINE_BYTES, SessionStorage
from app.store.blobs.local import LocalBlobStore
from app.store.blobs.store import BlobWriter
from app.store.unit_of_work import Store
from app.system.durable import Durable
from app.worker.session.session_dir import SessionDir
from app.worker.session.wal import WriteAheadLog
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

SMALL, LARGE = b"a snapshot " * 20, b"a snapshot " * (INLINE_BYTES // 8)
STEP = b"a step " * 20


@dataclass
class Cluster:
    """Servers without a common folder, and a session of theirs."""

    store: Store
    blobs: LocalBlobStore
    sweeper: BlobSweeper
    clock: ManualClock
    folder: Path

    def server(self, name: str, *, shares: bool = True) -> SessionStorage:
        storage = storage_context(self.store, self.blobs, self.folder / name, sweeper=self.sweeper, clock=self.clock)
        kept = SessionDirs(self.folder / name / "sessions", Durable())
        if not shares:
            return SessionStorage(storage, kept)
        return SessionStorage(storage, SessionDirs(self.folder / name / "copies", Durable(syncs=False)), former=kept)

    def add(self) -> None:
        now = self.clock.now()
        session = SessionRecord("sess_1", "training", SessionState.ACTIVE, "graph_1", {}, {}, 0, 60.0, now, now)
        with self.store.begin() as work:
            work.sessions.add(session)

    def begin(self, server: SessionStorage) -> tuple[int, SessionDir]:
        """Begin the next attempt at a server; return its number and its folder."""
        with self.store.begin() as work:
            found = work.sessions.get("sess_1")
            session = work.sessions.update(replace(found, attempt=found.attempt + 1))
            is_stored = work.session_files.has("sess_1")
        return session.attempt, SessionDir(server.open(session, is_stored=is_stored), Durable())

    def change(self, **changes: object) -> None:
        with self.store.begin() as work:
            work.sessions.update(replace(work.sessions.get("sess_1"), **changes))  # type: ignore[arg-type]  # fields by name


@pytest.fixture
def cluster(store: Store, blobs: LocalBlobStore, sweeper: BlobSweeper, clock: ManualClock, tmp_path: Path) -> Cluster:
    made = Cluster(store, blobs, sweeper, clock, tmp_path)
    made.add()
    return made


def start(directory: SessionDir, number: int, content: bytes) -> WriteAheadLog:
    return directory.start_log(number, lambda file: file.write(content), [({"kept": number}, b"an answer")])


def append(log: WriteAheadLog, *bodies: bytes) -> None:
    for body in bodies:
        log.add({"step": len(body)}, body)
        log.commit()


def contents(directory: SessionDir) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.path.iterdir()}


def restored(cluster: Cluster) -> dict[str, bytes]:
    return contents(cluster.begin(cluster.server("heir"))[1])


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["in rows", "in a blob"])
def test_another_server_restores_what_was_stored(cluster: Cluster, content: bytes) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    log = start(directory, 1, content)
    server.store("sess_1", attempt)
    append(log, STEP)
    server.store("sess_1", attempt)
    append(log, STEP, LARGE, b"")
    server.store("sess_1", attempt)
    expected = contents(directory)
    append(log, b"not stored")
    assert restored(cluster) == expected
    with pytest.raises(SessionElsewhere):
        server.store("sess_1", attempt)
    server.forget("sess_1")
    assert not directory.path.exists()


def test_a_server_that_changes_nothing_is_refused_after_a_later_attempt(cluster: Cluster) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    start(directory, 1, SMALL)
    server.store("sess_1", attempt)
    server.store("sess_1", attempt)
    cluster.begin(cluster.server("heir"))
    with pytest.raises(SessionElsewhere):
        server.store("sess_1", attempt)


def test_a_snapshot_replaces_what_was_before_it_and_its_blobs(cluster: Cluster) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    append(start(directory, 1, LARGE), LARGE + b"more")
    server.store("sess_1", attempt)
    assert len([*cluster.blobs.digests()]) == 2
    start(directory, 2, SMALL)
    server.store("sess_1", attempt)
    assert [*cluster.blobs.digests()] == []
    assert restored(cluster) == contents(directory)


def test_a_checkpoint_that_is_not_imported_is_stored_with_the_snapshot_after_its_step(cluster: Cluster) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    log = start(directory, 1, SMALL)
    server.store("sess_1", attempt)
    directory.write_checkpoint(1, lambda file: file.write(b"a checkpoint"))
    append(log, STEP)
    server.store("sess_1", attempt)
    name = "saved-1.safetensors"
    with cluster.store.read() as work:  # a replay of its step makes it again
        assert name not in {part.name for part in work.session_files.parts("sess_1")}
    start(directory, 2, SMALL)
    server.store("sess_1", attempt)
    assert restored(cluster)[name] == b"a checkpoint"


def test_a_log_that_the_next_process_cuts_off_and_continues_is_stored_as_it_is(cluster: Cluster) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    append(start(directory, 1, SMALL), STEP)
    with (directory.path / "log-1").open("ab") as file:
        file.write(b"torn")
    server.store("sess_1", attempt)
    attempt, directory = cluster.begin(server)
    log, _ = directory.open_log(1)
    append(log, STEP)
    server.store("sess_1", attempt)
    expected = contents(directory)
    assert b"torn" not in expected["log-1"]
    assert restored(cluster) == expected


def test_what_could_not_be_stored_is_stored_with_the_next_changes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    log = start(directory, 1, SMALL)
    server.store("sess_1", attempt)
    append(log, STEP, LARGE)

    def refuse() -> BlobWriter:
        raise StorageUnavailable("it is away")

    with monkeypatch.context() as away:
        away.setattr(cluster.blobs, "writer", refuse)
        with pytest.raises(StorageUnavailable):
            server.store("sess_1", attempt)
    append(log, STEP)
    server.store("sess_1", attempt)
    assert restored(cluster) == contents(directory)


def test_a_damaged_blob_is_marked_and_nothing_is_restored_without_it(cluster: Cluster) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    start(directory, 1, LARGE)
    server.store("sess_1", attempt)
    (digest,) = cluster.blobs.digests()
    path = cluster.blobs.local_path(digest)
    path.chmod(0o600)
    path.write_bytes(b"other bytes")
    with pytest.raises(Corrupt):
        cluster.begin(cluster.server("heir"))
    with cluster.store.read() as work:
        assert work.damaged_blobs.all() == {digest}


def test_a_session_leaves_the_folder_that_it_was_kept_in_and_comes_back(cluster: Cluster) -> None:
    attempt, directory = cluster.begin(cluster.server("first", shares=False))
    append(start(directory, 1, LARGE), STEP)
    expected = contents(directory)
    cluster.change(begun=True)
    first, other = cluster.server("first"), cluster.server("other")
    with cluster.store.read() as work:
        assert [each.is_within_reach(work, "sess_1") for each in (first, other)] == [True, False]
    attempt, copy = cluster.begin(first)
    first.store("sess_1", attempt)
    assert contents(copy) == expected
    assert not directory.path.exists()
    with cluster.store.read() as work:
        assert other.is_within_reach(work, "sess_1")
    _, back = cluster.begin(cluster.server("other", shares=False))
    assert contents(back) == expected
    with cluster.store.read() as work:
        assert not work.session_files.has("sess_1")
    assert [*cluster.blobs.digests()] == []


def test_nothing_is_left_of_a_session_that_has_ended(cluster: Cluster) -> None:
    server = cluster.server("first")
    attempt, directory = cluster.begin(server)
    log = start(directory, 1, LARGE)
    server.store("sess_1", attempt)
    cluster.change(state=SessionState.CLOSED)
    append(log, STEP)
    with pytest.raises(SessionElsewhere):
        server.store("sess_1", attempt)
    server.remove("sess_1")
    with cluster.store.read() as work:
        assert work.session_files.sessions() == frozenset()
    assert [*cluster.blobs.digests()] == []
    assert not directory.path.exists()
