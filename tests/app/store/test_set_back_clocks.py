"""A clock that is set back: what is written down about one thing stays in order, and so do lists."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from app.domain import ids
from app.domain.clock import ManualClock
from app.domain.fit import FitRecord, FitState
from app.domain.session import SessionRecord, SessionState
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

HOUR = 3600.0


def test_moments_of_a_fit_and_of_its_attempts_never_go_back(
    store: Store, clock: ManualClock, a_fit: Callable[..., FitRecord]
) -> None:
    with store.begin() as work:
        work.fits.add(a_fit(created_at=work.now))
    for number in (1, 2):
        clock.advance(-HOUR)
        with store.begin() as work:
            work.attempts.start("fit_1", number, f"token {number}")
            fit = work.fits.get("fit_1")
            work.fits.update(replace(fit, started_at=fit.started_at or work.now))
        clock.advance(-HOUR)
        with store.begin() as work:
            work.attempts.end("fit_1", number, "killed") if number == 1 else work.attempts.end_open("fit_1", "killed")
    with store.begin() as work:
        work.fits.update(replace(work.fits.get("fit_1"), state=FitState.CANCELLED, finished_at=work.now))
        fit, attempts = work.fits.get("fit_1"), work.attempts.for_fit("fit_1")
    assert fit.started_at is not None
    assert fit.finished_at is not None
    assert fit.created_at <= fit.started_at <= fit.finished_at
    moments = [moment for attempt in attempts for moment in (attempt.started_at, attempt.ended_at)]
    assert moments == sorted(moments, key=lambda moment: moment or clock.now())


def test_a_session_does_not_end_before_it_began(store: Store, a_session: Callable[..., SessionRecord]) -> None:
    session = a_session()
    with store.begin() as work:
        work.sessions.add(session)
        early = session.created_at - timedelta(hours=1)
        work.sessions.update(replace(session, state=SessionState.CLOSED, finished_at=early))
        assert work.sessions.get(session.id).finished_at == session.created_at


def test_lists_go_on_in_order_after_a_start_with_a_clock_that_was_set_back(
    tmp_path: Path, store: Store, a_fit: Callable[..., FitRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ids.IdSource(lambda: 4_000_000_000_000).new("fit")
    with store.begin() as work:
        work.fits.add(a_fit(before))
    store.close()
    monkeypatch.setattr(ids, "_PROCESS", ids.IdSource())
    with Store.open(tmp_path) as again, again.begin() as work:
        after = ids.new_id("fit")
        work.fits.add(a_fit(after))
        assert [fit.id for fit in work.fits.list(PageRequest()).items] == [after, before]
