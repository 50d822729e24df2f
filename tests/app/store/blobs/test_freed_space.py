"""Large files that are deleted: their names are gone at once, and their space soon after."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from app.store.blobs import freed_space
from app.store.blobs.freed_space import HELD_FILES, FreedSpace

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc on Linux")


@pytest.fixture(autouse=True)
def small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_space, "LARGE_BYTES", 10)


@pytest.fixture
def space() -> Iterator[FreedSpace]:
    with closing(FreedSpace()) as made:
        yield made


def held(folder: Path) -> int:
    """Return how many deleted files of a folder this process has open."""
    ends = [end.readlink().as_posix() for end in Path("/proc/self/fd").iterdir() if end.is_symlink()]
    return sum(end.startswith(f"{folder}/") and end.endswith(" (deleted)") for end in ends)


def test_a_large_file_is_held_while_it_is_deleted_and_no_longer(space: FreedSpace, tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(10))
    with space.later(path, 10):
        path.unlink()
        assert held(tmp_path) == 1
    space.close()
    assert held(tmp_path) == 0


def test_a_small_file_is_freed_at_once(space: FreedSpace, tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(bytes(9))
    with space.later(path, 9):
        path.unlink()
        assert held(tmp_path) == 0


def test_a_file_that_cannot_be_deleted_is_not_held(space: FreedSpace, tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(10))
    for _ in range(2 * HELD_FILES):
        with pytest.raises(PermissionError), space.later(path, 10):
            raise PermissionError
    path.unlink()
    space.close()
    assert held(tmp_path) == 0


def test_what_is_no_plain_file_is_not_held(space: FreedSpace, tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to(tmp_path / "other")
    with space.later(path, 10):
        path.unlink()
        assert held(tmp_path) == 0


def test_few_files_are_held_at_a_time(space: FreedSpace, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(HELD_FILES + 2)]
    with ExitStack() as deletions:
        for path in paths:
            path.write_bytes(bytes(10))
            deletions.enter_context(space.later(path, 10))
            path.unlink()
        assert held(tmp_path) == HELD_FILES
    space.close()
    assert held(tmp_path) == 0


def test_what_is_deleted_after_the_end_is_freed_at_once(space: FreedSpace, tmp_path: Path) -> None:
    space.close()
    path = tmp_path / "large"
    path.write_bytes(bytes(10))
    with space.later(path, 10):
        path.unlink()
    assert held(tmp_path) == 0
