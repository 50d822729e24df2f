"""Applying the reports of an attempt within one unit of work: of a fit, and of a sweep with its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Protocol, TypeVar

import engine
from app.domain.fit import TERMINAL, Attempt, FitRecord, FitState
from app.domain.messages import Died, Expired, Failed, Finished, Verdict
from app.domain.sweep import WAITING, terms_of
from app.service.attempts.progress import Progress
from app.service.attempts.recorder import AttemptJournal
from app.service.fits.event_log import record_log, record_state
from app.service.fits.sweeps import Notify
from app.store.unit_of_work import UnitOfWork


class _Kept(Protocol):
    """A checkpoint, wherever it is."""

    @property
    def step(self) -> int: ...

    @property
    def is_best(self) -> bool: ...


C = TypeVar("C", bound=_Kept)


def retained(checkpoints: Sequence[C], policy: engine.CheckpointPolicy) -> list[C]:
    """Return those of a fit's checkpoints that `policy` keeps: the furthest ones, always one, and the last best one."""
    furthest_first = sorted(checkpoints, key=lambda checkpoint: checkpoint.step, reverse=True)
    kept = furthest_first[: max(1, policy.keep_last)]
    best = next((checkpoint for checkpoint in furthest_first if checkpoint.is_best), None)
    if policy.keep_best and best is not None and best not in kept:
        kept.append(best)
    return kept


def write_down(
    journal: AttemptJournal, work: UnitOfWork, policy: engine.CheckpointPolicy, progress: Progress
) -> list[str]:
    """Enter all of `progress`; return the digests of blobs that may be superfluous."""
    _enter_standing(journal, progress)
    for entry in progress.logs:
        record_log(work, journal.fit.id, entry)
    if progress.points is not None:
        journal.points(progress.points)
    # Before the checkpoints: whoever goes on from one of them does not make again what came before it.
    journal.gradients(progress.gradients)
    if journal.ended:
        return progress.digests
    discarded = [gradient.digest for gradient in progress.gradients]
    if progress.checkpoints:
        for checkpoint in progress.checkpoints:
            journal.checkpoint(checkpoint)
        discarded += _prune(journal.fit.id, work, policy)
    journal.reached(progress.reached)
    if progress.verdict is not None:
        journal.end(progress.verdict, progress.comparison)
    return discarded


def _enter_standing(journal: AttemptJournal, progress: Progress) -> None:
    """Enter what the process is and does, apart from what it makes."""
    if progress.pid is not None:
        journal.started(progress.pid)
    if progress.waits_for_room:
        journal.stored()
    if progress.seconds is not None:
        journal.ran(progress.seconds)
    if progress.phase is not None:
        journal.phase(progress.phase, progress.total_steps, progress.runtime)
    if progress.numerics is not None:
        journal.numerics_changed(progress.numerics)


def _prune(fit_id: str, work: UnitOfWork, policy: engine.CheckpointPolicy) -> list[str]:
    """Delete the checkpoints that the fit does not keep, in the commit that makes the newer ones last.

    Pinned ones stay, and do not count. Those whose files are damaged cannot be gone on from: they take no other's
    place, but go when they would have gone undamaged.
    """
    kept = [each for each in work.checkpoints.kept(fit_id) if not each.pinned]
    worth = [*retained(kept, policy), *retained([each for each in kept if not each.corrupt], policy)]
    superfluous = [checkpoint for checkpoint in kept if checkpoint not in worth]
    for checkpoint in superfluous:
        work.checkpoints.delete(checkpoint.id)
    return [checkpoint.digest for checkpoint in superfluous]


UNFINISHED = Died("error", "the process ended its work with variants left")
IDLE = Died("lost", "the process of the sweep ended while this variant waited")
NONE_SUCCEEDED = Failed("no_variant_succeeded", "every variant failed or was cancelled; their errors say why")


class SweepJournal:
    """The variants' side of an attempt at a sweep. An attempt at a variant has the token of that at the sweep."""

    def __init__(self, work: UnitOfWork, attempt: Attempt, sweep: AttemptJournal, notify: Notify) -> None:
        """Write for the `attempt` at a sweep, whose own entries go to the journal `sweep`."""
        self._work = work
        self._attempt = attempt
        self._sweep = sweep
        self._notify = notify

    def write_down(
        self, variants: Mapping[str, Progress], policy: engine.CheckpointPolicy, pid: int | None
    ) -> list[str]:
        """Enter the news of the variants; return the digests of blobs that may have become superfluous."""
        discarded: list[str] = []
        for fit_id, news in variants.items():
            fit = self._work.fits.get(fit_id)
            if fit.terminal:  # it was cancelled meanwhile, by the server itself
                discarded += news.digests
            else:
                discarded += self._enter(self._begun(fit, pid), news, policy)
        return discarded

    def end(self, verdict: Verdict) -> Verdict:
        """End what is open of the variants, and return what `verdict` means for the sweep."""
        for fit in self._work.fits.variants(self._sweep.fit.id):
            attempt = self._work.attempts.latest(fit.id)
            if attempt is not None and attempt.ended_at is None:
                journal = AttemptJournal(self._work, attempt)
                idle = isinstance(verdict, Died) and fit.phase == WAITING
                journal.end(IDLE if idle else verdict)
                self._save(journal)
                if journal.fit.terminal:
                    self._progressed(0)
        if isinstance(verdict, Expired):
            return verdict
        states = [variant.state for variant in self._work.fits.standings(self._sweep.fit.id)]
        if not TERMINAL.issuperset(states):
            return UNFINISHED if verdict == Finished("succeeded") else verdict
        if FitState.SUCCEEDED in states:
            return Finished("succeeded")
        return NONE_SUCCEEDED if FitState.FAILED in states else Finished("cancelled")

    def _begun(self, fit: FitRecord, pid: int | None) -> AttemptJournal:
        """Return the journal of the attempt at a variant, which begins with the first that is told of it."""
        attempt = self._work.attempts.latest(fit.id)
        if attempt is not None and attempt.token == self._attempt.token and attempt.ended_at is None:
            return AttemptJournal(self._work, attempt)
        number, started_at = fit.attempt + 1, fit.started_at or self._work.now
        fit = self._work.fits.update(fit.to(FitState.STARTING, phase="starting", attempt=number, started_at=started_at))
        record_state(self._work, fit)
        journal = AttemptJournal(self._work, self._work.attempts.start(fit.id, number, self._attempt.token))
        if pid is not None:
            journal.started(pid)
        return journal

    def _enter(self, journal: AttemptJournal, news: Progress, policy: engine.CheckpointPolicy) -> list[str]:
        before = journal.fit.step
        discarded = write_down(journal, self._work, policy, news)
        self._save(journal)
        gained = journal.fit.step - before
        if gained > 0 or news.checkpoints or journal.fit.terminal:
            self._progressed(gained)
        return discarded

    def _progressed(self, steps: int) -> None:
        """Note that this attempt got the sweep further, be it by a variant that runs no more."""
        sweep = self._sweep.fit
        terms = replace(terms_of(sweep), progressed_in=self._attempt.number)
        self._sweep.fit = replace(sweep, step=sweep.step + steps, sweep=asdict(terms))

    def _save(self, journal: AttemptJournal) -> None:
        self._work.after_commit(partial(self._notify, journal.save().id))
