"""The server's copy of a session's files: at every moment one that the session can be restored from."""

import os
from pathlib import Path
from typing import Any

import pytest

from app.runner.cluster import session_files
from app.runner.cluster.session_files import Change, FileChange, MirroredFolder, WatchedFolder, restorable_files
from app.system.durable import Durable
from app.worker.session.session_dir import SessionDir, find_newest, read_log
from app.worker.session.wal import WriteAheadLog

BODY = b"0123456789abcdef"


class Copying:
    """A folder of a node, and the server's copy of it."""

    def __init__(self, folder: Path) -> None:
        self.node, self.server = folder / "node", folder / "server"
        for each in (self.node, self.server):
            each.mkdir()
        self.directory = SessionDir(self.node, Durable())
        self.watched = WatchedFolder(self.node)
        self.mirrored = MirroredFolder(self.server, 1, Durable())
        assert self.mirrored.try_lock()

    def follow(self) -> list[Change]:
        """Copy what has changed, and return it."""
        changes = [*self.watched.changes()]
        for change, data in changes:
            self.mirrored.apply(change, data)
        return changes

    def rotated(self, number: int, content: bytes) -> WriteAheadLog:
        return self.directory.start_log(
            number, lambda file: file.write(content), [({"reply": n}, BODY) for n in (1, 2)]
        )


@pytest.fixture
def copying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copying:
    monkeypatch.setattr(session_files, "CHUNK_BYTES", 50)
    return Copying(tmp_path)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def records(folder: Path) -> list[Any]:
    number = find_newest((path.name for path in folder.iterdir()), has_snapshot=False)
    return [] if number is None else [number, *(record.head for record in read_log(folder, number))]


def test_a_copy_follows_growth_rotation_and_truncation(copying: Copying) -> None:
    log = copying.rotated(1, BODY * 10)
    copying.follow()
    assert content(copying.server) == content(copying.node)
    for number in range(5):
        log.add({"step": number}, BODY * number)
        log.commit()
        assert {change.kind for change, _ in copying.follow()} == {"append"}
        assert content(copying.server) == content(copying.node)
    with (copying.node / "log-1").open("ab") as torn:
        torn.write(b"torn")
    copying.follow()
    log.truncate()
    assert [change.kind for change, _ in copying.follow()] == ["truncate"]
    assert content(copying.server) == content(copying.node)
    copying.rotated(6, BODY * 3)
    copying.follow()
    assert sorted(content(copying.server)) == ["log-6", "snapshot-6.safetensors"]
    assert content(copying.server) == content(copying.node)
    assert copying.follow() == []


def test_a_copy_that_ends_at_any_change_can_be_restored(copying: Copying) -> None:
    log = copying.rotated(1, BODY * 10)
    log.add({"step": 1}, BODY)
    log.commit()
    copying.follow()
    before = records(copying.server)
    log.add({"step": 2}, BODY * 9)
    log.commit()
    copying.rotated(3, BODY * 20)
    rotation = [*copying.watched.changes()]
    assert len(rotation) > 8
    seen = []
    for change, data in rotation:
        copying.mirrored.apply(change, data)
        seen.append(records(copying.server))
    after = records(copying.node)
    assert all(each in (before, after) for each in seen)
    assert seen[-1] == after


def test_files_that_are_handed_over_are_deleted_on_the_node_only(copying: Copying) -> None:
    copying.directory.write_checkpoint(4, lambda file: file.write(BODY * 20))
    copying.directory.write_reply(BODY)
    changes = copying.follow()
    done = [copying.watched.file_to_delete(change) for change, _ in changes]
    files = [file for file in done if file is not None]
    assert sorted(file.name for file in files) == ["answer-0-1", "saved-4.safetensors"]
    kept = content(copying.server)
    assert kept == content(copying.node)
    for file in files:
        file.unlink()
    assert copying.follow() == []
    assert content(copying.server) == kept
    assert restorable_files(copying.server) == []


def test_the_next_node_goes_on_with_the_copy(copying: Copying, tmp_path: Path) -> None:
    copying.rotated(1, BODY)
    copying.follow()
    copying.mirrored.close()
    second = tmp_path / "second"
    second.mkdir()
    for name in restorable_files(copying.server):
        (second / name).write_bytes((copying.server / name).read_bytes())
    watched, mirrored = WatchedFolder(second), MirroredFolder(copying.server, 2, Durable())
    assert mirrored.try_lock()
    log, _ = SessionDir(second, Durable()).open_log(1)
    log.add({"step": 1}, BODY)
    log.commit()
    changes = [*watched.changes()]
    assert {change.kind for change, _ in changes} == {"append"}
    for change in changes:
        mirrored.apply(*change)
    assert records(copying.server) == records(second)


def test_only_one_attempt_writes_and_a_later_one_asks_for_its_turn(copying: Copying) -> None:
    later = MirroredFolder(copying.server, 2, Durable())
    assert copying.mirrored.is_claimed_later
    assert not later.is_claimed_later
    assert not later.try_lock()
    copying.mirrored.close()
    copying.mirrored.close()
    assert later.try_lock()
    copying.mirrored.apply(FileChange("log-9", "write", 0, True), BODY)
    assert content(copying.server) == {}


def test_bodies_of_answers_that_nobody_has_fetched_are_deleted_later(copying: Copying) -> None:
    for name in ("answer-1-1", "answer-1-2", "log-7.copying"):
        (copying.server / name).write_bytes(BODY)
    os.utime(copying.server / "answer-1-1", (0, 0))
    copying.mirrored.close()
    assert MirroredFolder(copying.server, 2, Durable()).try_lock()
    assert [*content(copying.server)] == ["answer-1-2"]


@pytest.mark.parametrize("name", ["../log-1", "lock", "snapshot-1.safetensors.copying", "log-1/../log-2"])
def test_other_files_are_not_written(copying: Copying, name: str) -> None:
    with pytest.raises(OSError, match="no file"):
        copying.mirrored.apply(FileChange(name, "write", 0, True), BODY)
    assert content(copying.server) == {}


def test_an_addition_at_another_place_is_refused(copying: Copying) -> None:
    log = copying.rotated(1, BODY)
    copying.follow()
    log.add({"step": 1}, BODY)
    log.commit()
    change, data = copying.follow()[0]
    with pytest.raises(OSError, match="does not end at"):
        copying.mirrored.apply(change, data)
    assert content(copying.server) == content(copying.node)
