import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import engine
from app.blobs.local import LocalBlobStore
from app.domain.clock import ManualClock
from app.domain.errors import Conflict, Draining, Invalid, NotFound, PreconditionFailed, QueueFull, TooLarge
from app.domain.fit import FitState
from app.service import admission
from app.service.datasets import Datasets
from app.service.fits import Fits, FitView
from app.service.wakes import Wakes
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

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


def test_a_fit_is_queued_with_all_it_brings(fits: Fits, store: Store, workforce: Any, clock: ManualClock) -> None:
    fit = fits.submit({**INLINE, "labels": {"a": "b"}, "resources": {"priority": "high"}}, nothing).fit
    assert (fit.state, fit.total_steps, fit.labels, fit.priority) == (FitState.QUEUED, 8, {"a": "b"}, 1)
    assert (fit.created_at, fit.attempts_max) == (clock.now(), 4)
    assert workforce.woken == 1
    assert [(kind, body["state"]) for kind, body in events(store, fit.id)] == [("state", "queued")]
    with store.begin() as work:
        assert work.graphs.get(fit.graph_id).definition["parameters"]
        assert work.datasets.get(fit.dataset_id).rows == 3
    again = fits.submit({**INLINE, "graph": fit.graph_id, "dataset": fit.dataset_id}, nothing).fit
    assert (again.graph_id, again.dataset_id) == (fit.graph_id, fit.dataset_id)


def test_a_refused_fit_leaves_nothing(fits: Fits, blobs: LocalBlobStore, store: Store, workforce: Any) -> None:
    with pytest.raises(Invalid):
        fits.submit({**INLINE, "feeds": {"x": "z"}}, nothing)
    assert not [*blobs.digests()]
    assert not fits.list(PageRequest(), None, None).items
    assert not workforce.woken
    with store.begin() as work:
        assert not work.graphs.list(PageRequest()).items


def test_a_fit_larger_than_the_machine_is_refused_with_the_sum(
    submit: Submit, fits: Fits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "memory_budget", lambda: 1000)
    with pytest.raises(TooLarge, match="plan_bytes") as caught:
        submit()
    assert (caught.value.limit, caught.value.code) == (1000, "memory_exceeded")


def test_the_queue_has_an_end(submit: Submit) -> None:
    for _ in range(3):
        submit()
    with pytest.raises(QueueFull):
        submit()


def test_a_stopping_server_takes_no_fits(submit: Submit, wakes: Wakes) -> None:
    wakes.close()
    with pytest.raises(Draining):
        submit()


def test_a_waiting_fit_is_cancelled_at_once(
    submit: Submit, fits: Fits, store: Store, workforce: Any, clock: ManualClock
) -> None:
    fit_id = submit()
    fit = fits.cancel(fit_id).fit
    assert (fit.state, fit.finished_at) == (FitState.CANCELLED, fit.created_at)
    assert not workforce.cancelled
    told = [(kind, body["state"]) for kind, body in events(store, fit_id)]
    assert told == [("state", "queued"), ("state", "cancelled"), ("end", "cancelled")]
    assert fits.cancel(fit_id).fit == fit
    assert len(events(store, fit_id)) == 3


def test_the_process_of_a_running_fit_is_told_to_stop(submit: Submit, fits: Fits, store: Store, workforce: Any) -> None:
    fit_id = submit()
    begun(store, fit_id)
    assert fits.cancel(fit_id).fit.state is FitState.CANCELLING
    assert fits.cancel(fit_id).fit.state is FitState.CANCELLING
    assert workforce.cancelled == [fit_id]


def test_what_has_ended_is_not_cancelled(submit: Submit, fits: Fits, store: Store) -> None:
    fit_id = submit()
    begun(store, fit_id)
    with store.begin() as work:
        work.fits.update(work.fits.get(fit_id).to(FitState.SUCCEEDED))
    with pytest.raises(Conflict, match="succeeded"):
        fits.cancel(fit_id)


def test_the_time_left_is_told_by_the_pace_so_far(submit: Submit, fits: Fits, store: Store, clock: ManualClock) -> None:
    fit_id = submit()
    begun(store, fit_id)
    assert fits.get(fit_id).eta_seconds is None
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(fit_id), step=2))
    clock.advance(10)
    assert fits.get(fit_id).eta_seconds == 30


def test_what_a_fit_validates_on_is_not_deleted_before_it_ends(
    submit: Submit, fits: Fits, datasets: Datasets, store: Store
) -> None:
    rows = fits.submit(INLINE, nothing).fit
    fits.cancel(rows.id)
    fit_id = submit(validation={"dataset": rows.dataset_id})
    with pytest.raises(Conflict, match="used by a fit"):
        datasets.delete(rows.dataset_id)
    fits.cancel(fit_id)
    datasets.delete(rows.dataset_id)


def test_labels_are_merged_unless_the_fit_has_changed(submit: Submit, fits: Fits) -> None:
    fit_id = submit(labels={"a": "1", "b": "2"})
    assert fits.label(fit_id, {"a": None, "c": "3"}, anything).fit.labels == {"b": "2", "c": "3"}

    def refuse(_view: FitView) -> None:
        raise PreconditionFailed("changed")

    with pytest.raises(PreconditionFailed):
        fits.label(fit_id, {"b": None}, refuse)
    with pytest.raises(Invalid, match="64"):
        fits.label(fit_id, {str(key): "" for key in range(70)}, anything)
    assert fits.get(fit_id).fit.labels == {"b": "2", "c": "3"}


def test_only_a_terminal_fit_is_deleted(submit: Submit, fits: Fits) -> None:
    fit_id = submit()
    with pytest.raises(Conflict, match="queued"):
        fits.delete(fit_id)
    fits.cancel(fit_id)
    fits.delete(fit_id)
    with pytest.raises(NotFound):
        fits.get(fit_id)


def test_a_wait_ends_with_the_fit_with_a_change_or_with_its_time(submit: Submit, fits: Fits) -> None:
    fit_id = submit()

    async def wait() -> None:
        assert (await fits.wait(fit_id, seconds=0.05)).fit.state is FitState.QUEUED
        assert (await fits.wait(fit_id, seconds=10, news=lambda view: view.fit.version == 1)).fit.version == 1
        change = asyncio.create_task(fits.wait(fit_id, seconds=10, any_change=True))
        end = asyncio.create_task(fits.wait(fit_id, seconds=10))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(fits.label, fit_id, {"a": "b"}, anything)
        assert (await change).fit.labels == {"a": "b"}
        assert not end.done()
        await asyncio.to_thread(fits.cancel, fit_id)
        assert (await end).fit.terminal

    asyncio.run(wait())


def test_a_native_fit_is_refused_where_only_numpy_computes(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "executors", lambda: ("numpy",))
    with pytest.raises(Invalid) as caught:
        submit(resources={"executor": "native"})
    (fault,) = caught.value.findings
    assert (fault.pointer, fault.code) == ("/resources/executor", "extra_missing")
    assert "pip install 'adjoint[fast]'" in fault.detail
