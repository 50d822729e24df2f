"""Applying the reports of an attempt within one unit of work: of a fit, and of a sweep with its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Protocol, TypeVar

import engine
from app.domain.fit import TERMINAL, WAITING, Attempt, FitRecord, FitState, sweep_config_of
from app.domain.messages import Died, Expired, Failed, Finished, Verdict
from app.service.attempts.progress import AttemptReport
from app.service.attempts.recorder import AttemptRecorder
from app.service.fits.event_log import record_log, record_state
from app.service.fits.sweeps import Notify
from app.store.unit_of_work import UnitOfWork


class _Retainable(Protocol):
    """A checkpoint, wherever it is."""

    @property
    def step(self) -> int: ...

    @property
    def is_best(self) -> bool: ...


C = TypeVar("C", bound=_Retainable)


def select_retained(checkpoints: Sequence[C], policy: engine.CheckpointPolicy) -> list[C]:
    """Return the checkpoints that `policy` retains: the newest ones, at least one, and the last best one."""
    furthest_first = sorted(checkpoints, key=lambda checkpoint: checkpoint.step, reverse=True)
    kept = furthest_first[: max(1, policy.keep_last)]
    best = next((checkpoint for checkpoint in furthest_first if checkpoint.is_best), None)
    if policy.keep_best and best is not None and best not in kept:
        kept.append(best)
    return kept


def apply_report(
    recorder: AttemptRecorder, work: UnitOfWork, policy: engine.CheckpointPolicy, report: AttemptReport
) -> list[str]:
    """Enter all of `report`; return the digests of blobs that may be superfluous."""
    _apply_status(recorder, report)
    for entry in report.logs:
        record_log(work, recorder.fit.id, entry)
    if report.metric_rows is not None:
        recorder.append_rows(report.metric_rows)
    # Before the checkpoints: an attempt that resumes from one does not repeat what came before it.
    recorder.gradients(report.gradients)
    if recorder.ended:
        return report.digests
    discarded = [gradient.digest for gradient in report.gradients]
    if report.checkpoints:
        for checkpoint in report.checkpoints:
            recorder.checkpoint(checkpoint)
        discarded += _prune_checkpoints(recorder.fit.id, work, policy)
    recorder.record_rungs(report.reached)
    if report.verdict is not None:
        recorder.end(report.verdict, report.comparison)
    return discarded


def _apply_status(recorder: AttemptRecorder, report: AttemptReport) -> None:
    """Apply what the process reported about itself, apart from its results."""
    if report.pid is not None:
        recorder.record_start(report.pid)
    if report.waits_for_storage:
        recorder.clear_storage_wait()
    if report.seconds is not None:
        recorder.record_seconds(report.seconds)
    if report.phase is not None:
        recorder.phase(report.phase, report.total_steps, report.runtime)
    if report.numerics is not None:
        recorder.record_numerics_change(report.numerics)


def _prune_checkpoints(fit_id: str, work: UnitOfWork, policy: engine.CheckpointPolicy) -> list[str]:
    """Delete the checkpoints that are not retained, in the same commit that stores the newer ones.

    Pinned ones are kept, and do not count. Damaged ones cannot be resumed from, so they do not displace others;
    they are deleted when they would have been deleted undamaged.
    """
    kept = [each for each in work.checkpoints.kept(fit_id) if not each.pinned]
    worth = [*select_retained(kept, policy), *select_retained([each for each in kept if not each.corrupt], policy)]
    superfluous = [checkpoint for checkpoint in kept if checkpoint not in worth]
    for checkpoint in superfluous:
        work.checkpoints.delete(checkpoint.id)
    return [checkpoint.digest for checkpoint in superfluous]


VARIANTS_LEFT = Died("error", "the process ended its work with variants left")
VARIANT_IDLE = Died("lost", "the process of the sweep ended while this variant waited")
NONE_SUCCEEDED = Failed("no_variant_succeeded", "every variant failed or was cancelled; their errors say why")


class SweepRecorder:
    """The variants of an attempt at a sweep. An attempt at a variant has the token of the sweep's attempt."""

    def __init__(self, work: UnitOfWork, attempt: Attempt, sweep: AttemptRecorder, notify: Notify) -> None:
        """Record for the `attempt` at a sweep, whose own changes go to the recorder `sweep`."""
        self._work = work
        self._attempt = attempt
        self._sweep = sweep
        self._notify = notify

    def apply_reports(
        self, variants: Mapping[str, AttemptReport], policy: engine.CheckpointPolicy, pid: int | None
    ) -> list[str]:
        """Apply the reports of the variants; return the digests of blobs that may have become unused."""
        discarded: list[str] = []
        for fit_id, report in variants.items():
            fit = self._work.fits.get(fit_id)
            if fit.terminal:  # the server itself has cancelled it since
                discarded += report.digests
            else:
                discarded += self._apply(self._open_attempt(fit, pid), report, policy)
        return discarded

    def end(self, verdict: Verdict) -> Verdict:
        """End the open attempts at variants, and return what `verdict` means for the sweep."""
        for fit in self._work.fits.variants(self._sweep.fit.id):
            attempt = self._work.attempts.latest(fit.id)
            if attempt is not None and attempt.ended_at is None:
                recorder = AttemptRecorder(self._work, attempt)
                was_idle = isinstance(verdict, Died) and fit.phase == WAITING
                recorder.end(VARIANT_IDLE if was_idle else verdict)
                self._store(recorder)
                if recorder.fit.terminal:
                    self._record_progress(0)
        if isinstance(verdict, Expired):
            return verdict
        states = [variant.state for variant in self._work.fits.standings(self._sweep.fit.id)]
        if not TERMINAL.issuperset(states):
            return VARIANTS_LEFT if verdict == Finished("succeeded") else verdict
        if FitState.SUCCEEDED in states:
            return Finished("succeeded")
        return NONE_SUCCEEDED if FitState.FAILED in states else Finished("cancelled")

    def _open_attempt(self, fit: FitRecord, pid: int | None) -> AttemptRecorder:
        """Return the recorder of the attempt at a variant, which starts with the first report about it."""
        attempt = self._work.attempts.latest(fit.id)
        if attempt is not None and attempt.token == self._attempt.token and attempt.ended_at is None:
            return AttemptRecorder(self._work, attempt)
        number, started_at = fit.attempt + 1, fit.started_at or self._work.now
        fit = self._work.fits.update(fit.to(FitState.STARTING, phase="starting", attempt=number, started_at=started_at))
        record_state(self._work, fit)
        recorder = AttemptRecorder(self._work, self._work.attempts.start(fit.id, number, self._attempt.token))
        if pid is not None:
            recorder.record_start(pid)
        return recorder

    def _apply(self, recorder: AttemptRecorder, report: AttemptReport, policy: engine.CheckpointPolicy) -> list[str]:
        before = recorder.fit.step
        discarded = apply_report(recorder, self._work, policy, report)
        self._store(recorder)
        gained = recorder.fit.step - before
        if gained > 0 or report.checkpoints or recorder.fit.terminal:
            self._record_progress(gained)
        return discarded

    def _record_progress(self, steps: int) -> None:
        """Record that this attempt made progress, even if by a variant that has ended."""
        sweep = self._sweep.fit
        terms = replace(sweep_config_of(sweep), progressed_in=self._attempt.number)
        self._sweep.fit = replace(sweep, step=sweep.step + steps, sweep=asdict(terms))

    def _store(self, recorder: AttemptRecorder) -> None:
        self._work.after_commit(partial(self._notify, recorder.save().id))
