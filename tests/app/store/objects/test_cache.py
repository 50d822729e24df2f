"""Copies of blobs, and deletions in the background: what needs no object storage to be shown."""

import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.errors import Corrupt, StorageUnavailable
from app.store.objects.cache import BlobCache
from app.store.objects.deletions import Deletions
from tests.support.patience import PATIENCE

SIZE = 1000


def content(number: int) -> tuple[str, bytes]:
    data = number.to_bytes(4, "big") * (SIZE // 4)
    return hashlib.sha256(data).hexdigest(), data


def used(cache: BlobCache, digest: str, seconds_ago: float) -> None:
    """Set when a copy was used last."""
    moment = time.time() - seconds_ago
    os.utime(cache.path(digest).parents[2] / "used" / digest[:2] / digest, (moment, moment))


def test_the_least_recently_used_copies_free_space_except_those_in_use(tmp_path: Path) -> None:
    digests = [content(number)[0] for number in range(6)]
    cache = BlobCache(tmp_path, 4 * SIZE, in_use=lambda: [digests[0]], grace=60)
    for number in range(4):
        cache.add(digests[number], [content(number)[1]])
        used(cache, digests[number], 1000 - number)
    cache.find(digests[1])  # used now: within the grace
    other = BlobCache(tmp_path, 4 * SIZE, in_use=lambda: [digests[0]], grace=60)  # as another process of the host
    other.add(digests[4], [content(4)[1]])
    assert [cache.find(digest) is not None for digest in digests] == [True, True, False, False, True, False]
    assert other.size == 3 * SIZE
    # All are in use, or were asked for just now: the bound gives way, and nothing is deleted.
    other.add(digests[5], [content(5)[1]])
    other.add(digests[2], [content(2)[1]])
    assert other.size == 5 * SIZE


def test_a_copy_holds_the_bytes_of_its_digest_or_is_none(tmp_path: Path) -> None:
    cache, (digest, data) = BlobCache(tmp_path, 10 * SIZE), content(1)
    with pytest.raises(Corrupt):
        cache.add(digest, [data[:-1]])
    with pytest.raises(StorageUnavailable):
        cache.add(digest, broken(data))
    assert cache.find(digest) is None
    assert not [*(tmp_path / "tmp").iterdir()]
    path = cache.add(digest, [data[:10], data[10:]])
    assert cache.verified(digest) == path
    path.chmod(0o600)
    path.write_bytes(bytes(SIZE))
    assert cache.verified(digest) is None
    assert not path.exists()
    assert cache.size == 0


def broken(data: bytes) -> Iterator[bytes]:
    yield data[:10]
    raise StorageUnavailable("the connection was cut")


def test_unfinished_copies_are_deleted_once_their_writers_are_gone(tmp_path: Path) -> None:
    BlobCache(tmp_path, SIZE)
    abandoned, written = tmp_path / "tmp" / "abandoned", tmp_path / "tmp" / "written"
    abandoned.write_bytes(b"half")
    with written.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        BlobCache(tmp_path, SIZE)
        assert [written] == [*(tmp_path / "tmp").iterdir()]


def test_a_blob_that_is_stored_again_is_not_deleted_by_an_earlier_deletion() -> None:
    began, may_end, deleted = threading.Event(), threading.Event(), []

    def delete(digest: str) -> None:
        began.set()
        assert may_end.wait(PATIENCE)
        if digest == "first" and not deleted:
            deleted.append("failed")
            raise StorageUnavailable("not now")
        deleted.append(digest)

    deletions = Deletions(delete)
    deletions.add("first")
    assert began.wait(PATIENCE)
    deletions.add("second")
    deletions.cancel("second")
    stored = threading.Thread(target=deletions.cancel, args=("first",))
    stored.start()
    assert stored.is_alive()  # the deletion has begun: whoever stores the blob waits for its end
    may_end.set()
    stored.join(PATIENCE)
    assert deletions.wait(PATIENCE)
    assert deleted == ["failed"]
    deletions.close()
