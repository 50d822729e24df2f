"""A file is read once as long as nothing changes it, and every change is seen."""

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import FileReplaced, NotFound
from app.store.blobs.plain_files import UNSETTLED_NS, BlobVerifier, open_plain_file

CONTENT = bytes(range(256)) * 64
DIGEST = hashlib.sha256(CONTENT).hexdigest()
WRONG = "does not hold the bytes that its digest names"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole file, that was written long enough ago for verdicts to be kept."""
    path = tmp_path / DIGEST
    path.write_bytes(CONTENT)
    real = path.stat().st_ctime_ns
    monkeypatch.setattr("app.store.blobs.plain_files.time.time_ns", lambda: real + 100 * UNSETTLED_NS)
    return path


def rewritten(path: Path) -> None:
    path.write_bytes(CONTENT[:-1] + b"?")


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(CONTENT[::-1])
    other.rename(path)


def changed_with_its_old_times(path: Path) -> None:
    status = path.stat()
    rewritten(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_is_read_once(file: Path) -> None:
    verifier = BlobVerifier()
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(lambda _: verifier.problem(file, DIGEST), range(20))] == [None] * 20
    assert verifier.read_bytes == len(CONTENT)


def test_a_damaged_file_is_read_once_as_well(file: Path) -> None:
    verifier, other = BlobVerifier(), "0" * 64
    assert [verifier.problem(file, other) for _ in range(3)] == [WRONG] * 3
    assert verifier.read_bytes == len(CONTENT)


@pytest.mark.parametrize("change", [rewritten, replaced, changed_with_its_old_times])
def test_every_change_is_seen_and_so_is_its_undoing(file: Path, change: Callable[[Path], None]) -> None:
    verifier = BlobVerifier()
    assert verifier.problem(file, DIGEST) is None
    # The clock that distinguishes changes must have gone on.
    before = file.stat().st_ctime_ns
    while file.stat().st_ctime_ns == before:
        os.utime(file)
    assert verifier.problem(file, DIGEST) is None
    before = file.stat().st_ctime_ns
    change(file)
    while file.stat().st_ctime_ns == before:
        change(file)
    assert verifier.problem(file, DIGEST) == WRONG
    file.unlink()
    assert verifier.problem(file, DIGEST) == "is missing"
    file.write_bytes(CONTENT)
    assert verifier.problem(file, DIGEST) is None


def test_a_verdict_on_a_file_that_was_changed_just_now_is_not_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.blobs.plain_files.time.time_ns", lambda: file.stat().st_ctime_ns + 1)
    verifier = BlobVerifier()
    assert verifier.problem(file, DIGEST) is None
    # Within one tick of the clock of the file system: nothing but the bytes shows it.
    rewritten(file)
    assert verifier.problem(file, DIGEST) == WRONG


def test_old_verdicts_are_forgotten(file: Path) -> None:
    verifier = BlobVerifier(remembered=2)
    for digest in (DIGEST, "1" * 64, "2" * 64, DIGEST):
        verifier.problem(file, digest)
    assert verifier.read_bytes == 4 * len(CONTENT)


def test_a_link_is_no_file_of_the_store(file: Path) -> None:
    (file.parent / "link").symlink_to(file)
    with pytest.raises(FileReplaced):
        BlobVerifier().problem(file.parent / "link", DIGEST)


def between_opening_and_looking(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Have the first file that is opened changed before its status is read."""
    opened, left = os.open, [change]

    def opening(*arguments: Any, **options: Any) -> int:
        descriptor = opened(*arguments, **options)
        if left:
            left.pop()()
        return descriptor

    monkeypatch.setattr("app.store.blobs.plain_files.os.open", opening)


def test_a_file_is_opened_while_an_equal_one_takes_its_place(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = file.with_name("other")
    other.write_bytes(CONTENT)
    between_opening_and_looking(monkeypatch, lambda: other.rename(file))
    with os.fdopen(open_plain_file(file), "rb") as found:
        assert found.read() == CONTENT
    assert not other.exists()


def test_a_file_that_is_deleted_while_it_is_opened_is_not_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    between_opening_and_looking(monkeypatch, file.unlink)
    with pytest.raises(NotFound) as caught:
        open_plain_file(file)
    assert type(caught.value) is NotFound
