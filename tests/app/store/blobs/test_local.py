import errno
import itertools
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import FileReplaced, NotFound, StorageFailed, StorageFull
from app.store.blobs.local import LocalBlobStore
from app.system.durable import Durable


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]


def fail_at(operation: int, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the n-th durable operation from now on, and all that follow, fail with `code`."""
    counter = itertools.count(1)

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(counter) >= operation:
                raise OSError(code, os.strerror(code))
            return real(*arguments, **options)

        return call

    for name in ("fchmod", "fsync", "mkdir", "rename"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobStore:
    return LocalBlobStore(tmp_path)


def test_a_blob_lies_where_its_digest_says_and_cannot_be_written(blobs: LocalBlobStore, tmp_path: Path) -> None:
    digest = blobs.put(b"abc").digest
    path = tmp_path / "blobs" / "sha256" / digest[:2] / digest
    assert blobs.local_path(digest) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) & 0o077 == 0


def test_a_local_path_does_not_depend_on_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blobs = LocalBlobStore(Path("data"))
    assert blobs.local_path(blobs.put(b"abc").digest).is_absolute()


def test_opening_clears_away_what_an_earlier_store_was_writing(blobs: LocalBlobStore, tmp_path: Path) -> None:
    kept = blobs.put(b"kept").digest
    writer = blobs.writer()
    writer.write(b"unfinished")
    writer._file.close()
    assert len(files_in(tmp_path)) == 2
    again = LocalBlobStore(tmp_path)
    assert [*again.digests()] == [kept]
    assert len(files_in(tmp_path)) == 1


def test_blobs_survive_a_restart(blobs: LocalBlobStore, tmp_path: Path) -> None:
    digest = blobs.put(b"abc").digest
    assert LocalBlobStore(tmp_path).size(digest) == 3


def test_a_damaged_blob_is_mended_by_putting_it_again(blobs: LocalBlobStore) -> None:
    digest = blobs.put(b"abc").digest
    path = blobs.local_path(digest)
    path.chmod(0o600)
    path.write_bytes(b"x")
    blobs.put(b"abc")
    assert path.read_bytes() == b"abc"


@pytest.mark.parametrize("digest", ["../outside", "../../outside"])
def test_a_path_in_the_place_of_a_digest_leads_nowhere(digest: str, tmp_path: Path) -> None:
    outside, blobs = tmp_path / "outside", LocalBlobStore(tmp_path / "data")
    outside.write_bytes(b"another's")
    for use in (blobs.open, blobs.local_path, blobs.size, blobs.verified_path, blobs.delete):
        with pytest.raises(NotFound, match="64 hexadecimal digits"):
            use(digest)
    assert outside.read_bytes() == b"another's"


@pytest.mark.parametrize("planted", ["symlink", "hardlink", "folder", "pipe", "folder symlink"])
def test_what_is_planted_in_the_place_of_a_blob_is_not_read(
    blobs: LocalBlobStore, planted: str, tmp_path: Path
) -> None:
    digest = blobs.put(b"abc").digest
    path = blobs.local_path(digest)
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    path.unlink()
    if planted == "symlink":
        path.symlink_to(secret)
    elif planted == "hardlink":
        path.hardlink_to(secret)
    elif planted == "folder":
        path.mkdir()
    elif planted == "pipe":
        os.mkfifo(path)
    else:
        path.parent.rmdir()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / digest).write_bytes(b"secret")
        path.parent.symlink_to(tmp_path / "elsewhere")
    for look in (blobs.open, blobs.local_path, blobs.size):
        with pytest.raises(FileReplaced, match=digest):
            look(digest)


def test_other_files_in_the_tree_are_not_taken_for_blobs(blobs: LocalBlobStore, tmp_path: Path) -> None:
    (tmp_path / "blobs" / "sha256" / "note.txt").write_text("hello")
    digest = blobs.put(b"abc").digest
    (blobs.local_path(digest).parent / "note.txt").write_text("hello")
    assert [*blobs.digests()] == [digest]


@pytest.mark.parametrize(("code", "expected"), [(errno.EIO, StorageFailed), (errno.ENOSPC, StorageFull)])
def test_a_failure_at_any_durable_operation_leaves_all_or_nothing(
    code: int, expected: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for operation in itertools.count(1):
        folder = tmp_path / str(operation)
        blobs = LocalBlobStore(folder)
        with monkeypatch.context() as patch:
            fail_at(operation, code, patch)
            try:
                blobs.put(b"abc")
            except expected:
                pass
            else:
                break
        left = files_in(folder)
        assert [path.read_bytes() for path in left] in ([], [b"abc"])
        assert all(path.name in blobs.digests() for path in left)
    # Change the mode, sync the file, make the shard, sync the root, rename, sync the shard; then it is done.
    assert operation == 7


def test_a_full_disk_is_named(blobs: LocalBlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with blobs.writer() as writer, Path("/dev/full").open("wb", 0) as full:
        own, writer._file = writer._file, full
        with pytest.raises(StorageFull, match="free some space"):
            writer.write(b"abc")
        writer._file = own
    assert [*blobs.digests()] == []


def test_threads_may_put_the_same_and_different_blobs_at_once(blobs: LocalBlobStore, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda number: blobs.put(str(number % 20).encode()).digest, range(100))]
    assert len(set(found)) == 20
    assert {*blobs.digests()} == set(found)
    assert len(files_in(tmp_path)) == 20


def test_a_blob_whose_folder_could_not_be_synced_is_not_found(tmp_path: Path) -> None:
    created = Durable()
    LocalBlobStore(tmp_path / "made", created).put(b"abc")
    blobs = LocalBlobStore(tmp_path / "data", Durable(fail_at=created.operations))
    with pytest.raises(StorageFailed):
        blobs.put(b"abc")
    assert [*blobs.digests()] == []


def test_an_older_blob_stays_where_the_folder_could_not_be_synced_for_a_newer_one(tmp_path: Path) -> None:
    kept = LocalBlobStore(tmp_path / "data").put(b"abc").digest
    opened = Durable()
    LocalBlobStore(tmp_path / "data", opened)
    # Create, write, sync, rename; then comes the folder.
    blobs = LocalBlobStore(tmp_path / "data", Durable(fail_at=opened.operations + 5))
    with pytest.raises(StorageFailed):
        blobs.put(b"abc")
    assert [*blobs.digests()] == [kept]
    with blobs.open(kept) as file:
        assert file.read() == b"abc"
