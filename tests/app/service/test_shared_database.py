"""Several servers on one database: each answers with what another one has changed, though it was not notified."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import engine
from app.domain.errors import SessionElsewhere, StepRefused
from app.domain.fit import FitState
from app.domain.servers import GONE_SECONDS, ServerStatus
from app.service.fits.fits import Fits
from app.service.fits.metrics import Metrics, RowFilter
from app.service.resources.blobs import BlobSweeper
from app.service.sessions.ownership import SharedOwnership
from app.store.blobs.local import LocalBlobStore
from app.store.servers import Servers
from app.store.unit_of_work import Store
from tests.support.fits import fit_record
from tests.support.manual_clock import ManualClock
from tests.support.sessions_harness import opened

MOMENT = datetime(2026, 2, 3, tzinfo=UTC)


@pytest.fixture(autouse=True)
def other(store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return the store of another server, whose notifications do not arrive."""
    monkeypatch.setattr(store.database, "is_shared", True)
    return Store(store.database, clock)


def test_a_fit_is_shown_as_another_server_has_left_it(fits: Fits, other: Store, request_: dict[str, Any]) -> None:
    fit_id = fits.submit(request_, lambda _work, _fit: None).fit.id
    assert fits.get(fit_id).fit.state is FitState.QUEUED
    with other.begin() as work:
        work.fits.update(work.fits.get(fit_id).to(FitState.CANCELLED))
    assert fits.cached(fit_id) is None
    assert fits.get(fit_id).fit.state is FitState.CANCELLED
    assert asyncio.run(fits.wait(fit_id, seconds=0)).fit.terminal


def test_rows_that_another_server_has_stored_are_found(store: Store, other: Store) -> None:
    metrics = Metrics(store)
    rows = [(seq, engine.MetricRow(seq, seq, 1, "train", {"loss": 0.5}).to_json()) for seq in range(1, 4)]
    with other.begin() as work:
        work.fits.add(
            fit_record("fit_1", FitState.RUNNING, phase="training", attempt=1, created_at=MOMENT, started_at=MOMENT)
        )
        work.events.append_metrics("fit_1", rows[:1])
    assert asyncio.run(metrics.last("fit_1")) == 1
    with other.begin() as work:
        work.events.append_metrics("fit_1", rows[1:])
    assert metrics.known_last("fit_1") is None
    assert asyncio.run(metrics.last("fit_1")) == 3
    assert metrics.page("fit_1", 0, 10, RowFilter()).last_seq == 3


def test_no_step_is_taken_of_a_session_that_another_server_has_closed(
    store: Store, other: Store, blobs: LocalBlobStore, sweeper: BlobSweeper, clock: ManualClock, tmp_path: Any
) -> None:
    harness = opened(store, blobs, sweeper, clock, tmp_path)
    session = harness.create()
    harness.run(session.id)
    with other.begin() as work:
        known = work.sessions.get(session.id)
        work.sessions.update(replace(known, state=type(known.state).PAUSED))
    with pytest.raises(StepRefused):
        harness.run(session.id)
    assert len(harness.worker_pool.steps) == 1


@pytest.mark.parametrize("change", ["close", "pause", "resume"])
def test_a_session_that_another_server_runs_is_changed_by_that(
    change: str,
    store: Store,
    other: Store,
    blobs: LocalBlobStore,
    sweeper: BlobSweeper,
    clock: ManualClock,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = opened(store, blobs, sweeper, clock, tmp_path)
    harness.use._ownership = SharedOwnership("srv_here", harness.sessions._files)
    session = harness.create()
    with other.begin() as work:
        work.sessions.update(replace(work.sessions.get(session.id), server="srv_there"))

    def last_heard_of(seconds: float) -> None:
        there = ServerStatus("srv_there", "http://there", "1", seconds, leads=False)
        monkeypatch.setattr(Servers, "list", lambda _: (there,))

    last_heard_of(seconds=1)
    act = getattr(harness.sessions, change)
    with pytest.raises(SessionElsewhere, match="srv_there"):
        asyncio.run(act(session.id))
    assert not harness.worker_pool.ended
    last_heard_of(seconds=GONE_SECONDS)
    asyncio.run(act(session.id))
