from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta

import pytest

from app.domain.fit import FitRecord, FitState, Origin
from app.domain.records import CheckpointRecord
from app.store.unit_of_work import Store

from .conftest import MOMENT

AFit = Callable[..., FitRecord]
ACheckpoint = Callable[..., CheckpointRecord]


@pytest.fixture
def ended(store: Store, a_fit: AFit) -> Store:
    """Return a store with fit_1 to fit_5, which ended a day after one another, in that order."""
    with store.begin() as work:
        for day in (3, 1, 5, 2, 4):
            state = (FitState.SUCCEEDED, FitState.FAILED, FitState.CANCELLED)[day % 3]
            work.fits.add(a_fit(f"fit_{day}", state=state, finished_at=MOMENT + timedelta(days=day)))
    return store


def expired(store: Store, days: float | None = None, newest: int | None = None, limit: int = 100) -> list[str]:
    before = None if days is None else MOMENT + timedelta(days=days)
    with store.begin() as work:
        return [fit_id.removeprefix("fit_") for fit_id in work.retention.expired(before, newest, limit)]


def change(store: Store, fit: FitRecord) -> None:
    with store.begin() as work:
        work.fits.update(fit)


BOUNDS: dict[str, tuple[dict[str, int], list[str]]] = {
    "no bound": ({}, []),
    "an age": ({"days": 3}, ["1", "2"]),
    "a number": ({"newest": 2}, ["1", "2", "3"]),
    "a number of none": ({"newest": 0}, ["1", "2", "3", "4", "5"]),
    "a number that is not reached": ({"newest": 5}, []),
    "both": ({"days": 2, "newest": 4}, ["1"]),
    "the first few": ({"newest": 0, "limit": 2}, ["1", "2"]),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_fits_expire_in_the_order_in_which_they_ended(ended: Store, bound: str) -> None:
    bounds, gone = BOUNDS[bound]
    assert expired(ended, **bounds) == gone


def test_a_fit_that_goes_on_never_expires_and_does_not_count(ended: Store, a_fit: AFit) -> None:
    with ended.begin() as work:
        for state in FitState:
            work.fits.add(a_fit(f"fit_{state}", state=state, finished_at=MOMENT))
    assert expired(ended, newest=5) == ["cancelled", "failed", "succeeded"]


def keep_by_label(store: Store, fit: FitRecord, a_fit: AFit, a_checkpoint: ACheckpoint) -> None:
    change(store, a_fit(fit.id, state=fit.state, finished_at=fit.finished_at, labels={"keep": "true", "team": "a"}))


def keep_by_pin(store: Store, fit: FitRecord, a_fit: AFit, a_checkpoint: ACheckpoint) -> None:
    with store.begin() as work:
        work.checkpoints.add(a_checkpoint(fit_id=fit.id, pinned=True))


def keep_by_fork(store: Store, fit: FitRecord, a_fit: AFit, a_checkpoint: ACheckpoint) -> None:
    origin = asdict(Origin("ckpt_1", fit.id, 3, "e" * 64, "all", "ckpt_2"))
    with store.begin() as work:
        work.fits.add(a_fit("fit_fork", origin=origin))


KEEPING = (keep_by_label, keep_by_pin, keep_by_fork)


@pytest.mark.parametrize("keep", KEEPING)
def test_a_fit_that_is_wanted_never_expires_and_does_not_count(
    ended: Store, a_fit: AFit, a_checkpoint: ACheckpoint, keep: Callable[..., None]
) -> None:
    with ended.begin() as work:
        fit = work.fits.get("fit_4")
    keep(ended, fit, a_fit, a_checkpoint)
    assert expired(ended, newest=2) == ["1", "2"]
    assert expired(ended, newest=0) == ["1", "2", "3", "5"]


@pytest.mark.parametrize("keep", KEEPING)
def test_a_sweep_is_kept_for_one_of_its_variants(
    ended: Store, a_fit: AFit, a_checkpoint: ACheckpoint, keep: Callable[..., None]
) -> None:
    with ended.begin() as work:
        for name in ("variant_a", "variant_b"):
            work.fits.add(a_fit(name, state=FitState.SUCCEEDED, finished_at=MOMENT, parent_id="fit_1"))
    assert expired(ended, newest=4) == ["1"], "variants do not expire by themselves"
    with ended.begin() as work:
        variant = work.fits.get("variant_b")
    keep(ended, variant, lambda name, **changes: a_fit(name, parent_id="fit_1", **changes), a_checkpoint)
    assert expired(ended, newest=4) == []


def test_what_no_longer_counts_as_a_reason_is_none(ended: Store, a_fit: AFit, a_checkpoint: ACheckpoint) -> None:
    origin = asdict(Origin("ckpt_1", "fit_2", 3, "e" * 64, "all", "ckpt_2"))
    with ended.begin() as work:
        work.checkpoints.add(a_checkpoint(fit_id="fit_1", pinned=True, deleted=True))
        work.fits.add(a_fit("fit_9", origin=origin, state=FitState.FAILED, finished_at=MOMENT + timedelta(days=9)))
    assert expired(ended, newest=4) == ["1", "2"]
