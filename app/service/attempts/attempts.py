"""Attempts: the database side of the processes that run fits.

Each operation is one unit of work. At most one attempt of a fit is active: attempt n + 1 is claimed only after n has
ended, and every report is checked against the fencing token of its attempt. So a process that was abandoned, but is
still running, cannot change anything.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from app.domain.errors import Conflict, NotFound
from app.domain.fit import WAITS_FOR_MEMORY, Attempt, FitRecord
from app.domain.messages import Assignment, Died, Failed, Finished, Log
from app.service.attempts.apply_report import SweepRecorder, apply_report
from app.service.attempts.assignments import Assignments, ResumePoints, WorkerConfig
from app.service.attempts.checkpoint_import import CheckpointImport, SpoolDirs
from app.service.attempts.input_files import PREPARED_MAX, InputFiles
from app.service.attempts.leadership import SOLE_SERVER
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
LOST_WITH_SERVER = Died("lost", "the server went down; the fit resumes from its last checkpoint")


@dataclass(frozen=True, slots=True)
class ReportResult:
    """The fit after a report was stored.

    `ended`: whether the attempt is over; `losses`: how many attempts in a row have crashed.
    """

    fit: FitRecord
    ended: bool
    losses: int


FindRunning = Callable[[Sequence[Attempt]], frozenset[str]]
"""Returns the tokens of those attempts whose processes go on without the server that has started them."""


def find_none(_attempts: Sequence[Attempt]) -> frozenset[str]:
    """Return nothing: processes of one machine have exited with their server."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class RunningAttempt:
    """An attempt that goes on after its server, and its process, None if that has not started."""

    claim: Claim
    pid: int | None


@dataclass(frozen=True, slots=True)
class RecoveredAttempts:
    """What an earlier server left: the number of attempts that were lost with it, and of their spool directories."""

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
        blobs, and reserves its memory in `memory`. Nothing is written without the leadership: Superseded then.
        """
        store, integrity, config = storage.store, storage.integrity, config or WorkerConfig()
        self._store = store
        self._leadership = config.leadership
        self._sweeper = storage.sweeper
        self._integrity = integrity
        self._notify = notify
        self._memory = memory or MemoryPool()
        self._spool = SpoolDirs(spool_root, durable or Durable())
        self._import = CheckpointImport(store, storage.blobs, self._spool, notify, storage.clock)
        self._blobs = storage.blobs
        self._inputs = InputFiles(storage.blobs, notify)
        self._is_waiting_for_files = False
        self._tenant_running = config.tenant_running
        self.running: tuple[RunningAttempt, ...] = ()
        """What `end_lost` has found to go on; its memory is reserved until `release` is called."""
        resume_points = ResumePoints(store, integrity, notify)
        self._assignments = Assignments(store, integrity, resume_points, self._spool, config)

    def recover(self, find_running: FindRunning = find_none) -> RecoveredAttempts:
        """End the attempts of an earlier server, as `end_lost` does. Call it before the first claim.

        Where several servers share the database, the one that runs the fits ends them, when it takes over.
        """
        with self._store.read() as work:
            tokens = work.attempts.tokens()
        folders = self._spool.remove_all(tokens)
        return RecoveredAttempts(self.end_lost(find_running) if self._leadership is SOLE_SERVER else 0, folders)

    def end_lost(self, find_running: FindRunning) -> int:
        """End the attempts whose processes are gone, and return how many; those that go on are `running` now."""
        with self._store.read() as work:
            unended = work.attempts.unended()
        found = find_running(unended)
        sweeps: list[FitRecord] = []
        with self._begin() as work:
            # Read again: clients may have ended some, and another server had the fits until this one began its epoch.
            unended = work.attempts.unended()
            self.running = tuple(self._resume(work, unended, found))
            lost = [attempt for attempt in unended if attempt.token not in found]
            for attempt in lost:
                recorder = AttemptRecorder(work, attempt)
                recorder.end(LOST_WITH_SERVER)
                fit = recorder.save()
                work.after_commit(partial(self._notify, attempt.fit_id))
                if fit.sweep is not None:
                    sweeps.append(fit)
            for sweep in sweeps:
                close_variants(work, sweep, self._notify)
        return len(lost)

    def _resume(self, work: UnitOfWork, unended: Iterable[Attempt], found: Collection[str]) -> Iterator[RunningAttempt]:
        """Yield the attempts that go on, whose memory is reserved; those at variants are part of their sweep's."""
        for attempt in unended:
            fit = work.fits.get(attempt.fit_id)
            if attempt.token in found and fit.variant is None:
                need = self._assignments.memory_need(work, fit)
                self._memory.reserve_fit(fit.id, need.total)
                yield RunningAttempt(Claim(fit, attempt.token, need), attempt.pid)

    @contextmanager
    def _begin(self) -> Iterator[UnitOfWork]:
        """Open a unit of work for what only the server may write that runs the fits; Superseded if that is another."""
        with self._store.begin() as work:
            self._leadership.guard(work)
            yield work

    @property
    def is_waiting_for_files(self) -> bool:
        """Whether the last `claim` passed a fit over whose files are not on this machine yet."""
        return self._is_waiting_for_files

    def claim(self, skip: Collection[str] = ()) -> Claim | None:
        """Claim the next fit of the queue, except those in `skip`, and start an attempt; None if there is none.

        Also None while the next fit waits for memory: fits of the same priority wait behind it, so that a large
        one is not starved by small ones. The memory is reserved until `release` is called. Fits whose files are being
        copied to this machine, at most PREPARED_MAX at a time, are passed over until they are here.
        """
        passed: set[str] = set()
        for _ in range(PREPARED_MAX):
            claim, unprepared = self._claim_next({*skip, *passed})
            if unprepared is None:
                break
            passed.add(unprepared)
        self._is_waiting_for_files = bool(passed)
        return claim

    def _claim_next(self, skip: Collection[str]) -> tuple[Claim | None, str | None]:
        """Claim the fit whose turn it is; return it, or the id of the one whose files are not here yet."""
        token = secrets.token_hex(16)
        needs: dict[str, MemoryNeed] = {}
        unprepared: list[str] = []
        with ExitStack() as undo, self._begin() as work:

            def admits(fit: FitRecord) -> bool:
                if not self._inputs.prepare(work, fit):
                    unprepared.append(fit.id)
                    return False
                needs[fit.id] = need = self._assignments.memory_need(work, fit)
                undo.callback(self._memory.release_fit, fit.id)
                return self._reserve_memory(work, fit, need)

            fit = work.queue.claim(skip=skip, at_work_max=self._tenant_running, admits=admits)
            if not needs and not unprepared:
                self._memory.clear_waiting_fit()
            if fit is None:
                return None, next(iter(unprepared), None)
            work.attempts.start(fit.id, fit.attempt, token)
            record_state(work, fit)
            work.after_commit(undo.pop_all)
            work.after_commit(partial(self._notify, fit.id))
        return Claim(fit, token, needs[fit.id]), None

    def release(self, claim: Claim) -> None:
        """Delete the spool directory of an attempt and release its memory; its processes have exited."""
        self.remove_spool_dir(claim)
        self._memory.release_fit(claim.fit.id)

    def _reserve_memory(self, work: UnitOfWork, fit: FitRecord, need: MemoryNeed) -> bool:
        """Reserve the memory of a fit; if there is too little, mark it as waiting, and log that once."""
        budget = self._memory.budget
        if budget is not None and need.total is not None and need.total > budget:
            return True  # it would wait forever; `assignment` fails it instead
        if self._memory.reserve_fit(fit.id, need.total):
            return True
        if fit.phase != WAITS_FOR_MEMORY:
            work.fits.update(replace(fit, phase=WAITS_FOR_MEMORY))
            text = MEMORY_FULL.format(need=need.total or budget, reserved=self._memory.reserved, budget=budget)
            record_log(work, fit.id, Log("info", text, "memory_full"))
            work.after_commit(partial(self._notify, fit.id))
        return False

    def assignment(self, claim: Claim) -> Assignment:
        """Return the assignment of a claimed attempt.

        NotFound if an input was deleted; Corrupt if one is damaged, or no checkpoint of a fork is intact;
        TooLarge if it needs more memory than there is now.
        """
        return self._assignments.build_assignment(claim)

    def fit(self, claim: Claim) -> FitRecord | None:
        """Return the fit as it is now, None if the attempt was fenced off."""
        with self._store.read() as work:
            try:
                work.attempts.guard(claim.fit.id, claim.token)
            except Conflict:
                return None
            return work.fits.get(claim.fit.id)

    def withdrawn_variants(self, claim: Claim) -> list[str]:
        """Return the variants of a claimed sweep that were cancelled or killed by themselves."""
        with self._store.read() as work:
            return [fit.id for fit in work.fits.variants(claim.fit.id) if (fit.variant or {}).get("withdrawn")]

    def fail_overdue(self) -> datetime | None:
        """Fail queued fits whose deadline has passed; return the next deadline."""
        with self._begin() as work:
            return fail_overdue(work, self._notify)

    def record(self, claim: Claim, report: AttemptReport) -> ReportResult:
        """Store a report, atomically; if this raises, it can be repeated with the same report.

        Raises Conflict (`fenced`) or NotFound if the attempt is no longer the active one: its process has to be
        killed. Raises StorageFull, StorageFailed or a RetryLater if it has to be retried later.
        """
        self._excuse_damaged_copy(report)
        try:
            # Blobs are imported before the transaction, so that it stays short; the sweeper keeps them until the rows
            # that refer to them are committed.
            with self._sweeper.paused():
                self._import.run(claim, report)
                if claim.fit.replay is not None and claim.fit.replay["verdict"] is None:
                    self._compare_replay(claim, report)
                with self._begin() as work:
                    # The fence: in the same transaction as the writes, so no other attempt can start in between.
                    attempt = work.attempts.guard(claim.fit.id, claim.token)
                    recorder = AttemptRecorder(work, attempt)
                    if report.received_before is None:
                        report.received_before = attempt.received
                    elif attempt.received > report.received_before:
                        # It was committed by an earlier try, whose answer was lost with the connection.
                        work.after_commit(partial(self._notify, claim.fit.id))
                        return ReportResult(recorder.fit, ended=False, losses=0)
                    if claim.fit.sweep is None:
                        discarded = apply_report(recorder, work, claim.policy, report)
                    else:
                        discarded = self._apply_sweep(work, attempt, recorder, claim, report)
                    if report.received:
                        work.attempts.set_received(claim.fit.id, attempt.number, report.received)
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

    def _excuse_damaged_copy(self, report: AttemptReport) -> None:
        """Have a fit tried again that has failed because of a damaged copy of a blob: the blob may well be whole."""
        verdict = report.verdict
        if isinstance(verdict, Failed) and verdict.blob is not None and self._blobs.discard_copy(verdict.blob):
            report.verdict = Died("copy_damaged", f"{verdict.detail}; it is copied from the object storage again")

    def discard_report(self, report: AttemptReport) -> None:
        """Delete the blobs of a report that will not be stored."""
        every = (report, *report.variants.values())
        self._sweeper.discard([digest for each in every for digest in each.digests])

    def remove_spool_dir(self, claim: Claim) -> None:
        """Delete the spool directory of an attempt whose process writes nothing more."""
        self._spool.remove_attempt(claim.token)

    def _apply_sweep(
        self, work: UnitOfWork, attempt: Attempt, recorder: AttemptRecorder, claim: Claim, report: AttemptReport
    ) -> list[str]:
        """Apply the reports of a sweep and of its variants, whose states determine that of the sweep."""
        variants = SweepRecorder(work, attempt, recorder, self._notify)
        discarded = variants.apply_reports(report.variants, claim.policy, report.pid or attempt.pid)
        if report.verdict is not None:
            report = replace(report, verdict=variants.end(report.verdict))
        return discarded + apply_report(recorder, work, claim.policy, report)

    def _compare_replay(self, claim: Claim, report: AttemptReport) -> None:
        """Add the comparison to the last report of a successful replay, so that one commit stores both."""
        if isinstance(report.verdict, Finished) and report.verdict.outcome == "succeeded":
            with self._store.read() as work:
                fit = work.fits.get(claim.fit.id)
            report.comparison = compare_replay(self._store, self._integrity, fit, report)
