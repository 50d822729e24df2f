"""What a power cut can leave of the files that the blob store writes, in every state that the rules allow.

The rules: what was written to a file since it was last synced may be there, be missing or be torn; a name that was
given, changed or deleted since its folder was last synced may be as before or as after. A renamed file has either name
or both. Every state is opened as a server would open it.
"""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.store.blobs.local import LocalBlobStore
from app.system.durable import Durable

FIRST, SECOND, GONE = b"first " * 40, b"second " * 30, b"short-lived"
BLOCKS = 4
STATES_MIN = 100


@dataclass
class Inode:
    """A file's content as it is on the disk for sure, and as it is for whoever reads it now."""

    synced: bytes = b""
    now: bytes = b""

    def after_a_cut(self) -> set[bytes]:
        """Return what may be found: as synced, cut short, or with holes where blocks did not come in time."""
        if self.synced == self.now:
            return {self.now}
        size = max(1, -(-len(self.now) // BLOCKS))
        blocks = [self.now[start : start + size] for start in range(0, len(self.now), size)]
        cut_short = {b"".join(blocks[:count]) for count in range(len(blocks) + 1)}
        sides = [(block, bytes(len(block))) for block in blocks]
        return {self.synced, *cut_short, *map(b"".join, itertools.product(*sides))}


@dataclass
class Folder:
    """The names of a folder's files: those on the disk for sure, and changes since, which may each be there or not."""

    synced: dict[str, Inode] = field(default_factory=dict)
    now: dict[str, Inode] = field(default_factory=dict)

    def after_a_cut(self) -> Iterator[dict[str, Inode]]:
        """Yield what its names may be."""
        open_names = [name for name in {*self.synced, *self.now} if self.synced.get(name) is not self.now.get(name)]
        for choice in itertools.product((self.synced, self.now), repeat=len(open_names)):
            names = dict(self.synced)
            for name, side in zip(open_names, choice, strict=True):
                names.pop(name, None)
                if name in side:
                    names[name] = side[name]
            yield names


class Disk(Durable):
    """Notes what the operations do to a model of the disk, and the states that a power cut before each could leave."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.folders: dict[Path, Folder] = {root: Folder()}
        self.inodes: dict[Path, Inode] = {}
        self.acknowledged: dict[str, bytes] = {}
        self.states: dict[tuple[tuple[str, bytes], ...], set[str]] = {}
        self.writing: Inode | None = None

    def about_to(self, operation: str, *paths: Path) -> None:
        super().about_to(operation, *paths)
        self.look()
        getattr(self, f"_{operation}")(*paths)

    def look(self) -> None:
        """Note every state that a power cut at this moment could leave, and what was acknowledged by now."""
        for inode, path in self._written():
            inode.now = path.read_bytes()
        parts = [[(folder, names) for names in kept.after_a_cut()] for folder, kept in self.folders.items()]
        for together in itertools.product(*parts):
            files = {folder / name: inode for folder, names in together for name, inode in names.items()}
            contents = [[(str(path), content) for content in inode.after_a_cut()] for path, inode in files.items()]
            for state in itertools.product(*contents):
                # What was acknowledged by any of the moments at which the state is possible must be in it.
                self.states.setdefault(tuple(sorted(state)), set()).update(self.acknowledged)

    def _written(self) -> Iterator[tuple[Inode, Path]]:
        for folder, kept in self.folders.items():
            for name, inode in kept.now.items():
                if (folder / name).is_file():
                    yield inode, folder / name

    def _mkdir(self, folder: Path) -> None:
        # The store makes them one by one and syncs each before it is used: see test_durable.
        self.folders[folder] = Folder()

    def _create(self, path: Path) -> None:
        self.folders[path.parent].now[path.name] = Inode()

    def _write(self, path: Path) -> None:
        """The content is read before the next operation."""

    def _fsync(self, path: Path) -> None:
        if path in self.folders:
            self.folders[path].synced = dict(self.folders[path].now)
        elif path.parent in self.folders:
            inode = self.folders[path.parent].now[path.name]
            inode.now = inode.synced = path.read_bytes()

    def _rename(self, path: Path, target: Path) -> None:
        self.folders[target.parent].now[target.name] = self.folders[path.parent].now.pop(path.name)

    def _unlink(self, path: Path) -> None:
        self.folders[path.parent].now.pop(path.name)


def put(blobs: LocalBlobStore, disk: Disk, *parts: bytes) -> str:
    with blobs.writer() as writer:
        for part in parts:
            writer.write(part)
        digest = writer.commit().digest
        disk.acknowledged[digest] = b"".join(parts)
    return digest


def use(blobs: LocalBlobStore, disk: Disk) -> None:
    """Write, give up, adopt, write the same again, and delete."""
    put(blobs, disk, FIRST[:100], FIRST[100:])
    with blobs.writer() as writer:
        writer.write(b"given up")
    finished = disk.root / "finished"
    with disk.create(finished) as file:
        file.write(SECOND)
    disk.acknowledged[blobs.adopt(finished).digest] = SECOND
    put(blobs, disk, FIRST)
    short_lived = put(blobs, disk, GONE)
    del disk.acknowledged[short_lived]
    blobs.delete(short_lived)
    disk.look()


def laid_out(state: tuple[tuple[str, bytes], ...], root: Path, folder: Path) -> None:
    for name, content in state:
        path = folder / Path(name).relative_to(root)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "data").mkdir()
    return Disk(tmp_path / "data")


def test_whatever_a_power_cut_leaves_acknowledged_blobs_load_and_none_is_half(disk: Disk, tmp_path: Path) -> None:
    use(LocalBlobStore(disk.root, disk), disk)
    assert len(disk.states) > STATES_MIN
    known = {hashlib.sha256(content).hexdigest(): content for content in (FIRST, SECOND, GONE)}
    for number, (state, acknowledged) in enumerate(disk.states.items()):
        folder = tmp_path / str(number)
        laid_out(state, disk.root, folder)
        again = LocalBlobStore(folder)
        found = {digest: again.local_path(digest).read_bytes() for digest in again.digests()}
        assert found.items() <= known.items(), "a blob is half"
        assert acknowledged - {hashlib.sha256(GONE).hexdigest()} <= found.keys(), "a blob is lost"
        assert [*(folder / "blobs" / "tmp").iterdir()] == []


@pytest.mark.parametrize("forgotten", ["fsync of the file", "fsync of the folder"])
def test_the_search_finds_a_writer_that_forgets_to_sync(disk: Disk, forgotten: str) -> None:
    blobs = LocalBlobStore(disk.root, disk)
    real = disk._fsync

    def forgetful(path: Path) -> None:
        if path.is_dir() != (forgotten == "fsync of the folder"):
            real(path)

    disk._fsync = forgetful  # type: ignore[method-assign]  # the fault that is to be found
    digest = put(blobs, disk, FIRST)
    disk.look()
    wrong = []
    for state, acknowledged in disk.states.items():
        kept = {Path(name).name: content for name, content in state}
        wrong.append(digest in acknowledged and kept.get(digest) != FIRST)
        wrong.append(digest in kept and kept[digest] != FIRST)
    assert any(wrong)
