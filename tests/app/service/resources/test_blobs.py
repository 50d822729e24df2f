from datetime import UTC, datetime

import pytest

from app.domain.errors import StorageFailed
from app.domain.records import DatasetRecord
from app.service.resources.blobs import BlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store


def refer_to(store: Store, digest: str) -> None:
    """Store a dataset of these bytes."""
    moment = datetime(2026, 2, 3, tzinfo=UTC)
    dataset = DatasetRecord(f"ds_{digest[:8]}", "rows", digest, 1, 1, (), "csv", moment)
    with store.begin() as work:
        work.datasets.add(dataset)


def test_only_what_nothing_refers_to_is_deleted(store: Store, blobs: LocalBlobStore, sweeper: BlobSweeper) -> None:
    kept, orphan = blobs.put(b"kept").digest, blobs.put(b"orphan").digest
    refer_to(store, kept)
    sweeper.discard([kept, orphan])
    assert {*blobs.digests()} == {kept}


def test_nothing_is_deleted_while_somebody_stores(store: Store, blobs: LocalBlobStore, sweeper: BlobSweeper) -> None:
    digest = blobs.put(b"rows").digest
    with sweeper.paused():
        sweeper.discard([digest])
        assert {*blobs.digests()} == {digest}
        refer_to(store, digest)
    assert {*blobs.digests()} == {digest}


def test_what_was_discarded_concurrently_goes_afterwards(blobs: LocalBlobStore, sweeper: BlobSweeper) -> None:
    digest = blobs.put(b"rows").digest
    with sweeper.paused():
        with sweeper.paused():
            sweeper.discard([digest])
        assert {*blobs.digests()} == {digest}
    assert not {*blobs.digests()}


def test_what_a_failed_request_stored_is_discarded(blobs: LocalBlobStore, sweeper: BlobSweeper) -> None:
    def fail() -> None:
        with sweeper.paused() as stored:
            stored.add(blobs.put(b"half").digest)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not {*blobs.digests()}


def test_what_the_disk_does_not_delete_now_is_deleted_later_and_nobody_is_bothered(
    store: Store, blobs: LocalBlobStore, sweeper: BlobSweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (blobs.put(content).digest for content in (b"first", b"second"))
    with monkeypatch.context() as patch:

        def fail(self: LocalBlobStore, digest: str) -> None:
            raise StorageFailed("the disk failed")

        patch.setattr(LocalBlobStore, "delete", fail)
        with sweeper.paused():
            sweeper.discard([first])
        assert {*blobs.digests()} == {first, second}
    sweeper.discard([second])
    assert {*blobs.digests()} == set()
