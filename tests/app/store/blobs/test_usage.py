from pathlib import Path

import pytest

from app.domain.errors import StorageFailed, StorageFull
from app.store.blobs.local import LocalBlobStore
from app.store.blobs.store import BlobWriter, Usage
from app.system.durable import Durable


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobStore:
    return LocalBlobStore(tmp_path, quota_bytes=10)


def test_blobs_are_counted_once_each_until_they_are_deleted(blobs: LocalBlobStore, tmp_path: Path) -> None:
    first = blobs.put(b"abc").digest
    blobs.put(b"abc")
    assert blobs.usage.stored_bytes == 3
    blobs.put(b"defg")
    assert blobs.usage.stored_bytes == LocalBlobStore(tmp_path).usage.stored_bytes == 7
    blobs.delete(first)
    blobs.delete(first)
    assert blobs.usage.stored_bytes == 4


def test_no_more_is_written_than_the_quota_allows(blobs: LocalBlobStore) -> None:
    gone = blobs.put(b"12345").digest
    with pytest.raises(StorageFull, match=r"5 of 10 bytes are in use, 6 more do not fit.*STORAGE_QUOTA"):
        blobs.put(b"abcdef")
    blobs.delete(gone)
    blobs.put(b"abcdef")
    assert blobs.usage.stored_bytes == 6


def test_bytes_on_their_way_count_as_well(blobs: LocalBlobStore) -> None:
    def begun() -> BlobWriter:
        writer = blobs.writer()
        writer.write(b"123456")
        return writer

    with begun(), pytest.raises(StorageFull, match="6 of 10"):
        blobs.put(b"abcdef")
    blobs.put(b"abcdef")


def test_a_finished_file_for_which_there_is_no_space_stays_where_it_is(blobs: LocalBlobStore, tmp_path: Path) -> None:
    taken = blobs.put(b"12345").digest
    path = tmp_path / "finished"
    path.write_bytes(b"weights")
    with pytest.raises(StorageFull):
        blobs.adopt(path)
    blobs.delete(taken)
    assert blobs.adopt(path).size == 7


def test_what_is_full_says_so_before_anything_is_written() -> None:
    Usage(9, 10).check()
    Usage(10).check()
    with pytest.raises(StorageFull):
        Usage(10, 10).check()


@pytest.mark.parametrize("fail_at", range(1, 8))
def test_space_that_was_reserved_is_given_back_whatever_fails(tmp_path: Path, fail_at: int) -> None:
    created = Durable()
    LocalBlobStore(tmp_path / "made", created)
    blobs = LocalBlobStore(tmp_path / "data", Durable(fail_at=created.operations + fail_at), quota_bytes=10)
    with pytest.raises(StorageFailed):
        blobs.put(b"1234567890")
    assert blobs.usage.stored_bytes == 0
    assert blobs.put(b"1234567890").size == 10


def test_a_blob_of_which_a_part_could_not_be_written_is_not_committed(tmp_path: Path) -> None:
    created = Durable()
    LocalBlobStore(tmp_path / "made", created)
    second_write = created.operations + 3
    with LocalBlobStore(tmp_path / "data", Durable(fail_at=second_write)).writer() as writer:
        writer.write(b"one")
        with pytest.raises(StorageFailed):
            writer.write(b"two")
        writer.write(b"three")
        with pytest.raises(StorageFailed, match="not written to its end"):
            writer.commit()
