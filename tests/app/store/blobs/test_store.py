"""One contract, kept by every blob store."""

import hashlib
import io
from pathlib import Path

import pytest

from app.domain.errors import DatabaseUnavailable, NotFound
from app.store.blobs.local import LocalBlobStore
from app.store.blobs.store import Blob, BlobStore
from tests.support.memory_blobs import MemoryBlobStore

CONTENTS = [b"", b"a", b"abc" * 7, bytes(range(256)) * 8192]
ABSENT = "0" * 64
NOT_DIGESTS = ["", "ab", "g" * 64, "A" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n", "../" * 21 + "a", "\u0660" * 64]


@pytest.fixture(params=["local", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return LocalBlobStore(tmp_path) if request.param == "local" else MemoryBlobStore(tmp_path)


@pytest.mark.parametrize("content", CONTENTS, ids=len)
@pytest.mark.parametrize("as_stream", [True, False])
def test_what_was_put_reads_back_under_its_sha256(blobs: BlobStore, content: bytes, as_stream: bool) -> None:
    blob = blobs.put(io.BytesIO(content) if as_stream else content)
    assert (blob.digest, blob.size) == (hashlib.sha256(content).hexdigest(), len(content))
    with blobs.open(blob.digest) as file:
        assert file.read() == content
    assert blobs.local_path(blob.digest).read_bytes() == content
    assert blobs.size(blob.digest) == len(content)
    assert [*blobs.digests()] == [blob.digest]


def test_equal_bytes_are_one_blob(blobs: BlobStore) -> None:
    assert blobs.put(b"same") == blobs.put(b"same")
    assert len([*blobs.digests()]) == 1


def test_a_writer_hashes_while_bytes_come(blobs: BlobStore) -> None:
    with blobs.writer() as writer:
        for chunk in (b"one", b"", b"two"):
            writer.write(chunk)
        assert (writer.size, writer.digest) == (6, hashlib.sha256(b"onetwo").hexdigest())
        assert writer.digest not in blobs.digests()
        blob = writer.commit()
    assert blobs.size(blob.digest) == 6


def test_a_writer_that_is_left_without_commit_leaves_nothing(blobs: BlobStore, tmp_path: Path) -> None:
    def write_half() -> None:
        with blobs.writer() as writer:
            writer.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert [*blobs.digests()] == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_finished_file_moves_in(blobs: BlobStore, tmp_path: Path) -> None:
    path = tmp_path / "finished"
    path.write_bytes(b"weights")
    blob = blobs.adopt(path)
    assert not path.exists()
    assert (blob.digest, blob.size) == (hashlib.sha256(b"weights").hexdigest(), 7)
    with blobs.open(blob.digest) as file:
        assert file.read() == b"weights"


def test_a_file_that_has_moved_in_is_found_though_an_observer_failed(blobs: BlobStore, tmp_path: Path) -> None:
    path, told = tmp_path / "finished", []
    path.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    assert blobs.find_adopted(digest) is None

    def tell(stored: str) -> None:
        told.append(stored)
        if len(told) == 1:
            raise DatabaseUnavailable("the database is away")

    blobs.on_stored(tell)
    with pytest.raises(DatabaseUnavailable):
        blobs.adopt(path)
    assert blobs.find_adopted(digest) == Blob(digest, 7)
    assert told == [digest] * 2


def test_a_blob_moves_out_and_in_again(blobs: BlobStore, tmp_path: Path) -> None:
    target = tmp_path / "outside"
    digest = blobs.put(b"weights").digest
    blobs.move_out(digest, target)
    assert (target.read_bytes(), [*blobs.digests()], blobs.usage.stored_bytes) == (b"weights", [], 0)
    for _ in range(2):  # the second time there is one already
        if not target.exists():
            target.write_bytes(b"weights")
        blobs.move_in(digest, target)
        assert (target.exists(), blobs.size(digest), blobs.usage.stored_bytes) == (False, 7, 7)


@pytest.mark.parametrize("planted", ["missing", "symlink", "hardlink", "folder"])
def test_only_a_plain_file_with_one_name_moves_in(blobs: BlobStore, planted: str, tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "planted"
    target.write_bytes(b"another's")
    if planted == "symlink":
        path.symlink_to(target)
    elif planted == "hardlink":
        path.hardlink_to(target)
    elif planted == "folder":
        path.mkdir()
    with pytest.raises(NotFound):
        blobs.adopt(path)
    assert target.read_bytes() == b"another's"
    assert [*blobs.digests()] == []


def test_a_deleted_blob_is_gone_for_later_readers(blobs: BlobStore) -> None:
    digest = blobs.put(b"short-lived").digest
    with blobs.open(digest) as file:
        blobs.delete(digest)
        assert file.read() == b"short-lived"
    with pytest.raises(NotFound):
        blobs.open(digest)
    blobs.delete(digest)


@pytest.mark.parametrize("digest", [ABSENT, *NOT_DIGESTS], ids=repr)
def test_what_is_not_there_is_not_found(blobs: BlobStore, digest: str) -> None:
    for look in (blobs.open, blobs.local_path, blobs.size):
        with pytest.raises(NotFound):
            look(digest)
