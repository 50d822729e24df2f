"""What an attempt at a sweep changes: the records of its variants beside that of the sweep, within one unit of work."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial

import engine
from app.domain.attempt import Attempt
from app.domain.fit import TERMINAL, FitRecord, FitState
from app.domain.messages import Failed, Finished
from app.domain.sweep import WAITING, terms_of
from app.domain.verdict import Died, Expired, Verdict
from app.service.attempts.attempt_journal import AttemptJournal
from app.service.attempts.attempt_news import write_down
from app.service.attempts.attempt_progress import Progress
from app.service.fits.event_log import record_state
from app.service.fits.sweeps import Notify
from app.store.unit_of_work import UnitOfWork

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
