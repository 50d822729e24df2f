import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from app.domain.errors import Conflict, NotFound
from app.domain.fit import FitState
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord
from app.service.fits.control import FitControl
from app.service.fits.fits import Fits
from app.service.fits.retention import BATCH, Retention, RetentionPolicy
from app.service.resources.blobs import BlobSweeper
from app.service.resources.notifier import Notifier
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock

Enforce = Callable[..., Retention]


@pytest.fixture
def enforce(store: Store, sweeper: BlobSweeper, notifier: Notifier, clock: ManualClock) -> Enforce:
    """Enforce terms once, and return what did."""

    def run(days: float | None = None, fits: int | None = None) -> Retention:
        retention = Retention(store, sweeper, notifier, RetentionPolicy(days, fits), clock)
        retention.enforce()
        return retention

    return run


@pytest.fixture
def ended(
    fits: Fits, control: FitControl, store: Store, blobs: LocalBlobStore, clock: ManualClock, request_: dict[str, Any]
) -> Callable[[], str]:
    """Return how to make a fit that has ended just now, with a checkpoint; a minute goes by."""

    def make() -> str:
        fit = fits.submit(request_, lambda _work, _fit: None).fit
        control.cancel(fit.id)
        blob = blobs.put(fit.id.encode())
        checkpoint = CheckpointRecord(
            new_id("ckpt"), fit.id, fit.graph_id, 1, 1, blob.digest, blob.size, {}, clock.now(), False, False
        )
        with store.begin() as work:
            work.checkpoints.add(checkpoint)
        clock.advance(60)
        return fit.id

    return make


def left(store: Store, fit_ids: list[str]) -> list[str]:
    found = []
    for fit_id in fit_ids:
        try:
            with store.begin() as work:
                work.fits.get(fit_id)
        except NotFound:
            continue
        found.append(fit_id)
    return found


def test_nothing_is_deleted_unless_asked_for(store: Store, enforce: Enforce, ended: Callable[[], str]) -> None:
    created = [ended()]
    assert enforce().deleted == 0
    assert left(store, created) == created


def test_what_is_too_old_goes_with_its_blobs_and_is_reported_once(
    store: Store,
    blobs: LocalBlobStore,
    enforce: Enforce,
    ended: Callable[[], str],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "app.service.fits.retention")
    old = [ended(), ended()]
    clock.advance(timedelta(days=2).total_seconds())
    young = ended()
    assert enforce(days=1.0).deleted == 2
    assert left(store, [*old, young]) == [young]
    with store.begin() as work:
        assert {*blobs.digests()} == {checkpoint.digest for checkpoint in work.checkpoints.kept(young)}
    (record,) = caplog.records
    assert (vars(record)["count"], vars(record)["fits"]) == (2, old)
    enforce(days=1.0)
    assert len(caplog.records) == 1


def test_more_than_a_batch_goes_in_one_go(store: Store, enforce: Enforce, ended: Callable[[], str]) -> None:
    created = [ended() for _ in range(BATCH + 3)]
    retention = enforce(fits=2)
    assert left(store, created) == created[-2:]
    assert retention.deleted == BATCH + 1


def test_a_server_that_stops_does_not_wait_for_it(
    store: Store, enforce: Enforce, ended: Callable[[], str], notifier: Notifier
) -> None:
    created = [ended()]
    notifier.close()
    assert enforce(fits=0).deleted == 0
    assert left(store, created) == created


def test_a_pinned_checkpoint_keeps_its_fit_from_everybody(
    store: Store, fits: Fits, enforce: Enforce, ended: Callable[[], str]
) -> None:
    created = ended()
    with store.begin() as work:
        (checkpoint,) = work.checkpoints.kept(created)
        work.checkpoints.pin(checkpoint.id, pinned=True)
    assert enforce(fits=0).deleted == 0
    with pytest.raises(Conflict) as caught:
        fits.delete(created)
    assert caught.value.code == "pinned"
    assert checkpoint.id in caught.value.detail
    with store.begin() as work:
        work.checkpoints.pin(checkpoint.id, pinned=False)
    assert fits.get(created).fit.state is FitState.CANCELLED
    assert enforce(fits=0).deleted == 1
