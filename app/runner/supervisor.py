"""The supervisor: claims fits, runs their processes, and stores their reports.

One thread does all of it. Nothing else starts a process or stores its reports, so messages and exits are handled in
order.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.config.settings import Settings
from app.domain.clock import Clock
from app.domain.errors import (
    ApiError,
    Conflict,
    Corrupt,
    Invalid,
    NotFound,
    RetryLater,
    StorageFailed,
    StorageFull,
    Superseded,
    TooLarge,
    TransferPending,
)
from app.domain.fit import FitState
from app.domain.messages import Control, Died, Failed
from app.runner.active_attempt import IMMEDIATELY, ActiveAttempt, ReportBuffer
from app.runner.heartbeat_monitor import HeartbeatMonitor
from app.runner.port import Exited, Handle, Report, Runner
from app.runner.process_manager import ManagedProcess, ProcessManager
from app.runner.process_status import resident_bytes
from app.runner.scheduler import Scheduler
from app.service.attempts.attempts import Attempts
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.attempts.progress import AttemptReport, Claim
from app.service.resources.memory import MemoryPool
from app.service.resources.workers import WorkerStatus

BACKOFF_FACTORS = (1.0, 5.0, 25.0)
"""Delay before the next attempt after the first, second, third crash in a row, in `retry_seconds`; then as after the
last.
"""

CANCEL_GRACE_SECONDS = 10.0
"""How long a process that is to stop may take to write a checkpoint; then it is killed."""

CLOSE_SECONDS = 5.0

DEADLINE_SECONDS = 60.0
"""The longest that a deadline is not checked again: wall clocks are adjusted at times."""

MEMORY_CHECK_SECONDS = 5.0
"""Interval of queue checks while a fit waits for memory."""

NOTICE_SECONDS = 2.0
"""Interval in which a server of several looks for changes by the others whose notifications it has missed."""

UNRECORDED = Failed("internal_error", "the server could not store the reports of the fit; the server's log says why")

RETRYABLE = (RetryLater, StorageFull, StorageFailed, Superseded)
"""Errors after which an operation can be retried, since nothing of it was done."""

TRANSFER_SECONDS = 0.1
"""Interval in which a report is tried again whose files are being transferred."""

STORAGE_REASON = "storage"
"""Reason of an attempt that ended before it started because of the disk, not of the fit."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """What a supervisor shares with others.

    Attributes:
        backoff_seconds: the delay before the next attempt after the first, second, ... crash in a row; by default
            BACKOFF_FACTORS times `retry_seconds`.
        processes: the processes that serve sessions and computations, on the same runner; polled in the same loop.
        memory: the memory pool that all processes share; attempts reserve from it.
        check_storage: raises StorageFull while no fit may start for lack of disk space.
        leadership: whether this server runs the fits, where several share a database.
    """

    backoff_seconds: Sequence[float] | None = None
    processes: ProcessManager | None = None
    memory: MemoryPool | None = None
    check_storage: Callable[[], None] = lambda: None
    leadership: Leadership = SOLE_SERVER


class Supervisor:
    """Runs fits on `runner`, at most `settings.workers` at a time; implements `WorkerPool`.

    The state that a client requests of a fit is stored in the database; cancel, pause and kill only make the
    supervisor read it. So there is one source of truth, whatever arrives concurrently or late.

    Of several servers on one database, one runs fits at a time, as its `Leadership` says; each serves its sessions.
    """

    def __init__(
        self,
        attempts: Attempts,
        runner: Runner,
        settings: Settings,
        clock: Clock,
        options: SupervisorOptions = SupervisorOptions(),
    ) -> None:
        self._attempts = attempts
        self._runner = runner
        self._settings = settings
        self._clock = clock
        self._retry_seconds = settings.retry_seconds
        by_default = [factor * self._retry_seconds for factor in BACKOFF_FACTORS]
        self._backoff_seconds = tuple(by_default if options.backoff_seconds is None else options.backoff_seconds)
        self._processes = options.processes or ProcessManager(runner)
        self._memory = options.memory or MemoryPool()
        self._memory.on_released(self.wake)
        self._check_storage = options.check_storage
        self._storage_full = False
        self._leadership = options.leadership
        self._epoch = options.leadership.epoch
        self._lead_again_at = 0.0
        self._active: dict[Handle, ActiveAttempt] = {}
        self._scheduler = Scheduler()
        self._change_requests: deque[tuple[str, str | None]] = deque()
        self._monitor = HeartbeatMonitor(clock, settings.lease_seconds)
        self._draining = False
        self._drain_ends: float | None = None
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self._workers: tuple[tuple[Handle, int, FitState], ...] = ()

    def start(self) -> None:
        """Start the thread; attempts that were found to be running are gone on with."""
        self._runner.open()
        self._resume_running()
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether fits are being run."""
        return self._thread.is_alive() and not self._draining

    def wake(self) -> None:
        """Check the queue and the deadlines of queued fits; from any thread."""
        self._scheduler.wake()
        self._runner.wake()

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Stop the process of the fit, or this variant of it, if there is one; from any thread."""
        self._change_requests.append((fit_id, variant))
        self._runner.wake()

    def pause(self, fit_id: str) -> None:
        """Ask the process of the fit to write a checkpoint and exit, if there is one; from any thread."""
        self.cancel(fit_id)

    def kill(self, fit_id: str) -> None:
        """Kill the process of the fit, whose attempt has ended, if there is one; from any thread."""
        self.cancel(fit_id)

    def check_requested_state(self, fit_id: str) -> None:
        """Read the requested state and limits of the fit now, if it has a process; from any thread."""
        self.cancel(fit_id)

    def check_changes(self, fit_id: str | None = None) -> None:
        """Read what other servers may have changed of a fit, or of all of them; from any thread."""
        if self._leadership.epoch is None:
            return
        fit_ids = [handle.owner_id for handle in [*self._active]] if fit_id is None else [fit_id]
        self._change_requests.extend((each, None) for each in fit_ids)
        self.wake()

    def unavailable_reason(self) -> str | None:
        """Return why no fit can be started now, None if one can; from any thread."""
        if not self._draining and self._thread.ident is not None and not self._thread.is_alive():
            return "the thread that runs fits has ended"
        return self._runner.unavailable_reason

    def workers(self) -> list[WorkerStatus]:
        """Return the processes that have started; from any thread."""
        fits = [
            WorkerStatus(pid, handle.owner_id, handle.attempt, state.value, self._resident_bytes(pid))
            for handle, pid, state in self._workers
        ]
        return fits + self._processes.workers()

    def drain(self) -> None:
        """Stop all fits with a checkpoint; they resume at the next start. Returns when all processes have exited.

        Fits that go on without this server are left to do so. Takes little longer than `settings.drain_seconds`:
        processes that have not exited by then are killed.
        """
        self._draining = True
        if self._thread.is_alive():
            self._runner.wake()
            self._thread.join()
        self._runner.close()
        self._processes.close()

    def _supervise(self) -> None:
        # Reports that arrived before it was to stop are stored: at least one pass follows the request.
        while self._drain_ends is None or not self._is_idle():
            try:
                self._run_once()
            except Exception:
                # One error must not stop all fits.
                _logger.exception("error in the supervisor; continuing")
                threading.Event().wait(self._retry_seconds)

    def _resume_running(self) -> None:
        """Go on with the attempts that have outlived their server."""
        for running in self._attempts.running:
            attempt = self._add_attempt(running.claim)
            attempt.pid = running.pid
            self._change_requests.append((running.claim.fit.id, None))

    def _is_idle(self) -> bool:
        overdue = self._drain_ends is not None and self._clock.monotonic() > self._drain_ends + CLOSE_SECONDS
        return (self._has_no_attempts and self._processes.is_idle) or overdue

    @property
    def _has_no_attempts(self) -> bool:
        """Whether no attempt needs this server any more, which has stored what it has received."""
        if self._runner.is_remote:
            return not any(attempt.report or attempt.buffer.flush_at for attempt in self._active.values())
        return not self._active

    def _resident_bytes(self, pid: int) -> int:
        return 0 if self._runner.is_remote else resident_bytes(pid)

    def _run_once(self) -> None:
        self._processes.run_commands()
        self._follow_leadership()
        self._check_requested_states()
        self._claim()
        self._poll()
        for attempt in [*self._active.values()]:
            self._enforce_time_limits(attempt)
            self._flush(attempt)
        self._workers = tuple(
            (attempt.handle, attempt.pid, attempt.state)
            for attempt in self._active.values()
            if attempt.pid is not None and not attempt.ended
        )

    def _follow_leadership(self) -> None:
        """Take over the fits when this server is to run them, or stop the processes of those it ran in vain."""
        epoch, now = self._leadership.epoch, self._clock.monotonic()
        if epoch == self._epoch or now < self._lead_again_at:
            return
        for attempt in [*self._active.values()]:
            if self._runner.is_remote:  # it goes on under the other server
                self._attempts.release(attempt.claim)
                self._runner.release(attempt.handle)
                del self._active[attempt.handle]
            elif not attempt.ended:
                self._abandon(attempt)
        self._epoch = None
        if epoch is None or self._draining:
            return
        try:
            lost = self._attempts.end_lost(self._runner.adopt)
        except RETRYABLE as error:
            _logger.warning("cannot take over the fits: %s", error.detail)
            self._lead_again_at = now + self._retry_seconds
            return
        _logger.info("this server runs the fits from now on; %s processes were lost", lost)
        self._epoch = epoch
        self._resume_running()
        self._scheduler.wake()

    def _check_requested_states(self) -> None:
        try:
            while self._change_requests:
                fit_id, variant = self._change_requests[0]
                for attempt in self._active.values():
                    if attempt.claim.fit.id == fit_id and not attempt.ended:
                        self._apply_requested_state(attempt, variant)
                self._change_requests.popleft()
        except RETRYABLE as error:
            _logger.warning("cannot read the requested state of a fit: %s", error.detail)
        if self._draining and self._drain_ends is None:
            self._drain_ends = self._clock.monotonic() + self._settings.drain_seconds
            for attempt in () if self._runner.is_remote else self._active.values():
                self._stop(attempt, "drain", self._settings.drain_seconds)
            self._processes.drain(self._settings.drain_seconds)

    def _apply_requested_state(self, attempt: ActiveAttempt, variant: str | None) -> None:
        """Apply the state that the database requests of a fit."""
        if variant is not None:
            self._runner.send(attempt.handle, Control("cancel", variant))
            return
        fit = self._attempts.fit(attempt.claim)
        if fit is None:
            self._abandon(attempt)
            return
        attempt.fit = fit
        if fit.state is FitState.CANCELLING:
            self._stop(attempt, "cancel", CANCEL_GRACE_SECONDS)
        elif fit.state is FitState.PAUSING:
            self._stop(attempt, "drain", CANCEL_GRACE_SECONDS)
        elif fit.sweep is not None and self._has_peers:
            # Another server may have cancelled some of its variants; to be asked again changes nothing.
            for withdrawn in self._attempts.withdrawn_variants(attempt.claim):
                self._runner.send(attempt.handle, Control("cancel", withdrawn))

    def _stop(self, attempt: ActiveAttempt, kind: Literal["cancel", "drain"], grace: float) -> None:
        attempt.stopping = True
        self._runner.stop(attempt.handle, kind, grace)

    def _claim(self) -> None:
        now = self._clock.monotonic()
        if not self._may_claim or not self._scheduler.take_due(now):
            return
        if self._runner.is_remote and self._runner.unavailable_reason is not None:
            self._scheduler.schedule_check(now + self._retry_seconds)
            return
        try:
            self._expect_changes(now)
            self._scheduler.schedule_check(self._check_at(self._attempts.fail_overdue()))
            self._memory.record_usage(self._processes.resident_bytes())
            self._check_storage()
            while len(self._active) < self._settings.workers:
                claim = self._attempts.claim(skip={*self._scheduler.backing_off, *self._exiting_fits()})
                if claim is None:
                    break
                self._start_attempt(claim)
            if self._memory.has_waiting_fit:
                # Session processes may have released memory; nothing notifies of that.
                self._scheduler.schedule_check(now + MEMORY_CHECK_SECONDS)
            if self._attempts.is_waiting_for_files:
                # The end of a transfer wakes the supervisor; one that has failed has to be begun again.
                self._scheduler.schedule_check(now + self._retry_seconds)
            self._storage_full = False
        except RETRYABLE as error:
            if not (self._storage_full and isinstance(error, StorageFull)):
                _logger.warning("cannot start a fit: %s", error.detail)
            self._storage_full = isinstance(error, StorageFull)
            self._scheduler.schedule_check(now + self._retry_seconds)

    def _expect_changes(self, now: float) -> None:
        """Look again soon for what other servers have changed, if there are any: notifications may be missed."""
        if self._has_peers:
            self._change_requests.extend((handle.owner_id, None) for handle in self._active)
            self._scheduler.schedule_check(now + NOTICE_SECONDS)

    @property
    def _has_peers(self) -> bool:
        """Whether other servers use the database."""
        return self._leadership is not SOLE_SERVER

    @property
    def _may_claim(self) -> bool:
        """Whether this server runs fits, and goes on to do so."""
        return self._epoch is not None and not self._draining

    def _exiting_fits(self) -> Iterator[str]:
        """Iterate over the fits whose last process may not have exited yet: a fit never has two processes."""
        return (attempt.claim.fit.id for attempt in self._active.values() if attempt.ended)

    def _check_at(self, deadline: datetime | None) -> float | None:
        """Return when to check a deadline again, by the monotonic clock."""
        if deadline is None:
            return None
        left = (deadline - self._clock.now()).total_seconds()
        return self._clock.monotonic() + min(max(0.0, left), DEADLINE_SECONDS)

    def _start_attempt(self, claim: Claim) -> None:
        attempt = self._add_attempt(claim)
        now = attempt.begun_at
        try:
            self._runner.start(self._attempts.assignment(claim))
        except NotFound as error:
            attempt.gone_at = now
            attempt.buffer.end(Failed("input_missing", error.detail))
        except (TooLarge, Invalid, Corrupt) as error:
            attempt.gone_at = now
            attempt.buffer.end(Failed(error.code, error.detail))
        except RETRYABLE as error:
            attempt.gone_at = now
            attempt.buffer.end(Died(STORAGE_REASON, f"no process could be started: {error.detail}"))
        except (ApiError, OSError) as error:
            _logger.exception("fit %s cannot be started", claim.fit.id)
            attempt.gone_at = now
            attempt.buffer.end(Died("not_started", f"no process could be started ({type(error).__name__})"))

    def _add_attempt(self, claim: Claim) -> ActiveAttempt:
        handle = Handle(claim.fit.id, claim.fit.attempt, claim.token)
        buffer = ReportBuffer(self._settings.metrics_flush_seconds)
        attempt = ActiveAttempt(claim, handle, buffer, claim.fit, begun_at=self._clock.monotonic())
        self._active[handle] = attempt
        return attempt

    def _poll(self) -> None:
        """Wait for messages, and kill processes whose heartbeat has timed out."""
        timeout = self._poll_timeout()
        on_hold = [attempt.handle for attempt in self._active.values() if attempt.on_hold]
        heard = set()
        for report in self._runner.receive(timeout, on_hold):
            heard.add(report.handle)
            if not self._processes.handle_message(report):
                self._handle_message(report)
        for stalled in self._monitor.update(self._monitored(), heard, timeout):
            stalled.stalled = True
            _logger.warning("%s: heartbeat timed out; killing its process", stalled.handle.owner_id)
            self._runner.kill(stalled.handle)

    def _monitored(self) -> Iterator[ActiveAttempt | ManagedProcess]:
        """Iterate over all processes."""
        yield from self._active.values()
        yield from self._processes.processes

    def _handle_message(self, report: Report | Exited) -> None:
        attempt = self._active.get(report.handle)
        if attempt is None:
            return
        if isinstance(report, Exited):
            attempt.gone_at = self._clock.monotonic()
            if not attempt.ended:
                attempt.buffer.end(attempt.exit_verdict(report, draining=self._draining))
        elif not attempt.ended:
            attempt.buffer.add(report.message, self._clock.monotonic(), report.number)

    def _enforce_time_limits(self, attempt: ActiveAttempt) -> None:
        """Stop a fit that has reached a time limit, unless it is stopping already."""
        if attempt.is_working and not attempt.stopping:
            expired = attempt.check_expired(self._clock)
            if expired is not None:
                attempt.buffer.expire(expired)
                self._stop(attempt, "drain", CANCEL_GRACE_SECONDS)

    def _flush(self, attempt: ActiveAttempt) -> None:
        """Store reports that are due, and forget an attempt whose process has exited."""
        due_at, now = attempt.flush_at(), self._clock.monotonic()
        if due_at is not None and (due_at <= now or self._draining) and not attempt.ended:
            attempt.report = attempt.report or attempt.buffer.take()
            attempt.report.seconds = attempt.seconds(now)
            self._record(attempt, attempt.report)
        if attempt.gone and attempt.ended:
            # Only now, after the exit of the process, is its spool directory free of writers, and its memory released.
            self._attempts.release(attempt.claim)
            self._runner.acknowledge(attempt.handle, None)
            del self._active[attempt.handle]
            self._scheduler.wake()

    def _record(self, attempt: ActiveAttempt, report: AttemptReport) -> None:
        try:
            recorded = self._attempts.record(attempt.claim, report)
        except Superseded as error:
            self._fail(attempt, report, error)
            return
        except TransferPending:
            attempt.retry_at = self._clock.monotonic() + TRANSFER_SECONDS
            return
        except RETRYABLE as error:
            # Backpressure: the attempt is on hold, and its process blocks once the socket is full.
            _logger.warning("fit %s: storing its reports is delayed: %s", attempt.claim.fit.id, error.detail)
            attempt.retry_at = self._clock.monotonic() + self._retry_seconds
            return
        except Exception as error:  # noqa: BLE001 (whatever it is, the fit must not appear to be running)
            self._fail(attempt, report, error)
            return
        attempt.report = attempt.retry_at = None
        if report.received:
            self._runner.acknowledge(attempt.handle, report.received)
        attempt.fit = recorded.fit
        attempt.pid = attempt.pid or report.pid
        if recorded.ended:
            self._abandon(attempt)
            if recorded.fit.state is FitState.INTERRUPTED:
                self._back_off(recorded.fit.id, recorded.losses, report)

    def _back_off(self, fit_id: str, losses: int, report: AttemptReport) -> None:
        """Delay the next attempt if the last one crashed."""
        now = self._clock.monotonic()
        if losses:
            self._scheduler.back_off(fit_id, now + self._backoff_seconds[min(losses, len(self._backoff_seconds)) - 1])
        elif isinstance(report.verdict, Died) and report.verdict.reason in (STORAGE_REASON, "node_lost"):
            self._scheduler.back_off(fit_id, now + self._retry_seconds)

    def _fail(self, attempt: ActiveAttempt, report: AttemptReport, error: Exception) -> None:
        """Handle reports that cannot be stored, now or later."""
        # Fenced: a newer attempt, or a kill, has taken the token. Whatever this process still reports belongs to an
        # attempt that has ended in the database, so it is dropped, and the process is killed.
        fenced = isinstance(error, Conflict) and error.code == "fenced"
        if fenced or report.verdict == UNRECORDED:
            _logger.warning("fit %s: attempt %s is abandoned", attempt.claim.fit.id, attempt.handle.attempt)
            self._abandon(attempt)
        else:
            _logger.error("fit %s: its reports cannot be stored", attempt.claim.fit.id, exc_info=error)
            self._runner.kill(attempt.handle)
            attempt.report, attempt.retry_at = AttemptReport(verdict=UNRECORDED), IMMEDIATELY

    def _abandon(self, attempt: ActiveAttempt) -> None:
        """Ignore what the process reports from now on, and kill it."""
        if attempt.report is not None:
            self._attempts.discard_report(attempt.report)
        attempt.report = attempt.retry_at = None
        attempt.ended = True
        if not attempt.gone:
            self._runner.kill(attempt.handle)

    def _poll_timeout(self) -> float | None:
        """Return how long to wait for messages, None for no limit."""
        if self._may_claim and self._scheduler.wakeup_pending and len(self._active) < self._settings.workers:
            return 0.0
        if self._drain_ends is not None and self._is_idle():
            return 0.0
        deadlines = [*self._deadlines()]
        return max(0.0, min(deadlines) - self._clock.monotonic()) if deadlines else None

    def _deadlines(self) -> Iterator[float]:
        """Iterate over the times at which something is due even without messages."""
        if self._change_requests:
            yield self._clock.monotonic() + self._retry_seconds
        if self._leadership.epoch != self._epoch:
            yield self._lead_again_at
        if self._may_claim:
            yield from self._scheduler.deadlines()
        elif self._drain_ends is not None:
            yield self._drain_ends + CLOSE_SECONDS
        yield from (self._monitor.expires_at(each) for each in self._monitored() if each.is_working)
        for attempt in self._active.values():
            if (due_at := attempt.flush_at()) is not None:
                yield due_at
            if (
                attempt.is_working
                and not attempt.stopping
                and (expires_at := attempt.expires_at(self._clock)) is not None
            ):
                yield expires_at
