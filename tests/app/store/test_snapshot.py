import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from app.domain.fit import Event, FitRecord
from app.store import database
from app.store.unit_of_work import Store

AFit = Callable[..., FitRecord]
LARGE = "x" * 3000
TRANSACTIONS_MAX = 100
"""Maximum number of transactions during a copy: SQLite may restart the copy after each that is rolled back."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    created = tmp_path / "copy"
    created.mkdir()
    return created


def fill(store: Store, fit: FitRecord, count: int) -> None:
    with store.begin() as work:
        work.fits.add(fit)
        for _ in range(count):
            work.events.append(fit.id, "log", LARGE)


def events_of(store: Store, fit_id: str) -> list[Event]:
    with store.begin() as work:
        return work.events.after(fit_id, 0, 100_000)


def test_a_copy_holds_what_was_committed_and_says_so(store: Store, a_fit: AFit, folder: Path) -> None:
    fill(store, a_fit(), 3)
    taken = store.snapshot(folder)
    assert dict(taken.counts) == {"graphs": 0, "datasets": 0, "fits": 1, "checkpoints": 0, "events": 3, "sessions": 0}
    assert taken.blobs == frozenset()
    assert [*folder.iterdir()] == [taken.path]
    with Store.open(folder) as copied:
        assert events_of(copied, "fit_1") == events_of(store, "fit_1")


@pytest.mark.slow
def test_a_copy_is_the_database_at_one_moment_though_others_write_concurrently(
    store: Store, a_fit: AFit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every commit adds an event to two fits; one that is rolled back, after it has filled the cache, adds many."""
    monkeypatch.setattr(database, "SLICE_PAGES", 16)
    for name in ("fit_1", "fit_2"):
        fill(store, a_fit(name), 1000)
    done = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while written < TRANSACTIONS_MAX and not done.is_set():
            with suppress(ZeroDivisionError), store.begin() as work:
                for name in ("fit_1", "fit_2"):
                    work.events.append(name, "log", LARGE)
                if written % 5 == 4:
                    for _ in range(50):
                        work.events.append("fit_1", "log", LARGE)
                    written += 1
                    raise ZeroDivisionError
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        taken = store.snapshot(folder)
    finally:
        done.set()
        writer.join()
    assert written > 10, "others were served while the copy was made"
    with closing(sqlite3.connect(taken.path)) as copied:
        assert copied.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Store.open(folder) as copy:
        first, second = (events_of(copy, name) for name in ("fit_1", "fit_2"))
    assert len(first) == len(second) > 1000
    for name, events in (("fit_1", first), ("fit_2", second)):
        assert events == events_of(store, name)[: len(events)]


def test_a_thread_with_a_unit_of_work_has_to_finish_it_first(store: Store, folder: Path) -> None:
    with store.begin(), pytest.raises(RuntimeError, match="unit of work"):
        store.snapshot(folder)
