"""What a power cut can leave of the database amid a commit: each image opens, whole, as it was after some commit.

SQLite syncs a rollback journal before it changes the file, and the folder after it has deleted the journal; a
write-ahead log it only extends, and syncs before a commit returns. What is not synced may be missing or torn; see
https://www.sqlite.org/fileformat2.html#the_rollback_journal.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.domain.fit import FitRecord, FitState
from app.domain.records import GraphRecord
from app.store import database as module
from app.store.database import FILE_NAME, Database, JournalSettings
from app.store.unit_of_work import Store, UnitOfWork
from app.system.durable import Durable

JOURNAL, LOG = f"{FILE_NAME}-journal", f"{FILE_NAME}-wal"
MODES = {"delete": JournalSettings("delete", "extra"), "wal": JournalSettings("wal", "full")}
MAGIC, NONCE_AT, JOURNAL_HEADER = bytes.fromhex("d9d505f920a163d7"), slice(12, 16), 512
IMAGES_MIN = {"delete": 150, "wal": 80}

Files = dict[str, bytes]
Change = Callable[[UnitOfWork], object]


@dataclass(frozen=True)
class Commit:
    """The files right before a commit, and when it had returned."""

    before: Files
    after: Files


@dataclass
class Watch(Durable):
    """Copies the database's files right before each commit that changes something."""

    folder: Path
    seen: list[Files] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def about_to(self, operation: str, *paths: Path) -> None:
        super().about_to(operation, *paths)
        if operation == "commit":
            self.seen.append(files(self.folder))


def files(folder: Path) -> Files:
    return {name: (folder / name).read_bytes() for name in (FILE_NAME, JOURNAL, LOG) if (folder / name).exists()}


def script(a_fit: Callable[..., FitRecord], a_graph: Callable[..., GraphRecord]) -> list[Change]:
    """Return changes of all kinds: new rows, large ones that make the file grow, changed and deleted ones."""
    rows = [(seq, f'{{"seq":{seq}}}') for seq in range(1, 101)]
    running = a_fit(state=FitState.STARTING, attempt=1)
    return [
        lambda work: work.graphs.add(a_graph(definition={"nodes": ["n" * 20_000]})),
        lambda work: work.fits.add(a_fit()),
        lambda work: work.events.append_metrics("fit_1", rows),
        lambda work: (work.fits.update(running), work.attempts.start("fit_1", 1, "token")),
        lambda work: work.attempts.end("fit_1", 1, "killed"),
        lambda work: work.graphs.delete("graph_1"),
    ]


def contents(database: Database) -> list[str]:
    driver = database.connection.connection.driver_connection
    assert driver is not None
    assert driver.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert driver.execute("PRAGMA foreign_key_check").fetchall() == []
    return [*driver.iterdump()]


def opened(image: Files, folder: Path) -> list[str]:
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)
    database = Database.open(folder)
    try:
        return contents(database)
    finally:
        database.close()
        shutil.rmtree(folder)


def cuts(content: bytes, start: int = 0) -> Iterator[bytes]:
    """Yield what may be there of `content`, of which all but what follows `start` is synced."""
    size = len(content)
    steps = {start, start + 1, start + 24, start + 511, start + 513, (start + size) // 2, size - 1, size}
    for end in sorted(step for step in steps if start <= step <= size):
        yield content[:end]
        yield content[:end] + bytes(size - end)


def synced(journal: bytes, old: bytes, new: bytes, page_size: int) -> bytes:
    """Return the journal as it is synced before the file is changed: the old pages, counted, each with its sum.

    Amid the commit SQLite journals the first page, with its counter of changes: no copy from before has that.
    """
    nonce = int.from_bytes(journal[NONCE_AT], "big")
    records = []
    for start in range(0, len(old), page_size):
        page = old[start : start + page_size]
        if page != new[start : start + page_size]:
            total = (nonce + sum(page[at] for at in range(page_size - 200, 0, -200))) % 2**32
            records.append((start // page_size + 1).to_bytes(4, "big") + page + total.to_bytes(4, "big"))
    header = MAGIC + len(records).to_bytes(4, "big") + journal[NONCE_AT.start : JOURNAL_HEADER]
    return header + b"".join(records)


def half_written(old: bytes, new: bytes, page_size: int) -> Iterator[bytes]:
    """Yield the file amid its change: the first pages new, or the last ones, or each second one, or one torn."""
    count = max(len(old), len(new)) // page_size
    pages = [[side[at * page_size : (at + 1) * page_size] for side in (old, new)] for at in range(count)]
    changed = [at for at, (before, after) in enumerate(pages) if before != after]
    choices = [set(changed[:number]) for number in range(len(changed) + 1)]
    choices += [set(changed[number:]) for number in range(1, len(changed))] + [set(changed[::2]), set(changed[1::2])]
    for chosen in choices:
        parts = [after if at in chosen else before for at, (before, after) in enumerate(pages)]
        yield b"".join(part.ljust(page_size, b"\0") if any(parts[at:]) else part for at, part in enumerate(parts))
    torn = changed[0]
    before, after = pages[torn]
    yield old[: torn * page_size] + after[:512] + before[512:] + old[(torn + 1) * page_size :]


def images(commit: Commit) -> Iterator[Files]:
    """Yield what may be on the disk when the power is cut before the commit has returned."""
    old, new = commit.before[FILE_NAME], commit.after[FILE_NAME]
    if LOG in commit.before:
        for log in cuts(commit.after[LOG], len(commit.before[LOG])):
            yield {FILE_NAME: old, LOG: log}
        return
    journal, page_size = commit.before[JOURNAL], int.from_bytes(old[16:18], "big")
    for part in cuts(journal):
        yield {FILE_NAME: old, JOURNAL: part}
    for mixed in half_written(old, new, page_size):
        yield {FILE_NAME: mixed, JOURNAL: synced(journal, old, new, page_size)}
    yield {FILE_NAME: new}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_whatever_a_power_cut_leaves_opens_with_all_that_was_acknowledged(
    mode: str,
    tmp_path: Path,
    empty_database: Path,
    a_fit: Callable[..., FitRecord],
    a_graph: Callable[..., GraphRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "journal_settings", lambda _version: MODES[mode])
    data = tmp_path / "data"
    data.mkdir()
    shutil.copy(empty_database, data)
    watch = Watch(data)
    commits, states = [], []
    with Store.open(data, durable=watch) as store:
        states.append(contents(store._database))
        for change in script(a_fit, a_graph):
            with store.begin() as work:
                change(work)
            commits.append(Commit(watch.seen[-1], files(data)))
            states.append(contents(store._database))
    assert len(watch.seen) == len(commits), "what changes nothing is no commit"
    assert len({"".join(state) for state in states}) == len(states)
    tried = 0
    for number, commit in enumerate(commits):
        for image in images(commit):
            tried += 1
            found = opened(image, tmp_path / "image")
            assert found in (states[number], states[number + 1]), f"commit {number} came half"
        assert opened(commit.after, tmp_path / "image") == states[number + 1], "what was acknowledged is lost"
    assert tried >= IMAGES_MIN[mode]


@pytest.mark.sqlite
def test_the_search_finds_a_file_that_is_changed_without_a_journal(
    tmp_path: Path, store: Store, a_graph: Callable[..., GraphRecord]
) -> None:
    old = files(tmp_path)[FILE_NAME]
    with store.begin() as work:
        work.graphs.add(a_graph(definition={"nodes": ["n" * 20_000]}))
    new = files(tmp_path)[FILE_NAME]
    whole = [opened({FILE_NAME: content}, tmp_path / "image") for content in (old, new)]

    def comes_half(mixed: bytes) -> bool:
        try:
            return opened({FILE_NAME: mixed}, tmp_path / "image") not in whole
        except Exception:  # noqa: BLE001 (however SQLite takes it, it is not whole)
            shutil.rmtree(tmp_path / "image", ignore_errors=True)
            return True

    assert any(map(comes_half, half_written(old, new, int.from_bytes(old[16:18], "big"))))
