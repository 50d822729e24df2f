import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import engine
from app.domain.clock import rfc3339
from app.domain.errors import Conflict, Draining, Invalid, NotFound, QueueFull, TooLarge
from app.domain.fit import FitState
from app.service.fits.control import FitControl
from app.service.fits.fits import Fits
from app.service.fits.revision import FitRevision
from app.service.fits.view import FitView
from app.service.resources.datasets import Datasets
from app.service.resources.notifier import Notifier
from app.store.blobs.local import LocalBlobStore
from app.store.pages import PageRequest
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE

INLINE: dict[str, Any] = {
    "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
    "dataset": {"columns": {"x": [1, 2, 3.5]}},
    "epochs": 4,
    "batch_size": 2,
}

Submit = Callable[..., str]


@pytest.fixture
def submit(fits: Fits, request_: dict[str, Any]) -> Submit:
    """Queue a fit and return its id."""
    return lambda **changes: fits.submit({**request_, **changes}, nothing).fit.id


def nothing(_work: Any, _thing: Any) -> None:
    """Keep nothing."""


def anything(_view: FitView) -> None:
    """Let every version pass."""


def begun(store: Store, fit_id: str) -> None:
    """Do what a supervisor does until a process is at work."""
    with store.begin() as work:
        fit = work.queue.claim()
        assert fit is not None
        assert fit.id == fit_id
        work.attempts.start(fit.id, fit.attempt, "token")
        work.fits.update(fit.to(FitState.RUNNING, phase="training"))


def events(store: Store, fit_id: str) -> list[tuple[str, Any]]:
    with store.begin() as work:
        return [(event.kind, json.loads(event.body)) for event in work.events.after(fit_id, 0, 100)]


def test_a_fit_is_queued_with_all_it_brings(fits: Fits, store: Store, worker_pool: Any, clock: ManualClock) -> None:
    fit = fits.submit({**INLINE, "labels": {"a": "b"}, "resources": {"priority": "high"}}, nothing).fit
    assert (fit.state, fit.total_steps, fit.labels, fit.priority) == (FitState.QUEUED, 8, {"a": "b"}, 1)
    assert (fit.created_at, fit.attempts_max) == (clock.now(), 4)
    assert worker_pool.woken == 1
    assert [(kind, body["state"]) for kind, body in events(store, fit.id)] == [("state", "queued")]
    with store.begin() as work:
        assert work.graphs.get(fit.graph_id).definition["parameters"]
        assert work.datasets.get(fit.dataset_id).rows == 3
    again = fits.submit({**INLINE, "graph": fit.graph_id, "dataset": fit.dataset_id}, nothing).fit
    assert (again.graph_id, again.dataset_id) == (fit.graph_id, fit.dataset_id)


def test_a_refused_fit_leaves_nothing(fits: Fits, blobs: LocalBlobStore, store: Store, worker_pool: Any) -> None:
    with pytest.raises(Invalid):
        fits.submit({**INLINE, "feeds": {"x": "z"}}, nothing)
    assert not [*blobs.digests()]
    assert not fits.list(PageRequest()).items
    assert not worker_pool.woken
    with store.begin() as work:
        assert not work.graphs.list(PageRequest()).items


def test_a_fit_larger_than_the_machine_is_refused_with_the_sum(
    submit: Submit, fits: Fits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.service.resources.memory.memory_budget", lambda: 1000)
    with pytest.raises(TooLarge, match="plan_bytes") as caught:
        submit()
    assert (caught.value.extensions["limit"], caught.value.code) == (1000, "memory_exceeded")


def test_more_captured_gradients_than_the_server_keeps_are_refused_with_the_sum(submit: Submit) -> None:
    # 8 steps, each of them a file of one number of 4 bytes; 64 KiB are kept.
    submit(record={"gradients": {"every_steps": 1}})
    with pytest.raises(TooLarge, match="16 steps") as caught:
        submit(epochs=8, record={"gradients": {"every_steps": 1}})
    assert (caught.value.extensions["limit"], caught.value.code) == (64 * 1024, "gradients_exceeded")
    assert [finding.pointer for finding in caught.value.findings] == ["/record/gradients"]


def test_each_variant_of_a_sweep_may_capture_as_much_as_a_fit(submit: Submit) -> None:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.01]}}
    submit(sweep=sweep, record={"gradients": {"every_steps": 1}})
    with pytest.raises(TooLarge, match="16 steps"):
        submit(sweep=sweep, epochs=8, record={"gradients": {"every_steps": 1}})


def test_the_queue_has_an_end(submit: Submit) -> None:
    for _ in range(3):
        submit()
    with pytest.raises(QueueFull):
        submit()


def test_a_stopping_server_takes_no_fits(submit: Submit, notifier: Notifier) -> None:
    notifier.close()
    with pytest.raises(Draining):
        submit()


def test_the_time_left_is_reported_by_the_pace_so_far(submit: Submit, fits: Fits, store: Store) -> None:
    fit_id = submit()
    begun(store, fit_id)
    assert fits.get(fit_id).eta_seconds is None
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(fit_id), step=2, seconds=10.0))
    assert fits.get(fit_id).eta_seconds == 30


def test_a_fit_that_nobody_changes_is_read_once_and_a_changed_one_again(
    submit: Submit, fits: Fits, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_id = submit()
    first = fits.get(fit_id)
    with monkeypatch.context() as patched:
        patched.setattr(store, "begin", None)
        assert fits.get(fit_id) == first
        assert asyncio.run(fits.wait(fit_id, seconds=0)) == first
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(fit_id), labels={"a": "b"}))
    assert fits.get(fit_id).fit.labels == {"a": "b"}
    begun(store, fit_id)
    assert asyncio.run(fits.wait(fit_id, seconds=0)).fit.state is FitState.RUNNING
    with store.begin() as work:
        work.fits.update(work.fits.get(fit_id).to(FitState.FAILED))
    assert fits.get(fit_id).fit.terminal
    fits.delete(fit_id)
    with pytest.raises(NotFound):
        fits.get(fit_id)


def test_what_a_fit_validates_on_is_not_deleted_before_it_ends(
    submit: Submit, fits: Fits, control: FitControl, datasets: Datasets
) -> None:
    rows = fits.submit(INLINE, nothing).fit
    control.cancel(rows.id)
    fit_id = submit(validation={"dataset": rows.dataset_id})
    with pytest.raises(Conflict, match="used by a fit"):
        datasets.delete(rows.dataset_id)
    control.cancel(fit_id)
    datasets.delete(rows.dataset_id)


def test_only_a_terminal_fit_is_deleted(submit: Submit, fits: Fits, control: FitControl) -> None:
    fit_id = submit()
    with pytest.raises(Conflict, match="queued"):
        fits.delete(fit_id)
    control.cancel(fit_id)
    fits.delete(fit_id)
    with pytest.raises(NotFound):
        fits.get(fit_id)


def test_a_wait_ends_with_the_fit_with_a_change_or_with_its_time(
    submit: Submit, fits: Fits, control: FitControl, revision: FitRevision
) -> None:
    fit_id = submit()

    async def wait() -> None:
        assert (await fits.wait(fit_id, seconds=0.05)).fit.state is FitState.QUEUED
        assert (await fits.wait(fit_id, seconds=PATIENCE, changed=lambda view: view.fit.version == 1)).fit.version == 1
        change = asyncio.create_task(fits.wait(fit_id, seconds=PATIENCE, any_change=True))
        end = asyncio.create_task(fits.wait(fit_id, seconds=PATIENCE))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(revision.update, fit_id, {"labels": {"a": "b"}}, anything, dict)
        assert (await change).fit.labels == {"a": "b"}
        assert not end.done()
        await asyncio.to_thread(control.cancel, fit_id)
        assert (await end).fit.terminal

    asyncio.run(wait())


def test_a_native_fit_is_refused_where_only_numpy_computes(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "executors", lambda: ("numpy",))
    with pytest.raises(Invalid) as caught:
        submit(resources={"executor": "native"})
    (fault,) = caught.value.findings
    assert (fault.pointer, fault.code) == ("/resources/executor", "extra_missing")
    assert "pip install 'adjoint-server[fast]'" in fault.detail


def test_a_fit_may_wait_to_be_resumed(submit: Submit, fits: Fits, store: Store) -> None:
    fit_id = submit(start_paused=True)
    assert fits.get(fit_id).fit.state is FitState.PAUSED
    with store.begin() as work:
        assert work.queue.claim() is None
    assert [body["state"] for _, body in events(store, fit_id)] == ["paused"]


def test_a_fit_keeps_its_deadline_and_whose_turn_it_shares(submit: Submit, fits: Fits, clock: ManualClock) -> None:
    deadline = rfc3339(clock.now() + timedelta(seconds=60))
    fit = fits.get(submit(resources={"deadline": deadline}, labels={"team": "blue"})).fit
    assert (fit.deadline_at, fit.share) == (clock.now() + timedelta(seconds=60), "blue")
    assert fits.get(submit()).fit.share == ""


def test_a_deadline_that_has_passed_is_refused(submit: Submit, clock: ManualClock) -> None:
    with pytest.raises(Invalid) as caught:
        submit(resources={"deadline": rfc3339(clock.now())})
    assert [finding.pointer for finding in caught.value.findings] == ["/resources/deadline"]


def test_only_a_sweep_as_a_whole_waits_to_be_resumed_and_has_a_deadline(
    submit: Submit, store: Store, clock: ManualClock
) -> None:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2]}}
    deadline = rfc3339(clock.now() + timedelta(seconds=60))
    fit_id = submit(optimizer={"kind": "sgd"}, sweep=sweep, start_paused=True, resources={"deadline": deadline})
    with store.begin() as work:
        fit, variants = work.fits.get(fit_id), work.fits.variants(fit_id)
    assert (fit.state, [variant.state for variant in variants]) == ("paused", ["queued"] * 2)
    assert fit.deadline_at is not None
    assert [variant.deadline_at for variant in variants] == [None, None]
