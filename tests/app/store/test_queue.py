import itertools
import re
from collections import Counter
from collections.abc import Callable

import pytest

from app.domain.fit import AT_WORK, CLAIMABLE, WAITS_FOR_MEMORY, FitRecord, FitState
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock

AFit = Callable[..., FitRecord]


def test_the_oldest_of_the_highest_priority_is_claimed_first(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for fit_id, state, priority in [
            ("fit_1", "queued", 0),
            ("fit_2", "interrupted", 0),
            ("fit_3", "queued", 1),
            ("fit_4", "interrupted", 1),
            ("fit_5", "queued", 1),
            ("fit_6", "queued", -1),
        ]:
            uow.fits.add(a_fit(fit_id, state=FitState(state), priority=priority))
        for number, state in enumerate(set(FitState) - set(CLAIMABLE)):
            uow.fits.add(a_fit(f"fit_{number}x", state=state, priority=9))
        claimed = []
        while fit := uow.queue.claim():
            claimed.append(fit.id)
    assert claimed == ["fit_3", "fit_4", "fit_5", "fit_1", "fit_2", "fit_6"]


def test_a_claim_starts_the_fit_and_counts_the_attempt(store: Store, a_fit: AFit, clock: ManualClock) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())
        claimed = uow.queue.claim()
        assert claimed is not None
        assert (claimed.state, claimed.attempt, claimed.version) == (FitState.STARTING, 1, 2)
        assert claimed.started_at == uow.now
        assert uow.fits.get("fit_1") == claimed
        uow.fits.update(claimed.to(FitState.INTERRUPTED))
    clock.advance(60)
    with store.begin() as uow:
        again = uow.queue.claim()
        assert again is not None
        assert (again.attempt, again.started_at) == (2, claimed.started_at)


def test_a_claim_skips_the_given_fits(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1"))
        uow.fits.add(a_fit("fit_2", state=FitState.INTERRUPTED))
        uow.fits.add(a_fit("fit_3"))
        claimed = uow.queue.claim(skip={"fit_1", "fit_2"})
        assert claimed is not None
        assert claimed.id == "fit_3"
        assert uow.queue.claim(skip=["fit_1", "fit_2"]) is None


def test_a_fit_that_is_not_admitted_holds_up_all_but_a_higher_priority(store: Store, a_fit: AFit) -> None:
    def small(fit: FitRecord) -> bool:
        return (fit.memory_bytes or 0) < 10

    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1", memory_bytes=10))
        uow.fits.add(a_fit("fit_2", memory_bytes=1))
        uow.fits.add(a_fit("fit_3", memory_bytes=1, priority=-1))
        assert uow.queue.claim(admits=small) is None
        assert uow.fits.get("fit_1").state is FitState.QUEUED
        uow.fits.add(a_fit("fit_4", memory_bytes=1, priority=1))
        claimed = [uow.queue.claim(admits=small) for _ in range(2)]
        assert [fit and fit.id for fit in claimed] == ["fit_4", None]
        claimed = [uow.queue.claim() for _ in range(3)]
        assert [fit and fit.id for fit in claimed] == ["fit_1", "fit_2", "fit_3"]


def test_a_fit_that_waits_for_memory_is_never_overtaken(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_0", share="b", state=FitState.RUNNING))
        uow.fits.add(a_fit("fit_5", share="b", state=FitState.INTERRUPTED, phase=WAITS_FOR_MEMORY))
        for number, share in enumerate(["a", "b", "c"]):
            uow.fits.add(a_fit(f"fit_{number + 1}", share=share))
        asked: list[str] = []
        assert uow.queue.claim(admits=lambda fit: bool(asked.append(fit.id))) is None
        assert asked == ["fit_5"]
        claimed = [uow.queue.claim() for _ in range(4)]
        assert [fit and fit.id for fit in claimed] == ["fit_5", "fit_1", "fit_3", "fit_2"]
        assert claimed[0] is not None
        assert claimed[0].phase == "starting"


def test_shares_take_turns_and_each_goes_by_age(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for number in range(4):
            uow.fits.add(a_fit(f"fit_{number}", share="many"))
        for fit_id, share in [("fit_8", "few"), ("fit_9", "")]:
            uow.fits.add(a_fit(fit_id, share=share))
        claimed = []
        while fit := uow.queue.claim():
            claimed.append(fit.id)
            uow.fits.update(fit.to(FitState.FAILED))
    assert claimed == ["fit_9", "fit_8", "fit_0", "fit_1", "fit_2", "fit_3"]


def test_a_share_with_fewer_fits_at_work_comes_first(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for state in AT_WORK:
            uow.fits.add(a_fit(f"fit_{state}", state=state, share="a"))
        for number in range(6):
            uow.fits.add(a_fit(f"fit_{number}", share="ab"[number % 2]))
        claimed = [fit.id for fit in iter(uow.queue.claim, None) if fit]
    assert claimed == ["fit_1", "fit_3", "fit_5", "fit_0", "fit_2", "fit_4"]


def test_shares_with_nothing_to_do_are_forgotten(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for number in range(20):
            uow.fits.add(a_fit(f"fit_{number}", share=str(number)))
            fit = uow.queue.claim()
            assert fit is not None
            uow.fits.update(fit.to(FitState.FAILED))
        kept = uow.queue._connection.exec_driver_sql("SELECT count(*) FROM shares").scalar_one()
    assert kept == 2, "the last one, and its tenant"


@pytest.mark.sqlite
def test_a_claim_reads_the_queue_from_its_index(store: Store, a_fit: AFit) -> None:
    statements: list[str] = []
    driver = store._database.connection.connection.driver_connection
    assert driver is not None
    with store.begin() as uow:
        uow.fits.add(a_fit())
        driver.set_trace_callback(statements.append)
        uow.queue.claim()
        driver.set_trace_callback(None)
    selects = [statement for statement in statements if statement.startswith(("SELECT", "WITH"))]
    searches = Counter[str]()
    for statement in selects:
        plan = [row[-1] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}")]
        reads = [step for step in plan if re.match(r"(SEARCH|SCAN) fits", step)]
        assert all(re.match(r"SEARCH fits USING .*\(state=\?", step) for step in reads), (statement, plan)
        assert not any("TEMP B-TREE" in step for step in plan) or "count(*)" in statement, "of what is at work only"
        searches[statement.split()[0]] += len(reads)
    # Shares from the index alone: the first and the next tenant, the first and the next share, the highest priority.
    assert searches == {"WITH": 5 * len(CLAIMABLE), "SELECT": 2 * len(CLAIMABLE) + 1}


@pytest.mark.sqlite
def test_a_claim_reads_as_much_of_a_long_queue_as_of_a_short_one(store: Store, a_fit: AFit) -> None:
    driver = store._database.connection.connection.driver_connection
    assert driver is not None
    instructions = []
    for first, last in [(0, 20), (20, 1000)]:
        with store.begin() as uow:
            for number in range(first, last):
                uow.fits.add(a_fit(f"fit_{number:04}", share=str(number % 3), tenant=f"tenant {number % 2}"))
        with store.begin() as uow:
            count = itertools.count()
            driver.set_progress_handler(lambda count=count: next(count) < 0, 10)
            uow.queue.claim()
            driver.set_progress_handler(None, 0)
            instructions.append(next(count))
    assert instructions[1] < 1.5 * instructions[0], "in tens of instructions of SQLite"


def test_tenants_take_turns_whatever_priority_they_give_their_fits(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for number in range(4):
            uow.fits.add(a_fit(f"fit_{number}", tenant="many", share=str(number), priority=1))
        for number, tenant in enumerate(["one", "two", "two"], 4):
            uow.fits.add(a_fit(f"fit_{number}", tenant=tenant))
        claimed = []
        while fit := uow.queue.claim():
            claimed.append(fit.id)
            uow.fits.update(fit.to(FitState.FAILED))
    assert claimed == ["fit_0", "fit_4", "fit_5", "fit_1", "fit_6", "fit_2", "fit_3"]


def test_a_tenant_with_as_many_at_work_as_may_be_waits(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for number in range(3):
            uow.fits.add(a_fit(f"fit_{number}", tenant="a"))
        uow.fits.add(a_fit("fit_3", tenant="b"))
        claimed = [uow.queue.claim(at_work_max=1) for _ in range(3)]
        assert [None if fit is None else fit.id for fit in claimed] == ["fit_0", "fit_3", None]
        uow.fits.update(uow.fits.get("fit_0").to(FitState.FAILED))
        freed = uow.queue.claim(at_work_max=1)
    assert freed is not None
    assert freed.id == "fit_1"
