import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.errors import Conflict, NotFound
from app.domain.fit import TERMINAL, FitRecord, FitState
from app.store.lists import Filters
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

AFit = Callable[..., FitRecord]


@pytest.mark.parametrize("state", FitState)
def test_a_fit_reads_back_as_it_was(store: Store, a_fit: AFit, state: FitState) -> None:
    full = a_fit(
        state=state,
        latest={"loss": 0.1 + 0.2},
        best={"step": 3, "val_loss": 1e-310},
        error={"code": "numerics_nonfinite", "detail": "step 7"},
        started_at=a_fit().created_at,
        finished_at=a_fit().created_at,
        step=2**40,
        priority=-1,
    )
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_0", state=state))
        uow.fits.add(full)
        assert uow.fits.get("fit_0") == a_fit("fit_0", state=state)
        assert uow.fits.get("fit_1") == full


def test_a_diverged_fit_can_be_stored_and_read(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit(latest={"loss": math.nan}))
        assert math.isnan(uow.fits.get("fit_1").latest["loss"])


def test_an_update_stores_every_field_and_counts_the_version_up(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())
        uow.fits.add(a_fit("fit_2"))
        changed = a_fit().to(
            FitState.STARTING,
            phase="loading",
            request={"epochs": 3},
            labels={},
            step=1,
            latest={"loss": 1.0},
            best={"loss": 1.0},
            attempt=1,
            error={"code": "x"},
            started_at=uow.now,
            finished_at=uow.now,
            priority=5,
        )
        stored = uow.fits.update(changed)
        assert stored == replace(changed, version=2) == uow.fits.get("fit_1")
        assert uow.fits.get("fit_2") == a_fit("fit_2")


def test_an_update_of_what_was_changed_concurrently_is_refused(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())
        uow.fits.update(replace(a_fit(), step=1))
        with pytest.raises(Conflict, match="version 2, not 1") as caught:
            uow.fits.update(replace(a_fit(), step=9))
        assert caught.value.code == "stale_version"
        assert uow.fits.get("fit_1").step == 1


def test_a_list_can_be_narrowed_by_state_and_by_label(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1", labels={"team": "a", "we.ird \"key'": "v"}))
        uow.fits.add(a_fit("fit_2", labels={"team": "b"}))
        uow.fits.add(a_fit("fit_3", labels={"team": "a"}, state=FitState.FAILED))
        uow.fits.add(a_fit("fit_4", labels={}))

        def ids(**filters: object) -> list[str]:
            return [fit.id for fit in uow.fits.list(PageRequest(order="asc"), Filters(**filters)).items]  # type: ignore[arg-type]

        assert ids() == ["fit_1", "fit_2", "fit_3", "fit_4"]
        assert ids(state=FitState.FAILED) == ["fit_3"]
        assert ids(label=("team", "a")) == ["fit_1", "fit_3"]
        assert ids(label=("team", "a"), state=FitState.QUEUED) == ["fit_1"]
        assert ids(label=("we.ird \"key'", "v")) == ["fit_1"]
        assert ids(label=("$", "a")) == []


def test_fits_are_found_by_what_they_were_forked_from(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1"))
        uow.fits.add(a_fit("fit_2", origin={"fit": "fit_1", "step": 3}))
        uow.fits.add(a_fit("fit_3", origin={"fit": None, "step": 0}))
        assert [fit.id for fit in uow.fits.list(PageRequest(), origin="fit_1").items] == ["fit_2"]
        assert uow.fits.list(PageRequest(), origin="fit_2").items == ()


def test_narrowed_lists_page_too(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for number in range(6):
            uow.fits.add(a_fit(f"fit_{number}", labels={"parity": "odd" if number % 2 else "even"}))
        first = uow.fits.list(PageRequest(2), Filters(label=("parity", "odd")))
        assert [fit.id for fit in first.items] == ["fit_5", "fit_3"]
        second = uow.fits.list(PageRequest(2, first.next_cursor), Filters(label=("parity", "odd")))
        assert ([fit.id for fit in second.items], second.next_cursor) == (["fit_1"], None)


def test_fits_are_counted_by_state(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for number, state in enumerate([FitState.QUEUED, FitState.QUEUED, FitState.RUNNING, FitState.FAILED]):
            uow.fits.add(a_fit(f"fit_{number}", state=state))
        counts = uow.fits.count_by_state()
        assert set(counts) == set(FitState)
        assert {state: count for state, count in counts.items() if count} == {"queued": 2, "running": 1, "failed": 1}
        assert uow.fits.count(TERMINAL) == 1
        assert uow.fits.count([FitState.QUEUED, FitState.RUNNING]) == 3


def test_unfinished_fits_are_those_that_are_not_terminal(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for state in FitState:
            uow.fits.add(a_fit(f"fit_{state}", state=state))
        unfinished = uow.fits.unfinished()
    assert {fit.state for fit in unfinished} == set(FitState) - TERMINAL
    assert [fit.id for fit in unfinished] == sorted(fit.id for fit in unfinished)


def test_what_is_not_there_is_not_found(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        for call in (uow.fits.get, uow.fits.delete, lambda fit_id: uow.fits.update(a_fit(fit_id))):
            with pytest.raises(NotFound, match="fit_9"):
                call("fit_9")


def test_variants_are_neither_claimed_nor_counted_nor_listed_beside_other_fits(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1", sweep={"kind": "grid"}))
        for number in (2, 3):
            uow.fits.add(a_fit(f"fit_{number}", parent_id="fit_1", priority=9, variant={"index": number}))
        uow.fits.add(a_fit("fit_4"))
        assert uow.fits.count([FitState.QUEUED]) == uow.fits.count_by_state()[FitState.QUEUED] == 2
        claimed = [uow.queue.claim(), uow.queue.claim(), uow.queue.claim()]
        assert [fit and fit.id for fit in claimed] == ["fit_1", "fit_4", None]
        page = PageRequest(order="asc")
        assert [fit.id for fit in uow.fits.list(page).items] == ["fit_1", "fit_4"]
        assert [fit.id for fit in uow.fits.list(page, parent="fit_1").items] == ["fit_2", "fit_3"]
        assert uow.fits.list(page, parent="fit_4").items == ()
        assert [fit.id for fit in uow.fits.variants("fit_1")] == ["fit_2", "fit_3"]
        standings = uow.fits.standings("fit_1")
        assert [(each.fit_id, each.state, each.variant) for each in standings] == [
            ("fit_2", FitState.QUEUED, {"index": 2}),
            ("fit_3", FitState.QUEUED, {"index": 3}),
        ]


def test_variants_are_deleted_with_their_sweep(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1", sweep={}))
        uow.fits.add(a_fit("fit_2", parent_id="fit_1"))
        uow.fits.add(a_fit("fit_3"))
        uow.events.append("fit_2", "log", "{}")
        uow.fits.delete("fit_1")
        assert [fit.id for fit in uow.fits.unfinished()] == ["fit_3"]
        assert uow.events.last_seq("fit_2") == 0


def test_only_fits_that_wait_beyond_their_deadline_are_overdue(store: Store, a_fit: AFit) -> None:
    waiting = (FitState.QUEUED, FitState.PAUSED, FitState.INTERRUPTED)
    with store.begin() as uow:
        passed, ahead = uow.now - timedelta(hours=1), uow.now + timedelta(hours=1)
        for state in FitState:
            finished_at = uow.now if state in TERMINAL else None
            for name, deadline in (("passed", passed), ("ahead", ahead), ("none", None)):
                fit_id = f"fit_{state}_{name}"
                uow.fits.add(a_fit(fit_id, state=state, deadline_at=deadline, finished_at=finished_at))
        uow.fits.add(a_fit("fit_variant", parent_id="fit_queued_none", deadline_at=passed))
        uow.fits.add(a_fit("fit_now", deadline_at=uow.now))
        overdue = [fit.id for fit in uow.fits.overdue()]
        assert overdue[-1] == "fit_now"
        assert sorted(overdue[:-1]) == sorted(f"fit_{state}_passed" for state in waiting)
        assert uow.fits.next_deadline() == ahead


def test_without_deadlines_there_is_no_next_one(store: Store, a_fit: AFit) -> None:
    with store.begin() as uow:
        uow.fits.add(a_fit())
        assert uow.fits.next_deadline() is None
        assert uow.fits.overdue() == ()


@pytest.mark.sqlite
def test_deadlines_are_read_from_their_index(store: Store, a_fit: AFit) -> None:
    statements: list[str] = []
    driver = store._database.connection.connection.driver_connection
    assert driver is not None
    with store.begin() as uow:
        uow.fits.add(a_fit())
        driver.set_trace_callback(statements.append)
        uow.fits.overdue()
        uow.fits.next_deadline()
        driver.set_trace_callback(None)
    assert len(statements) == 2
    for statement in statements:
        plan = [row[-1] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert [re.match(r"SEARCH fits USING INDEX ix_fits_deadline_at", step) is not None for step in plan] == [True]
