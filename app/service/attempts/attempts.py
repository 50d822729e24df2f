"""Attempts: the processes that work on fits, as far as the database is concerned.

What a supervisor of processes needs to know and to write down, each in one unit of work. Everything a process reports
passes the fence of its attempt's token first: a process that was given up can change nothing any more.
"""

import secrets
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from app.domain.errors import Conflict, NotFound
from app.domain.fit import WAITS_FOR_MEMORY, Attempt, FitRecord
from app.domain.messages import Assignment, Died, Finished, Log
from app.service.attempts.apply_report import SweepRecorder, apply_report
from app.service.attempts.artifact_import import ArtifactImport, SpoolDirs
from app.service.attempts.assignments import Assignments, ResumePoints, WorkerConfig
from app.service.attempts.progress import AttemptReport, Claim, MemoryNeed
from app.service.attempts.recorder import AttemptRecorder
from app.service.attempts.replay_verdict import compare_replay
from app.service.fits.event_log import record_log, record_state
from app.service.fits.limits import fail_overdue
from app.service.fits.sweeps import close_variants
from app.service.resources.memory import MemoryPool
from app.service.resources.storage import StorageContext
from app.store.unit_of_work import UnitOfWork
from app.system.durable import Durable

MEMORY_FULL = (
    "the fit is waiting for memory: it needs about {need} bytes, and of the {budget} for all processes "
    "{reserved} are reserved; no other fit of its priority starts before it"
)
LOST_WITH_SERVER = Died("lost", "the server went down; the fit goes on from its last checkpoint")


@dataclass(frozen=True, slots=True)
class ReportResult:
    """The fit after news were written down.

    `ended` tells that the attempt is over, `losses` how many attempts in a row have crashed by then.
    """

    fit: FitRecord
    ended: bool
    losses: int


@dataclass(frozen=True, slots=True)
class RecoveredAttempts:
    """What an earlier server was working on when it ended: how many attempts, and the folders they wrote to."""

    attempts: int
    staging_folders: int


class Attempts:
    """The use cases of attempts."""

    def __init__(
        self,
        storage: StorageContext,
        spool_root: Path,
        notify: Callable[[str], None],
        config: WorkerConfig | None = None,
        durable: Durable | None = None,
        memory: MemoryPool | None = None,
    ) -> None:
        """Keep attempts in `storage`, and call `notify` with the id of a fit after each commit.

        Each attempt writes to a directory of its own below `spool_root`, which must be on the file system of the
        blobs, and reserves its memory in `memory`.
        """
        store, integrity, config = storage.store, storage.integrity, config or WorkerConfig()
        self._store = store
        self._sweeper = storage.sweeper
        self._integrity = integrity
        self._notify = notify
        self._memory = memory or MemoryPool()
        self._spool = SpoolDirs(spool_root, durable or Durable())
        self._import = ArtifactImport(store, storage.blobs, self._spool, notify, storage.clock)
        self._tenant_running = config.tenant_running
        resume_points = ResumePoints(store, integrity, notify)
        self._assignments = Assignments(store, integrity, resume_points, self._spool, config)

    def recover(self) -> RecoveredAttempts:
        """Take back what an earlier server was working on: its processes are gone. Call it before the first claim."""
        with self._store.begin() as work:
            tokens = work.attempts.tokens()
        folders = self._spool.remove_all(tokens)
        sweeps: list[FitRecord] = []
        with self._store.begin() as work:
            lost = work.attempts.unended()
            for attempt in lost:
                recorder = AttemptRecorder(work, attempt)
                recorder.end(LOST_WITH_SERVER)
                fit = recorder.save()
                work.after_commit(partial(self._notify, attempt.fit_id))
                if fit.sweep is not None:
                    sweeps.append(fit)
            for sweep in sweeps:
                close_variants(work, sweep, self._notify)
        return RecoveredAttempts(len(lost), folders)

    def claim(self, skip: Collection[str] = ()) -> Claim | None:
        """Take the next fit in turn, but none of `skip`, and begin an attempt; None if none waits.

        Also None as long as there is too little memory beside what runs for the fit whose turn it is: then it waits,
        and others of its priority with it. What it takes is taken until `release` is called.
        """
        token = secrets.token_hex(16)
        needs: dict[str, MemoryNeed] = {}
        with ExitStack() as undo, self._store.begin() as work:

            def admits(fit: FitRecord) -> bool:
                needs[fit.id] = need = self._assignments.memory_need(work, fit)
                undo.callback(self._memory.release_fit, fit.id)
                return self._reserve_memory(work, fit, need)

            fit = work.queue.claim(skip=skip, at_work_max=self._tenant_running, admits=admits)
            if not needs:
                self._memory.clear_waiting_fit()
            if fit is None:
                return None
            work.attempts.start(fit.id, fit.attempt, token)
            record_state(work, fit)
            work.after_commit(undo.pop_all)
            work.after_commit(partial(self._notify, fit.id))
        return Claim(fit, token, needs[fit.id])

    def release(self, claim: Claim) -> None:
        """Delete the folder that the attempt's processes wrote to, and take their memory back: they are gone."""
        self.remove_spool_dir(claim)
        self._memory.release_fit(claim.fit.id)

    def _reserve_memory(self, work: UnitOfWork, fit: FitRecord, need: MemoryNeed) -> bool:
        """Give a fit the memory that it needs; if there is too little now, have it wait, and say so the first time."""
        budget = self._memory.budget
        if budget is not None and need.total is not None and need.total > budget:
            return True  # it would wait for ever, and is told so instead (see `assignment`)
        if self._memory.reserve_fit(fit.id, need.total):
            return True
        if fit.phase != WAITS_FOR_MEMORY:
            work.fits.update(replace(fit, phase=WAITS_FOR_MEMORY))
            text = MEMORY_FULL.format(need=need.total or budget, reserved=self._memory.reserved, budget=budget)
            record_log(work, fit.id, Log("info", text, "memory_full"))
            work.after_commit(partial(self._notify, fit.id))
        return False

    def assignment(self, claim: Claim) -> Assignment:
        """Return what the attempt's process needs to know.

        NotFound if something it needs is gone, Corrupt if a file of its data is, or no checkpoint is whole that a fork
        could begin with; TooLarge if it
        takes more memory than there is by now.
        """
        return self._assignments.build_assignment(claim)

    def fit(self, claim: Claim) -> FitRecord | None:
        """Return the fit as it is now, None if the attempt does not count any more."""
        with self._store.begin() as work:
            try:
                work.attempts.guard(claim.fit.id, claim.token)
            except Conflict:
                return None
            return work.fits.get(claim.fit.id)

    def fail_overdue(self) -> datetime | None:
        """Have the fits fail that wait beyond their deadline; return the next deadline of one that waits."""
        with self._store.begin() as work:
            return fail_overdue(work, self._notify)

    def record(self, claim: Claim, report: AttemptReport) -> ReportResult:
        """Write news down, as a whole or, if this raises, not at all; it can then be called again with the same.

        Raises Conflict (`fenced`) or NotFound if the attempt does not count any more: its process is to be killed;
        StorageFull, StorageFailed or DatabaseBusy if the time is not right.
        """
        try:
            with self._sweeper.holding():
                self._import.run(claim, report)
                if claim.fit.replay is not None and claim.fit.replay["verdict"] is None:
                    self._compare_replay(claim, report)
                with self._store.begin() as work:
                    attempt = work.attempts.guard(claim.fit.id, claim.token)
                    recorder = AttemptRecorder(work, attempt)
                    if claim.fit.sweep is None:
                        discarded = apply_report(recorder, work, claim.policy, report)
                    else:
                        discarded = self._apply_sweep(work, attempt, recorder, claim, report)
                    losses = recorder.count_losses() if recorder.ended else 0
                    fit = recorder.save()
                    if fit.sweep is not None:
                        close_variants(work, fit, self._notify)
                    work.after_commit(partial(self._notify, fit.id))
        except (Conflict, NotFound):
            self.discard_report(report)
            raise
        self._sweeper.discard(discarded)
        if recorder.ended:
            self.remove_spool_dir(claim)
        return ReportResult(fit, recorder.ended, losses)

    def discard_report(self, report: AttemptReport) -> None:
        """Delete what was stored for news that are never written down: nothing refers to it."""
        every = (report, *report.variants.values())
        self._sweeper.discard([digest for each in every for digest in each.digests])

    def remove_spool_dir(self, claim: Claim) -> None:
        """Delete the folder that the attempt's process wrote to, which is gone or has nothing more to write."""
        self._spool.remove_attempt(claim.token)

    def _apply_sweep(
        self, work: UnitOfWork, attempt: Attempt, recorder: AttemptRecorder, claim: Claim, report: AttemptReport
    ) -> list[str]:
        """Enter the news of a sweep and its variants; what becomes of the sweep goes by theirs."""
        variants = SweepRecorder(work, attempt, recorder, self._notify)
        discarded = variants.apply_reports(report.variants, claim.policy, report.pid or attempt.pid)
        if report.verdict is not None:
            report = replace(report, verdict=variants.end(report.verdict))
        return discarded + apply_report(recorder, work, claim.policy, report)

    def _compare_replay(self, claim: Claim, report: AttemptReport) -> None:
        """Add to the last news of a replay, if it succeeds, how it compares, so that one commit takes both."""
        if isinstance(report.verdict, Finished) and report.verdict.outcome == "succeeded":
            with self._store.begin() as work:
                fit = work.fits.get(claim.fit.id)
            report.comparison = compare_replay(self._store, self._integrity, fit, report)
