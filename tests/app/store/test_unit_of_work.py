import resource
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import DatabaseBusy, NotFound, StorageFailed, StorageFull
from app.domain.fit import FitRecord
from app.domain.records import GraphRecord
from app.store.database import FILE_NAME
from app.store.unit_of_work import Store
from app.system.durable import Durable
from tests.support.manual_clock import ManualClock

AFit = Callable[..., FitRecord]


@pytest.mark.sqlite
def test_what_is_committed_is_there_after_a_restart(store: Store, a_fit: AFit, tmp_path: Path) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())
    store.close()
    with Store.open(tmp_path) as again, again.begin() as uow:
        assert uow.fits.get("fit_1") == a_fit()


def test_a_block_that_raises_changes_nothing(store: Store, a_fit: AFit, a_graph: Callable[..., GraphRecord]) -> None:
    called: list[str] = []

    def fail_after_adding() -> None:
        with store.begin() as uow:
            uow.graphs.add(a_graph())
            uow.fits.add(a_fit())
            uow.after_commit(lambda: called.append("hook"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_adding()
    assert called == []
    with store.begin() as uow:
        for look in (lambda: uow.fits.get("fit_1"), lambda: uow.graphs.get("graph_1")):
            with pytest.raises(NotFound):
                look()


def test_hooks_run_in_order_after_the_commit_and_outside_the_lock(store: Store, a_fit: AFit) -> None:
    seen: list[str] = []

    def look_from_another_thread() -> None:
        def look() -> None:
            with store.begin() as uow:
                seen.append(uow.fits.get("fit_1").id)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()

    with store.begin() as uow:
        uow.after_commit(look_from_another_thread)
        uow.after_commit(lambda: seen.append("second"))
        uow.fits.add(a_fit())
        assert seen == []
    assert seen == ["fit_1", "second"]


def test_a_hook_may_begin_another_unit_of_work(store: Store, a_fit: AFit) -> None:
    def add_another() -> None:
        with store.begin() as uow:
            uow.fits.add(a_fit("fit_2"))

    with store.begin() as uow:
        uow.after_commit(add_another)
    with store.begin() as uow:
        assert uow.fits.get("fit_2").id == "fit_2"


def test_a_second_unit_of_work_within_the_first_is_refused_and_the_first_goes_on(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        with pytest.raises(RuntimeError, match="pass it on"), store.begin():
            pass
        uow.fits.add(a_fit())
    with store.begin() as uow:
        assert uow.fits.get("fit_1").id == "fit_1"


def test_threads_take_turns_and_lose_no_update(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())

    def count_up(_: int) -> None:
        with store.begin() as uow:
            fit = uow.fits.get("fit_1")
            uow.fits.update(replace(fit, step=fit.step + 1))

    with ThreadPoolExecutor(8) as pool:
        [*pool.map(count_up, range(80))]
    with store.begin() as uow:
        assert uow.fits.get("fit_1").step == 80


def test_everything_in_one_unit_of_work_carries_one_time(store: Store, a_fit: AFit, clock: ManualClock) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())
        first = uow.events.append("fit_1", "log", "{}")
        clock.advance(5)
        assert uow.events.append("fit_1", "log", "{}").created_at == first.created_at == uow.now
    with store.begin() as uow:
        assert (uow.now - first.created_at).total_seconds() == 5


@pytest.mark.sqlite
def test_a_lock_of_another_program_is_named_and_changes_nothing(store: Store, a_fit: AFit, tmp_path: Path) -> None:
    driver = store._database.connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA busy_timeout=0")
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseBusy, match="another program"), store.begin():
        pass
    other.execute("ROLLBACK")
    other.close()
    with store.begin() as uow:
        uow.fits.add(a_fit())


@pytest.mark.sqlite
def test_a_full_disk_is_named_and_the_store_goes_on_when_there_is_space(store: Store, a_fit: AFit) -> None:
    driver = store._database.connection.connection.driver_connection
    assert driver is not None
    (pages,) = driver.execute("PRAGMA page_count").fetchone()
    driver.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StorageFull, match="disk is full"), store.begin() as uow:
        uow.fits.add(a_fit(request={"big": "x" * 1_000_000}))
    driver.execute(f"PRAGMA max_page_count={pages + 1000}")
    with store.begin() as uow:
        uow.fits.add(a_fit(request={"big": "x" * 1_000_000}))


def test_a_commit_that_the_disk_refuses_changes_nothing_and_the_next_one_works(
    tmp_path: Path, empty_database: Path, a_fit: AFit
) -> None:
    shutil.copy(empty_database, tmp_path)
    called: list[str] = []

    def submit() -> None:
        with store.begin() as uow:
            uow.fits.add(a_fit())
            uow.after_commit(lambda: called.append("hook"))

    with Store.open(tmp_path, durable=Durable(fail_at=1)) as store:
        with pytest.raises(StorageFailed, match="EIO"):
            submit()
        with store.begin() as uow, pytest.raises(NotFound):
            uow.fits.get("fit_1")
        assert called == []
        submit()
        assert called == ["hook"]


def test_what_changes_nothing_is_no_operation_of_the_disk(tmp_path: Path, empty_database: Path, a_fit: AFit) -> None:
    shutil.copy(empty_database, tmp_path)
    durable = Durable()
    with Store.open(tmp_path, durable=durable) as store:
        with store.begin() as uow:
            uow.fits.count_by_state()
        assert durable.operations == 0
        with store.begin() as uow:
            uow.fits.add(a_fit())
        assert durable.operations == 1


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """Have the system refuse what would make a file larger, which SQLite takes for a disk that fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.sqlite
def test_a_disk_that_fails_amid_a_commit_is_named_and_the_connection_can_be_used_again(
    store: Store, a_fit: AFit, tmp_path: Path
) -> None:
    size = (tmp_path / FILE_NAME).stat().st_size
    with no_file_grows_beyond(size), pytest.raises(StorageFailed, match="SQLITE_IOERR_WRITE"), store.begin() as uow:
        uow.fits.add(a_fit(request={"big": "x" * 1_000_000}))
    with store.begin() as uow, pytest.raises(NotFound):
        uow.fits.get("fit_1")
    with store.begin() as uow:
        uow.fits.add(a_fit(request={"big": "x" * 1_000_000}))
    with store.begin() as uow:
        assert uow.fits.get("fit_1").id == "fit_1"


def test_observers_receive_every_changed_fit_after_the_commit_and_before_the_hooks(store: Store, a_fit: AFit) -> None:
    reported: list[str] = []
    store.on_change(reported.append)

    def changed() -> list[str]:
        seen, reported[:] = sorted(reported), []
        return seen

    with store.begin() as work:
        parent = a_fit()
        work.fits.add(parent)
        for number in (2, 3, 4):
            work.fits.add(a_fit(f"fit_{number}", parent_id=None if number == 4 else "fit_1"))
    assert changed() == []  # nobody has seen them yet
    with store.begin() as work:
        work.fits.update(work.fits.get("fit_2"))
        work.events.append("fit_3", "log", "{}")
        work.after_commit(lambda: reported.append("hook"))
        assert reported == []
    assert reported.pop() == "hook"
    assert changed() == ["fit_1", "fit_2", "fit_3"]  # a sweep shows how its variants stand
    with store.begin() as work:
        work.events.append_metrics("fit_4", [(1, "{}")])
    assert changed() == ["fit_4"]
    with store.begin() as work:
        assert work.queue.claim() is not None
    assert changed() == ["fit_1"]

    def fail() -> None:
        with store.begin() as work:
            work.fits.update(work.fits.get("fit_2"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert changed() == []
    with store.begin() as work:
        work.fits.delete("fit_1")
    assert changed() == ["fit_1", "fit_2", "fit_3"]
