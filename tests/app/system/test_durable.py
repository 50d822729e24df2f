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
class Desk:
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
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_each_operation_is_told_of_before_it_is_done(desk: Desk) -> None:
    path = desk.write("a", b"one", b"two")
    desk.durable.rename(path, desk.folder / "b")
    desk.durable.sync_folder(desk.folder)
    assert (desk.folder / "b").read_bytes() == b"onetwo"
    desk.durable.unlink(desk.folder / "b")
    assert [*desk.folder.iterdir()] == []
    renamed = [("rename", "a", "b"), ("fsync", desk.folder.name), ("unlink", "b")]
    assert desk.durable.seen == [("create", "a"), ("write", "a"), ("write", "a"), ("fsync", "a"), *renamed]
    assert desk.durable.operations == len(desk.durable.seen)


def test_a_folder_is_made_with_those_above_it_and_each_is_synced(desk: Desk) -> None:
    desk.durable.mkdir(desk.folder / "a" / "b")
    assert (desk.folder / "a" / "b").is_dir()
    assert desk.durable.seen == [("mkdir", "a"), ("fsync", desk.folder.name), ("mkdir", "b"), ("fsync", "a")]


@pytest.mark.parametrize(
    "again",
    [
        lambda desk: desk.durable.mkdir(desk.folder),
        lambda desk: desk.durable.unlink(desk.folder / "missing"),
        lambda desk: desk.durable.remove_tree(desk.folder / "missing"),
    ],
    ids=["mkdir", "unlink", "remove_tree"],
)
def test_what_is_so_already_is_no_operation(desk: Desk, again: Callable[[Desk], None]) -> None:
    again(desk)
    assert desk.durable.operations == 0


def test_a_folder_that_could_not_be_synced_is_made_anew_the_next_time(tmp_path: Path) -> None:
    durable = Durable(fail_at=2)
    with pytest.raises(OSError, match="told to fail"):
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


def test_what_is_there_is_not_written_over(desk: Desk) -> None:
    desk.write("a", b"one")
    with pytest.raises(FileExistsError):
        desk.durable.create(desk.folder / "a")


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


def test_a_file_is_written_on_and_cut_off(desk: Desk) -> None:
    path = desk.write("a", b"one")
    with desk.durable.append(path) as file:
        file.write(b"two")
        file.sync_data()
        file.truncate(4)
        file.sync()
    assert path.read_bytes() == b"onet"
    assert desk.durable.seen[-4:] == [("write", "a"), ("fsync", "a"), ("truncate", "a"), ("fsync", "a")]
