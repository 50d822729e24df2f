"""What clients ask of fits, at every stage: what comes of it, and that there is one end whatever comes together."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from app.domain.clock import rfc3339
from app.domain.errors import Conflict, QueueFull
from app.domain.fit import FitState
from app.service.fits.control import FitControl
from app.service.fits.fits import Fits
from app.service.fits.revision import Extension, FitRevision
from app.service.fits.view import FitView
from app.service.resources.datasets import Datasets
from app.store.unit_of_work import Store
from tests.app.service.conftest import IdleWorkerPool
from tests.app.service.stages import WAYS, bring, read_journal
from tests.support.manual_clock import ManualClock


def nothing(*_seen: object) -> None:
    """Keep nothing, and let everything pass."""


@dataclass(frozen=True)
class ControlHarness:
    """Where clients ask."""

    control: FitControl
    revision: FitRevision

    def update(self, fit_id: str, changes: dict[str, Any]) -> FitView:
        return self.revision.update(fit_id, changes, nothing, dict)


ACTIONS: dict[str, Callable[[ControlHarness, str], FitView]] = {
    "cancel": lambda harness, fit_id: harness.control.cancel(fit_id),
    "kill": lambda harness, fit_id: harness.control.kill(fit_id),
    "pause": lambda harness, fit_id: harness.control.pause(fit_id),
    "resume": lambda harness, fit_id: harness.control.resume(fit_id),
    "extend": lambda harness, fit_id: harness.revision.extend(fit_id, Extension("epochs", 1), nothing),
    "adjust": lambda harness, fit_id: harness.update(fit_id, {"clip": {"norm": 1.0}}),
    "label": lambda harness, fit_id: harness.update(fit_id, {"labels": {"a": "b"}}),
}
# By action and stage: the state that follows, or, with a !, the code of the refusal.
EXPECTED: dict[str, dict[str, str]] = {
    "cancel": {
        "queued": "cancelled",
        "starting": "cancelling",
        "running": "cancelling",
        "pausing": "cancelling",
        "paused": "cancelled",
        "cancelling": "cancelling",
        "interrupted": "cancelled",
        "succeeded": "already_terminal!",
        "failed": "already_terminal!",
        "cancelled": "cancelled",
        "killed": "cancelled",
    },
    "kill": {
        "queued": "cancelled",
        "starting": "cancelled",
        "running": "cancelled",
        "pausing": "cancelled",
        "paused": "cancelled",
        "cancelling": "cancelled",
        "interrupted": "cancelled",
        "succeeded": "already_terminal!",
        "failed": "already_terminal!",
        "cancelled": "already_terminal!",
        "killed": "cancelled",
    },
    "pause": {
        "queued": "paused",
        "starting": "pausing",
        "running": "pausing",
        "pausing": "pausing",
        "paused": "paused",
        "cancelling": "cancelling!",
        "interrupted": "paused",
        "succeeded": "already_terminal!",
        "failed": "already_terminal!",
        "cancelled": "already_terminal!",
        "killed": "already_terminal!",
    },
    "resume": {
        "queued": "queued",
        "starting": "starting",
        "running": "running",
        "pausing": "not_paused!",
        "paused": "queued",
        "cancelling": "not_paused!",
        "interrupted": "interrupted",
        "succeeded": "already_terminal!",
        "failed": "queued",
        "cancelled": "queued",
        "killed": "queued",
    },
    "extend": {
        "queued": "not_terminal!",
        "starting": "not_terminal!",
        "running": "not_terminal!",
        "pausing": "not_terminal!",
        "paused": "not_terminal!",
        "cancelling": "not_terminal!",
        "interrupted": "not_terminal!",
        "succeeded": "queued",
        "failed": "queued",
        "cancelled": "queued",
        "killed": "queued",
    },
    "adjust": {
        "queued": "queued",
        "starting": "not_paused!",
        "running": "not_paused!",
        "pausing": "not_paused!",
        "paused": "paused",
        "cancelling": "not_paused!",
        "interrupted": "not_paused!",
        "succeeded": "already_terminal!",
        "failed": "already_terminal!",
        "cancelled": "already_terminal!",
        "killed": "already_terminal!",
    },
    "label": {
        "queued": "queued",
        "starting": "starting",
        "running": "running",
        "pausing": "pausing",
        "paused": "paused",
        "cancelling": "cancelling",
        "interrupted": "interrupted",
        "succeeded": "succeeded",
        "failed": "failed",
        "cancelled": "cancelled",
        "killed": "cancelled",
    },
}


@pytest.fixture
def harness(control: FitControl, revision: FitRevision) -> ControlHarness:
    return ControlHarness(control, revision)


@pytest.fixture
def fit_id(fits: Fits, request_: dict[str, Any]) -> str:
    return fits.submit(request_, nothing).fit.id


@pytest.fixture
def sweep_id(fits: Fits, request_: dict[str, Any]) -> str:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2, 0.3]}}
    return fits.submit({**request_, "optimizer": {"kind": "sgd"}, "sweep": sweep}, nothing).fit.id


@pytest.mark.slow
@pytest.mark.parametrize(("action", "stage"), [*product(ACTIONS, WAYS)])
def test_a_fit_obeys_or_says_why_not_at_every_stage(
    harness: ControlHarness, store: Store, fit_id: str, action: str, stage: str
) -> None:
    before = bring(store, fit_id, stage)
    journal = read_journal(store, fit_id)
    expected = EXPECTED[action][stage]
    if not expected.endswith("!"):
        after = ACTIONS[action](harness, fit_id).fit
        assert after.state == expected
        if after.state is before.state and action not in ("adjust", "label"):
            assert after == before
        if action != "extend":
            # Again: nothing changes, and nothing is refused.
            assert ACTIONS[action](harness, fit_id).fit == after
    else:
        with pytest.raises(Conflict) as caught:
            ACTIONS[action](harness, fit_id)
        assert caught.value.code == expected.rstrip("!")
        with store.begin() as work:
            assert work.fits.get(fit_id) == before
        assert read_journal(store, fit_id) == journal
    kinds = [kind for kind, _ in read_journal(store, fit_id)]
    with store.begin() as work:
        ended = work.fits.get(fit_id).terminal
    assert kinds.count("end") == ended
    assert not ended or kinds[-1] == "end"


@pytest.mark.parametrize(
    ("action", "stage", "heard"),
    [
        ("cancel", "running", "cancelled"),
        ("pause", "starting", "paused"),
        ("pause", "running", "paused"),
        ("kill", "starting", "killed"),
        ("kill", "cancelling", "killed"),
        ("kill", "running", "killed"),
    ],
)
def test_the_process_is_reported_once(
    harness: ControlHarness, store: Store, worker_pool: IdleWorkerPool, fit_id: str, action: str, stage: str, heard: str
) -> None:
    bring(store, fit_id, stage)
    for _ in range(2):
        ACTIONS[action](harness, fit_id)
    assert getattr(worker_pool, heard) == [fit_id]


def test_a_waiting_fit_is_cancelled_without_a_word_to_workers(
    control: FitControl, worker_pool: IdleWorkerPool, fit_id: str, store: Store
) -> None:
    fit = control.cancel(fit_id).fit
    assert fit.finished_at == fit.created_at
    assert not worker_pool.cancelled
    states = [(kind, body["state"]) for kind, body in read_journal(store, fit_id)]
    assert states == [("state", "queued"), ("state", "cancelled"), ("end", "cancelled")]


def test_what_a_killed_process_still_says_does_not_count(control: FitControl, store: Store, fit_id: str) -> None:
    bring(store, fit_id, "running")
    fit = control.kill(fit_id)
    assert (fit.fit.stop_reason, fit.attempts[-1].outcome) == ("killed", "killed_by_client")
    with store.begin() as work, pytest.raises(Conflict, match="no longer worked on"):
        work.attempts.guard(fit_id, "token")


def test_a_fit_that_is_taken_up_again_begins_afresh_where_it_was(
    control: FitControl, store: Store, worker_pool: IdleWorkerPool, fit_id: str
) -> None:
    bring(store, fit_id, "failed", step=5, latest={"loss": 0.5})
    woken = worker_pool.woken
    fit = control.resume(fit_id).fit
    assert (fit.error, fit.finished_at, fit.stop_reason, fit.reopened_at, fit.step) == (None, None, None, 5, 5)
    assert fit.latest == {"loss": 0.5}
    assert worker_pool.woken == woken + 1
    journal = read_journal(store, fit_id)
    assert [kind for kind, _ in journal] == ["state", "state", "state", "state", "log", "state"]
    assert journal[-2][1] == {
        "level": "info",
        "code": "reopened",
        "text": "the fit had failed at step 5 and was reopened",
    }
    assert journal[-1][1]["state"] == "queued"


def test_a_paused_fit_goes_on_as_if_it_had_never_stopped(control: FitControl, store: Store, fit_id: str) -> None:
    bring(store, fit_id, "paused", step=5)
    assert control.resume(fit_id).fit.reopened_at is None
    assert [kind for kind, _ in read_journal(store, fit_id)] == ["state"] * 3


@pytest.mark.parametrize(("limit", "code"), [("timeout_seconds", "timeout"), ("deadline", "deadline_exceeded")])
def test_a_fit_whose_time_is_up_is_not_taken_up(
    control: FitControl, fits: Fits, store: Store, clock: ManualClock, request_: dict[str, Any], limit: str, code: str
) -> None:
    value: Any = 60 if limit == "timeout_seconds" else rfc3339(clock.now().replace(year=2030))
    fit_id = fits.submit({**request_, "resources": {limit: value}}, nothing).fit.id
    bring(store, fit_id, "paused", seconds=60.0)
    clock.advance(10 * 365 * 24 * 3600)
    with pytest.raises(Conflict, match=f"resources.{limit}") as caught:
        control.resume(fit_id)
    assert caught.value.code == code


def test_a_fit_whose_rows_are_gone_is_not_taken_up(
    control: FitControl, store: Store, datasets: Datasets, fit_id: str, request_: dict[str, Any]
) -> None:
    bring(store, fit_id, "failed")
    datasets.delete(request_["dataset"])
    with pytest.raises(Conflict, match=request_["dataset"]) as caught:
        control.resume(fit_id)
    assert caught.value.code == "input_missing"


def test_what_is_taken_up_again_waits_in_the_queue_if_there_is_space(
    control: FitControl, fits: Fits, store: Store, fit_id: str, request_: dict[str, Any]
) -> None:
    control.pause(fit_id)
    for _ in range(3):
        fits.submit(request_, nothing)
    with pytest.raises(QueueFull):
        control.resume(fit_id)
    with store.begin() as work:
        assert work.fits.get(fit_id).state is FitState.PAUSED


def variants_of(store: Store, sweep_id: str) -> list[Any]:
    with store.begin() as work:
        return [*work.fits.variants(sweep_id)]


def test_killing_a_sweep_kills_all_of_it(
    control: FitControl, store: Store, worker_pool: IdleWorkerPool, sweep_id: str
) -> None:
    bring(store, sweep_id, "running")
    first, second, _ = variants_of(store, sweep_id)
    bring(store, first.id, "running")
    bring(store, second.id, "succeeded")
    assert control.kill(sweep_id).fit.state is FitState.CANCELLED
    ends = [(fit.state.value, fit.stop_reason) for fit in variants_of(store, sweep_id)]
    assert ends == [("cancelled", "killed"), ("succeeded", None), ("cancelled", "killed")]
    assert worker_pool.killed == [sweep_id]
    with store.begin() as work:
        assert work.attempts.unended() == ()


def test_killing_a_variant_leaves_the_others_their_process(
    control: FitControl, store: Store, worker_pool: IdleWorkerPool, sweep_id: str
) -> None:
    sweep = bring(store, sweep_id, "running")
    first, *_ = variants_of(store, sweep_id)
    bring(store, first.id, "running")
    assert control.kill(first.id).fit.stop_reason == "killed"
    assert (worker_pool.killed, worker_pool.variants_cancelled) == ([], [(sweep_id, first.id)])
    with store.begin() as work:
        assert work.fits.get(sweep_id).version > sweep.version


@pytest.mark.parametrize("action", ["pause", "resume", "extend", "adjust"])
def test_a_variant_rests_and_goes_on_with_its_sweep_only(
    harness: ControlHarness, store: Store, sweep_id: str, action: str
) -> None:
    first, *_ = variants_of(store, sweep_id)
    with pytest.raises(Conflict, match=sweep_id) as caught:
        ACTIONS[action](harness, first.id)
    assert caught.value.code == "is_variant"


def test_a_sweep_rests_and_goes_on_also_after_its_end(control: FitControl, store: Store, sweep_id: str) -> None:
    assert control.pause(sweep_id).fit.state is FitState.PAUSED
    assert control.resume(sweep_id).fit.state is FitState.QUEUED
    assert [fit.state.value for fit in variants_of(store, sweep_id)] == ["queued"] * 3
    control.cancel(variants_of(store, sweep_id)[0].id)
    control.cancel(sweep_id)
    assert control.resume(sweep_id).fit.state is FitState.QUEUED
    assert [fit.state.value for fit in variants_of(store, sweep_id)] == ["cancelled", "queued", "queued"]
    for variant in variants_of(store, sweep_id)[1:]:
        control.kill(variant.id)
    control.kill(sweep_id)
    with pytest.raises(Conflict, match="no variant") as caught:
        control.resume(sweep_id)
    assert caught.value.code == "already_terminal"


def test_whatever_a_crowd_asks_for_a_fit_ends_once(harness: ControlHarness, store: Store, fit_id: str) -> None:
    bring(store, fit_id, "running")
    faults: list[Exception] = []
    together = threading.Barrier(8)

    def ask(first: int) -> None:
        together.wait()
        for action in [*ACTIONS.values()][first:] * 3:
            try:
                action(harness, fit_id)
            except Conflict as error:
                if error.code in ("stale_version", "illegal_transition"):
                    faults.append(error)
            except Exception as error:  # noqa: BLE001 - it is what the test is about
                faults.append(error)

    threads = [threading.Thread(target=ask, args=(place % 4,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with suppress(Conflict):  # it has ended
        harness.control.kill(fit_id)
    journal = read_journal(store, fit_id)
    assert [kind for kind, _ in journal].count("end") == 1
    assert journal[-1] == ("end", {"state": "cancelled"})
    with store.begin() as work:
        assert work.attempts.unended() == ()
