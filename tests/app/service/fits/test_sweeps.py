"""What becomes of a sweep and its variants in the database, whatever their process says and however it ends."""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Conflict, Invalid
from app.domain.fit import WAITING, FitRecord, FitState
from app.domain.ids import new_id
from app.domain.messages import (
    About,
    Assignment,
    CheckpointWritten,
    Died,
    Expired,
    Failed,
    Finished,
    Message,
    MetricRows,
    Phase,
    Reached,
    Started,
    SweepShare,
)
from app.service.attempts.attempts import Attempts, ReportResult
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.control import FitControl
from app.service.fits.fits import Fits
from app.service.fits.revision import Extension, FitRevision
from app.service.fits.sweeps import ranking
from app.service.fits.view import FitView
from app.service.resources.blobs import BlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.app.service.conftest import IdleWorkerPool
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

GRID: dict[str, Any] = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2, 0.3]}}
HALVING: dict[str, Any] = {**GRID, "kind": "halving", "eta": 3, "min_steps": 2}
KILLED = Died("killed", "the process was killed")


@dataclass
class Workplace:
    """A server's books, and a process that the test plays."""

    store: Store
    fits: Fits
    control: FitControl
    revision: FitRevision
    attempts: Attempts
    staging: Path
    request: dict[str, Any]
    notified: list[str]

    def submit(self, sweep: dict[str, Any]) -> str:
        return self.fits.submit({**self.request, "sweep": sweep}, lambda _work, _view: None).fit.id

    def start(self) -> tuple[Claim, Assignment]:
        claim = self.attempts.claim()
        assert claim is not None
        assignment = self.attempts.assignment(claim)
        self.say(claim, Started(42), Phase("training"))
        return claim, assignment

    def say(self, claim: Claim, *messages: Message, died: Died | None = None) -> ReportResult:
        news = AttemptReport(verdict=died)
        for message in messages:
            news.add(message)
        return self.attempts.record(claim, news)

    def crash_until_given_up(self, sweep: str, *messages: Message) -> None:
        while not self.fit(sweep).terminal:
            claim, _ = self.start()
            self.say(claim, *messages)
            self.say(claim, died=KILLED)

    def extend(self, sweep: str, extension: Extension) -> FitRecord:
        return self.revision.extend(sweep, extension, lambda _work, _view: None).fit

    def fit(self, fit_id: str) -> FitRecord:
        return self.fits.get(fit_id).fit

    def variants(self, fit_id: str) -> list[FitRecord]:
        with self.store.begin() as work:
            return [*work.fits.variants(fit_id)]

    def states(self, fit_id: str) -> list[str]:
        return [fit.state.value for fit in (self.fit(fit_id), *self.variants(fit_id))]

    def checkpoint(self, claim: Claim, step: int) -> CheckpointWritten:
        path, content = self.staging / claim.token / f"{step}", f"checkpoint {step}".encode()
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return CheckpointWritten(str(path), step, 1, step, {}, digest, len(content), is_best=False)


@pytest.fixture
def place(
    tmp_path: Path,
    store: Store,
    fits: Fits,
    control: FitControl,
    revision: FitRevision,
    blobs: LocalBlobStore,
    sweeper: BlobSweeper,
    clock: ManualClock,
    request_: dict[str, Any],
) -> Workplace:
    notified: list[str] = []
    staging = tmp_path / "staging"
    with store.begin() as work:
        known = work.datasets.get(request_["dataset"])
        column = replace(known.columns[0], blob=blobs.put(b"column x").digest)
        rows_at_hand = replace(known, id=new_id("ds"), columns=(column,))
        work.datasets.add(rows_at_hand)
    attempts = Attempts(storage_context(store, blobs, staging, sweeper=sweeper, clock=clock), staging, notified.append)
    attempts.recover()
    return Workplace(
        store, fits, control, revision, attempts, staging, {**request_, "dataset": rows_at_hand.id}, notified
    )


def rows(*seqs: int, loss: float = 0.5) -> MetricRows:
    return MetricRows([json.dumps({"seq": seq, "step": seq}) for seq in seqs], seqs[-1], 1, {"loss": loss}, None)


def share_of(assignment: Assignment) -> SweepShare:
    assert assignment.sweep is not None
    return SweepShare.from_json(assignment.sweep)


def test_a_sweep_and_its_variants_are_stored_together(place: Workplace) -> None:
    sweep = place.submit(GRID)
    variants = place.variants(sweep)
    assert [fit.id for fit in variants] == sorted(fit.id for fit in variants)
    assert [fit.request["optimizer"]["lr"] for fit in variants] == [0.1, 0.2, 0.3]
    assert all(fit.parent_id == sweep and "sweep" not in fit.request for fit in variants)
    assert place.fit(sweep).total_steps == 3 * 8
    assert place.states(sweep) == ["queued"] * 4


def test_a_sweep_with_a_fault_is_not_stored(place: Workplace) -> None:
    with pytest.raises(Invalid) as caught:
        place.submit({"kind": "grid", "parameters": {"batch_size": [2, 0]}})
    assert [finding.pointer for finding in caught.value.findings] == ["/sweep/parameters/batch_size/1"]
    assert place.attempts.claim() is None


def test_a_sweep_of_replicas_is_refused(place: Workplace) -> None:
    place.request["resources"] = {"replicas": 2}
    with pytest.raises(Invalid) as caught:
        place.submit(GRID)
    assert [finding.pointer for finding in caught.value.findings] == ["/resources/replicas"]


def test_variants_go_through_their_states_with_one_process(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, assignment = place.start()
    ids = [variant.fit_id for variant in share_of(assignment).variants]
    assert ids == [fit.id for fit in place.variants(sweep)]
    assert place.states(sweep) == ["running", "queued", "queued", "queued"]
    place.say(claim, About(ids[0], Phase("training", 8)), About(ids[0], rows(1, 2)), About(ids[1], rows(1)))
    assert place.states(sweep) == ["running", "running", "running", "queued"]
    assert place.fit(sweep).step == 3
    place.say(claim, *(About(fit_id, Finished("succeeded")) for fit_id in ids))
    assert place.states(sweep) == ["running", "succeeded", "succeeded", "succeeded"]
    recorded = place.say(claim, Finished("succeeded"))
    assert recorded.ended
    assert place.states(sweep)[0] == "succeeded"
    assert {sweep, *ids} <= set(place.notified)


ENDS = [
    (["succeeded", "failed", "cancelled"], "succeeded"),
    (["failed", "failed", "cancelled"], "failed"),
    (["cancelled", "cancelled", "cancelled"], "cancelled"),
]


@pytest.mark.parametrize(("ends", "expected"), ENDS, ids=lambda value: str(value))
def test_what_a_sweep_comes_to_goes_by_its_variants(place: Workplace, ends: list[Any], expected: str) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    for fit, end in zip(place.variants(sweep), ends, strict=True):
        place.say(claim, About(fit.id, Failed("numerics_nonfinite", "no") if end == "failed" else Finished(end)))
    place.say(claim, Finished("succeeded"))
    assert place.states(sweep) == [expected, *ends]


def test_a_process_that_ends_with_variants_left_has_crashed(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    recorded = place.say(claim, Finished("succeeded"))
    assert (place.states(sweep)[0], recorded.losses) == ("interrupted", 1)


@pytest.mark.parametrize("how", ["killed", "drained", "lost"])
def test_a_sweep_goes_on_with_what_has_not_ended(place: Workplace, how: str) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(first, Finished("succeeded")), About(second, rows(1, 2)))
    place.say(claim, About(second, place.checkpoint(claim, 2)))
    if how == "killed":
        place.say(claim, died=KILLED)
    elif how == "drained":
        place.say(claim, About(second, Finished("drained")), Finished("drained"))
    else:
        place.attempts.recover()
    assert place.states(sweep) == ["interrupted", "succeeded", "interrupted", "queued"]
    claim, assignment = place.start()
    shares = {share.fit_id: share for share in share_of(assignment).variants}
    assert [share.ended for share in shares.values()] == [True, False, False]
    assert shares[second].resume_from is not None
    assert shares[third].resume_from is None
    place.say(claim, About(second, rows(2, 3)))
    assert [fit.attempt for fit in (place.fit(sweep), *place.variants(sweep))] == [2, 1, 2, 0]
    assert place.fit(second).step == 3


def test_what_was_reached_is_known_to_the_next_process(place: Workplace) -> None:
    sweep = place.submit(HALVING)
    claim, assignment = place.start()
    assert share_of(assignment).rungs == [2, 6]
    first, second, _ = (fit.id for fit in place.variants(sweep))
    for fit_id, value in ((first, 0.5), (second, float("inf"))):
        place.say(claim, About(fit_id, rows(1, 2)), About(fit_id, Phase(WAITING)), About(fit_id, Reached(2, value)))
    place.say(claim, died=KILLED)
    for _ in range(4):
        claim, assignment = place.start()
        assert [share.reached for share in share_of(assignment).variants] == [[0.5], [float("inf")], []]
        place.say(claim, About(place.variants(sweep)[2].id, Phase("training", 8)))
        place.say(claim, died=KILLED)
    # Only the one that was worked on when the processes were lost is to blame.
    assert place.states(sweep)[1:] == ["interrupted", "interrupted", "failed"]


def test_a_sweep_whose_processes_get_no_further_fails_with_its_variants(place: Workplace) -> None:
    sweep = place.submit(GRID)
    for _ in range(5):
        claim, _ = place.start()
        place.say(claim, died=KILLED)
    assert place.states(sweep) == ["failed"] * 4
    assert {fit.error and fit.error["code"] for fit in place.variants(sweep)} == {"crash_loop"}


def test_a_sweep_that_was_given_up_is_resumed_with_the_variants_that_it_kept_from_their_end(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(first, rows(1, 2)), About(first, Finished("succeeded")))
    place.say(claim, About(second, rows(1, 2)), About(second, place.checkpoint(claim, 2)))
    place.say(claim, About(third, Failed("numerics_nonfinite", "no")))
    place.say(claim, died=KILLED)
    place.crash_until_given_up(sweep)
    assert place.states(sweep) == ["failed", "succeeded", "failed", "failed"]
    before = place.variants(sweep)
    place.control.resume(sweep)
    assert place.states(sweep) == ["queued", "succeeded", "queued", "failed"]
    after = place.variants(sweep)
    assert (after[0], after[2]) == (before[0], before[2])
    assert (after[1].reopened_at, after[1].error) == (2, None)
    claim, assignment = place.start()
    shares = share_of(assignment).variants
    assert [(share.ended, share.resume_from is not None) for share in shares] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    # What crashed before does not count against it any more.
    assert place.say(claim, died=KILLED).losses == 1
    claim, _ = place.start()
    place.say(claim, About(second, rows(3)), About(second, Finished("succeeded")), Finished("succeeded"))
    assert place.states(sweep) == ["succeeded", "succeeded", "succeeded", "failed"]
    with pytest.raises(Conflict, match="no variant"):
        place.control.resume(sweep)


def test_what_a_halving_sweep_has_decided_stands_when_it_is_resumed(place: Workplace) -> None:
    sweep = place.submit(HALVING)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    for fit_id, value in ((first, 0.5), (second, 0.25), (third, 0.75)):
        place.say(claim, About(fit_id, rows(1, 2)), About(fit_id, Reached(2, value)), About(fit_id, Phase(WAITING)))
    for left in (first, third):
        place.say(claim, About(left, Finished("succeeded", "left behind at step 2")))
    place.say(claim, About(second, rows(3)))
    place.control.kill(sweep)
    place.control.resume(sweep)
    assert place.states(sweep) == ["queued", "succeeded", "queued", "succeeded"]
    claim, _ = place.start()
    place.say(claim, About(second, rows(4, 5, 6, 7, 8)), About(second, Reached(6, 0.1)))
    place.say(claim, About(second, place.checkpoint(claim, 8)), About(second, Finished("succeeded")))
    place.say(claim, Finished("succeeded"))
    extended = place.extend(sweep, Extension("steps", 4))
    assert place.states(sweep) == ["queued", "succeeded", "queued", "succeeded"]
    assert [fit.total_steps for fit in place.variants(sweep)] == [8, 12, 8]
    assert extended.total_steps == 3 * 2 + (12 - 2)
    place.control.cancel(sweep)
    place.fits.delete(third)
    with pytest.raises(Conflict) as caught:
        place.control.resume(sweep)
    assert caught.value.code == "variants_deleted"


def sweep_killed_at_a_rung(place: Workplace) -> tuple[str, list[str]]:
    """Return a sweep by halving, killed before it was stored that its first and third variant are out of it."""
    sweep = place.submit(HALVING)
    claim, _ = place.start()
    ids = [fit.id for fit in place.variants(sweep)]
    for fit_id, value in zip(ids, (0.5, 0.25, 0.75), strict=True):
        place.say(claim, About(fit_id, rows(1, 2)), About(fit_id, place.checkpoint(claim, 2)))
        place.say(claim, About(fit_id, Reached(2, value)), About(fit_id, Phase(WAITING)))
    place.say(claim, About(ids[0], Finished("succeeded", "left behind at step 2: rank 2 of 3")))
    place.control.kill(sweep)
    assert place.states(sweep) == ["cancelled", "succeeded", "cancelled", "cancelled"]
    return sweep, ids


def test_a_variant_that_was_eliminated_when_its_sweep_was_killed_is_ended_as_such(place: Workplace) -> None:
    sweep, (_, second, third) = sweep_killed_at_a_rung(place)
    place.control.resume(sweep)
    assert place.states(sweep) == ["queued", "succeeded", "queued", "queued"]
    claim, assignment = place.start()
    assert [share.ended for share in share_of(assignment).variants] == [True, False, False]
    place.say(claim, About(third, Finished("succeeded", "left behind at step 2: rank 3 of 3")))
    place.say(claim, About(second, Finished("succeeded")), Finished("succeeded"))
    assert place.states(sweep) == ["succeeded"] * 4


def test_an_eliminated_variant_of_a_killed_sweep_is_not_extended_with_it(place: Workplace) -> None:
    sweep, _ = sweep_killed_at_a_rung(place)
    place.extend(sweep, Extension("steps", 4))
    assert place.states(sweep) == ["queued", "succeeded", "queued", "queued"]
    assert [fit.total_steps for fit in place.variants(sweep)] == [8, 12, 8]


def test_a_killed_sweep_of_which_all_variants_are_out_is_resumed_to_store_that(place: Workplace) -> None:
    sweep, (_, second, third) = sweep_killed_at_a_rung(place)
    with place.store.begin() as work:
        best = work.fits.get(second)
        work.fits.update(replace(best, variant={**(best.variant or {}), "withdrawn": True}))
    with pytest.raises(Conflict, match="left to extend"):
        place.extend(sweep, Extension("steps", 4))
    place.control.resume(sweep)
    assert place.states(sweep) == ["queued", "succeeded", "cancelled", "queued"]
    claim, _ = place.start()
    place.say(claim, About(third, Finished("succeeded", "left behind at step 2: rank 3 of 3")), Finished("succeeded"))
    assert place.states(sweep) == ["succeeded", "succeeded", "cancelled", "succeeded"]


def test_a_sweep_is_extended_to_one_length(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(first, rows(*range(1, 9))), About(first, place.checkpoint(claim, 8)))
    place.say(claim, About(first, Finished("succeeded")))
    place.say(claim, About(second, rows(1, 2)))
    place.control.cancel(third)
    with pytest.raises(Conflict) as caught:
        place.extend(sweep, Extension("epochs", 1))
    assert caught.value.code == "not_terminal"
    place.say(claim, died=KILLED)
    place.control.cancel(sweep)
    extended = place.extend(sweep, Extension("epochs", 2))
    assert place.states(sweep) == ["queued", "queued", "queued", "cancelled"]
    assert [fit.total_steps for fit in place.variants(sweep)] == [12, 12, 8]
    assert (extended.request["epochs"], extended.total_steps) == (6, 32)


def test_a_sweep_that_gets_further_between_its_losses_is_not_given_up(place: Workplace) -> None:
    sweep = place.submit(GRID)
    for attempt in range(6):
        claim, _ = place.start()
        place.say(claim, About(place.variants(sweep)[0].id, rows(attempt + 1)))
        assert place.say(claim, died=KILLED).losses == 1
    assert place.states(sweep) == ["interrupted", "interrupted", "queued", "queued"]


def test_cancelling_a_sweep_that_waits_cancels_its_variants(place: Workplace, worker_pool: IdleWorkerPool) -> None:
    sweep = place.submit(GRID)
    place.control.cancel(sweep)
    assert place.states(sweep) == ["cancelled"] * 4
    assert worker_pool.cancelled == []
    assert place.attempts.claim() is None


def test_cancelling_a_sweep_that_runs_cancels_what_its_process_leaves(
    place: Workplace, worker_pool: IdleWorkerPool
) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, _ = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(first, Finished("succeeded")), About(second, rows(1)))
    place.control.cancel(sweep)
    assert worker_pool.cancelled == [sweep]
    place.say(claim, Finished("cancelled"))
    assert place.states(sweep) == ["cancelled", "succeeded", "cancelled", "cancelled"]


def test_a_sweep_that_is_paused_goes_on_with_the_variants_that_are_left(
    place: Workplace, worker_pool: IdleWorkerPool
) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(first, Finished("succeeded")), About(second, rows(1)))
    place.control.pause(sweep)
    assert worker_pool.paused == [sweep]
    place.say(claim, About(second, Finished("drained")), Finished("drained"))
    assert place.states(sweep) == ["paused", "succeeded", "interrupted", "queued"]
    place.control.resume(sweep)
    claim, assignment = place.start()
    assert [share.fit_id for share in share_of(assignment).variants if not share.ended] == [second, third]
    place.say(claim, About(second, Finished("succeeded")), About(third, Finished("succeeded")), Finished("succeeded"))
    assert place.states(sweep) == ["succeeded"] * 4


def test_a_variant_is_cancelled_at_once_unless_a_thread_works_on_it(
    place: Workplace, worker_pool: IdleWorkerPool
) -> None:
    sweep = place.submit(HALVING)
    claim, _ = place.start()
    working, waiting, queued = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(working, rows(1)), About(waiting, Phase("training", 8)), About(waiting, rows(1, 2)))
    place.say(claim, About(waiting, Phase(WAITING)), About(waiting, Reached(2, 0.5)))
    before = place.fit(sweep).version
    for fit_id in (working, waiting, queued):
        place.control.cancel(fit_id)
    assert place.states(sweep) == ["running", "cancelling", "cancelled", "cancelled"]
    assert worker_pool.variants_cancelled == [(sweep, working), (sweep, waiting), (sweep, queued)]
    assert place.fit(sweep).version > before
    # What the process says of them before it has heard does not count.
    place.say(claim, About(queued, rows(1)), About(waiting, Finished("succeeded")))
    place.say(claim, About(working, Finished("cancelled")), Finished("succeeded"))
    assert place.states(sweep) == ["cancelled"] * 4


def test_a_variant_outlives_no_sweep_and_is_not_deleted_under_one(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    place.say(
        claim, About(first, rows(1)), About(first, place.checkpoint(claim, 1)), About(first, Finished("succeeded"))
    )
    with pytest.raises(Conflict):
        place.fits.delete(first)
    for fit_id in (second, third):
        place.control.cancel(fit_id)
    place.say(claim, Finished("succeeded"))
    place.fits.delete(second)
    assert len(place.variants(sweep)) == 2
    place.fits.delete(sweep)
    assert place.variants(sweep) == []
    with place.store.begin() as work:
        assert work.blob_references.includes(hashlib.sha256(b"checkpoint 1").hexdigest()) is False


def test_variants_are_ranked_by_their_best_value_or_their_latest(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, third = (fit.id for fit in place.variants(sweep))
    place.say(claim, About(first, rows(1, loss=float("nan"))), About(third, rows(1, loss=0.25)))
    best = MetricRows(rows(1).rows, 1, 1, {"loss": 9.0}, {"metric": "loss", "value": 0.125, "step": 1, "epoch": 1})
    place.say(claim, About(second, best))
    view: FitView = place.fits.variants(sweep)
    assert [(each.rank, each.standing.fit_id) for each in ranking(view.fit, view.standings)] == [
        (1, second),
        (2, third),
        (3, first),
    ]
    with pytest.raises(Conflict):
        place.fits.variants(first)
    assert FitState.RUNNING in {each.state for each in view.standings}


def test_a_sweep_that_runs_out_of_time_ends_with_what_it_has(place: Workplace) -> None:
    sweep = place.submit(GRID)
    claim, _ = place.start()
    first, second, *_ = place.variants(sweep)
    place.say(claim, About(first.id, rows(1)), About(first.id, Finished("succeeded")), About(second.id, rows(1)))
    recorded = place.attempts.record(claim, AttemptReport(verdict=Expired("timeout", "too late")))
    assert recorded.ended
    states = place.states(sweep)
    assert states[:3] == ["failed", "succeeded", "failed"]
    assert set(states[3:]) == {"failed"}
    assert {(fit.error or {}).get("code") for fit in place.variants(sweep)[1:]} == {"timeout"}


def test_a_sweep_that_waits_beyond_its_deadline_fails_with_its_variants(
    place: Workplace, store: Store, clock: ManualClock
) -> None:
    sweep = place.submit(GRID)
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(sweep), deadline_at=work.now + timedelta(seconds=5)))
    assert place.attempts.fail_overdue() == place.fit(sweep).deadline_at
    assert set(place.states(sweep)) == {"queued"}
    clock.advance(5)
    assert place.attempts.fail_overdue() is None
    assert set(place.states(sweep)) == {"failed"}
    assert {(fit.error or {}).get("code") for fit in place.variants(sweep)} == {"deadline_exceeded"}
