import threading
from pathlib import Path

import pytest

from app.domain.errors import StorageFailed
from app.service.resources.shared_sweeper import DELETED_AT_ONCE, KEPT_FOR, SharedBlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.postgres.dialect import PostgresDialect
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE

from .test_blobs import refer_to

LONG_AGO = KEPT_FOR.total_seconds() + 1
OVERTAKING_SECONDS = 0.2
"""How long a deletion gives another server the opportunity to store the same bytes before its turn."""


CLOCK = PostgresDialect.clock


@pytest.fixture(autouse=True)
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the time of PostgreSQL be the one that tests let pass."""
    monkeypatch.setattr(PostgresDialect, "clock", lambda _self, _connection, now: now)


@pytest.fixture
def shared(store: Store, blobs: LocalBlobStore) -> SharedBlobSweeper:
    return sweeper_of(store, blobs)


def sweeper_of(store: Store, blobs: LocalBlobStore) -> SharedBlobSweeper:
    sweeper = SharedBlobSweeper(store, blobs)
    blobs.before_storing(sweeper.keep)
    return sweeper


def test_unused_blobs_are_deleted_after_a_while(
    store: Store, blobs: LocalBlobStore, shared: SharedBlobSweeper, clock: ManualClock
) -> None:
    kept, orphan = blobs.put(b"kept").digest, blobs.put(b"orphan").digest
    shared.discard([kept, orphan])
    refer_to(store, kept)
    clock.advance(KEPT_FOR.total_seconds() - 1)
    assert shared.collect() == 0
    clock.advance(2)
    assert shared.collect() == 1
    assert {*blobs.digests()} == {kept}


def test_a_blob_that_is_stored_again_is_kept(
    blobs: LocalBlobStore, shared: SharedBlobSweeper, clock: ManualClock
) -> None:
    digest = blobs.put(b"rows").digest
    shared.discard([digest])
    clock.advance(LONG_AGO)
    blobs.put(b"rows")
    assert shared.collect() == 0
    assert {*blobs.digests()} == {digest}


def test_a_server_whose_clock_is_fast_deletes_nothing_early(
    store: Store,
    blobs: LocalBlobStore,
    shared: SharedBlobSweeper,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not store.database.dialect.locks_rows:
        pytest.skip("one server has one clock")
    monkeypatch.setattr(PostgresDialect, "clock", CLOCK)
    digest = blobs.put(b"rows").digest
    shared.discard([digest])
    clock.advance(LONG_AGO)
    assert shared.collect() == 0
    assert {*blobs.digests()} == {digest}


def test_all_unused_blobs_are_deleted_however_many(
    blobs: LocalBlobStore, shared: SharedBlobSweeper, clock: ManualClock
) -> None:
    shared.discard([blobs.put(bytes([number])).digest for number in range(2 * DELETED_AT_ONCE + 1)])
    clock.advance(LONG_AGO)
    assert shared.collect() == 2 * DELETED_AT_ONCE + 1
    assert not {*blobs.digests()}


def test_what_a_failed_request_stored_is_discarded(
    blobs: LocalBlobStore, shared: SharedBlobSweeper, clock: ManualClock
) -> None:
    def fail() -> None:
        with shared.paused() as stored:
            stored.add(blobs.put(b"half").digest)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    clock.advance(LONG_AGO)
    assert shared.collect() == 1


def test_a_blob_that_cannot_be_deleted_is_deleted_later(
    blobs: LocalBlobStore, shared: SharedBlobSweeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: LocalBlobStore, digest: str) -> None:
        raise StorageFailed("the disk failed")

    shared.discard([blobs.put(b"rows").digest])
    clock.advance(LONG_AGO)
    with monkeypatch.context() as patch:
        patch.setattr(LocalBlobStore, "delete", fail)
        with pytest.raises(StorageFailed):
            shared.collect()
    assert shared.collect() == 1


def test_a_blob_that_another_server_stores_during_its_deletion_is_kept(
    store: Store,
    blobs: LocalBlobStore,
    shared: SharedBlobSweeper,
    clock: ManualClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = LocalBlobStore(tmp_path, temporary=tmp_path / "other")
    sweeper_of(store, other)
    digest = blobs.put(b"rows").digest
    shared.discard([digest])
    clock.advance(LONG_AGO)
    storing = threading.Thread(target=other.put, args=[b"rows"])
    delete_now = blobs.delete_now

    def delete_late(digest: str) -> None:
        storing.start()
        storing.join(OVERTAKING_SECONDS)
        delete_now(digest)

    monkeypatch.setattr(blobs, "delete_now", delete_late)
    assert shared.collect() == 1
    storing.join(PATIENCE)
    assert {*blobs.digests()} == {digest}
