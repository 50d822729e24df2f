import errno
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.system.durable import Durable

ROOT = Path(__file__).parents[3]


class Recording(Durable):
    """Notes each operation by its kind and the names of the paths."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, ...]] = []

    def about_to(self, operation: str, *paths: Path) -> None:
        super().about_to(operation, *paths)
        self.seen.append((operation, *(path.name for path in paths)))


@dataclass
class FolderHarness:
    """A folder and what is done in it."""

    folder: Path
    durable: Recording = field(default_factory=Recording)

    def write(self, name: str, *parts: bytes) -> Path:
        with self.durable.create(self.folder / name) as file:
            for part in parts:
                file.write(part)
            file.sync()
        return self.folder / name


@pytest.fixture
def harness(tmp_path: Path) -> FolderHarness:
    return FolderHarness(tmp_path)


def test_each_operation_is_reported_before_it_is_done(harness: FolderHarness) -> None:
    path = harness.write("a", b"one", b"two")
    harness.durable.rename(path, harness.folder / "b")
    harness.durable.sync_folder(harness.folder)
    assert (harness.folder / "b").read_bytes() == b"onetwo"
    harness.durable.unlink(harness.folder / "b")
    assert [*harness.folder.iterdir()] == []
    renamed = [("rename", "a", "b"), ("fsync", harness.folder.name), ("unlink", "b")]
    assert harness.durable.seen == [("create", "a"), ("write", "a"), ("write", "a"), ("fsync", "a"), *renamed]
    assert harness.durable.operations == len(harness.durable.seen)


def test_a_folder_is_made_with_those_above_it_and_each_is_synced(harness: FolderHarness) -> None:
    harness.durable.mkdir(harness.folder / "a" / "b")
    assert (harness.folder / "a" / "b").is_dir()
    assert harness.durable.seen == [("mkdir", "a"), ("fsync", harness.folder.name), ("mkdir", "b"), ("fsync", "a")]


@pytest.mark.parametrize(
    "again",
    [
        lambda harness: harness.durable.mkdir(harness.folder),
        lambda harness: harness.durable.unlink(harness.folder / "missing"),
        lambda harness: harness.durable.remove_tree(harness.folder / "missing"),
    ],
    ids=["mkdir", "unlink", "remove_tree"],
)
def test_what_is_so_already_is_no_operation(harness: FolderHarness, again: Callable[[FolderHarness], None]) -> None:
    again(harness)
    assert harness.durable.operations == 0


def test_a_folder_that_could_not_be_synced_is_made_again_the_next_time(tmp_path: Path) -> None:
    durable = Durable(fail_at=2)
    with pytest.raises(OSError, match="set to fail"):
        durable.mkdir(tmp_path / "a")
    durable.mkdir(tmp_path / "a")
    assert durable.operations == 4, "mkdir, sync; mkdir, sync"


def test_an_operation_fails_once_and_is_not_done(tmp_path: Path) -> None:
    durable = Durable(fail_at=2)
    with durable.create(tmp_path / "a") as file:
        with pytest.raises(OSError, match="operation 2, write") as raised:
            file.write(b"one")
        assert raised.value.errno == errno.EIO
        file.write(b"two")
    assert (tmp_path / "a").read_bytes() == b"two"


def test_what_is_there_is_not_written_over(harness: FolderHarness) -> None:
    harness.write("a", b"one")
    with pytest.raises(FileExistsError):
        harness.durable.create(harness.folder / "a")


def test_a_process_is_killed_before_the_operation_of_that_number(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from app.system.durable import Durable; durable = Durable(kill_at=3)\n"
        "for name in '1234': durable.unlink(Path(sys.argv[1]) / name)"
    )
    for name in "1234":
        (tmp_path / name).touch()
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "4"]


def test_a_file_is_written_on_and_cut_off(harness: FolderHarness) -> None:
    path = harness.write("a", b"one")
    with harness.durable.append(path) as file:
        file.write(b"two")
        file.sync_data()
        file.truncate(4)
        file.sync()
    assert path.read_bytes() == b"onet"
    assert harness.durable.seen[-4:] == [("write", "a"), ("fsync", "a"), ("truncate", "a"), ("fsync", "a")]
