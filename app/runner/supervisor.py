"""The supervisor: the thread that runs fits, from the claim of each to the record of its end.

One thread does all of it: `takeover` decides whether this server runs fits, `stop_control` stops processes,
`attempt_starter` claims fits and starts processes, `report_recorder` stores what they report. Nothing else starts a
process or stores its reports, so messages and exits are handled in order.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.config.settings import Settings
from app.domain.clock import Clock
from app.domain.fit import FitState
from app.runner.active_attempt import ActiveAttempt
from app.runner.attempt_starter import AttemptStarter
from app.runner.heartbeat_monitor import HeartbeatMonitor
from app.runner.port import Handle, Runner
from app.runner.process_manager import ManagedProcess, ProcessManager
from app.runner.process_status import resident_bytes
from app.runner.report_recorder import ReportRecorder
from app.runner.stop_control import StopControl
from app.runner.supervision import ActiveAttempts, Supervision
from app.runner.takeover import Takeover
from app.service.attempts.attempts import Attempts
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.resources.memory import MemoryPool
from app.service.resources.workers import WorkerStatus

CLOSE_SECONDS = 5.0
"""How much longer than its grace period a drain waits for processes that do not exit."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """What a supervisor shares with others.

    Attributes:
        backoff_seconds: the delay before the next attempt after the first, second, ... crash in a row; by default
            the factors of `report_recorder` times `retry_seconds`.
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
        active = ActiveAttempts(attempts, runner, clock, settings.metrics_flush_seconds)
        self._shared = Supervision(attempts, runner, settings, clock, options.leadership, active)
        self._active = active
        self._scheduler = self._shared.scheduler
        self._runner = runner
        self._clock = clock
        self._drain_seconds = settings.drain_seconds
        self._processes = options.processes or ProcessManager(runner)
        memory = options.memory or MemoryPool()
        memory.on_released(self.wake)
        self._takeover = Takeover(self._shared)
        self._stops = StopControl(self._shared)
        self._starter = AttemptStarter(self._shared, self._processes, memory, options.check_storage)
        self._recorder = ReportRecorder(self._shared, options.backoff_seconds)
        self._monitor = HeartbeatMonitor(clock, settings.lease_seconds)
        self._draining = False
        self._drain_ends: float | None = None
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self._workers: tuple[tuple[Handle, int, FitState], ...] = ()

    def start(self) -> None:
        """Start the thread; attempts that are still running are resumed."""
        self._runner.open()
        self._takeover.resume_running()
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
        self._shared.change_requests.append((fit_id, variant))
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
        if self._shared.leadership.epoch is None:
            return
        fit_ids = self._active.fit_ids if fit_id is None else [fit_id]
        self._shared.change_requests.extend((each, None) for each in fit_ids)
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

    def worker_states(self) -> list[tuple[int, str]]:
        """Return the pids of the processes that have started, and their states; from any thread."""
        return [(pid, state.value) for _, pid, state in self._workers] + self._processes.worker_states()

    def drain(self) -> None:
        """Stop all fits with a checkpoint; they resume at the next start. Returns when all processes have exited.

        Fits that can continue without this server do. Takes little longer than `settings.drain_seconds`:
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
                threading.Event().wait(self._shared.retry_seconds)

    def _is_idle(self) -> bool:
        overdue = self._drain_ends is not None and self._clock.monotonic() > self._drain_ends + CLOSE_SECONDS
        return (self._has_no_attempts and self._takeover.is_settled and self._processes.is_idle) or overdue

    @property
    def _has_no_attempts(self) -> bool:
        """Whether no attempt needs this server any more, and all received reports are stored."""
        if self._runner.is_remote:
            return not any(attempt.report or attempt.buffer.flush_at for attempt in self._active)
        return len(self._active) == 0

    def _resident_bytes(self, pid: int) -> int:
        return 0 if self._runner.is_remote else resident_bytes(pid)

    def _run_once(self) -> None:
        self._processes.run_commands()
        self._takeover.follow(draining=self._draining)
        self._stops.apply_requests()
        if self._draining and self._drain_ends is None:
            self._begin_drain()
        if self._may_claim:
            self._starter.claim_due()
        self._poll()
        for attempt in self._active:
            self._stops.enforce_time_limits(attempt)
            self._recorder.flush(attempt, draining=self._draining)
        self._workers = tuple(
            (attempt.handle, attempt.pid, attempt.state)
            for attempt in self._active
            if attempt.pid is not None and not attempt.ended
        )

    def _begin_drain(self) -> None:
        self._drain_ends = self._clock.monotonic() + self._drain_seconds
        self._stops.drain(self._drain_seconds)
        self._processes.drain(self._drain_seconds)

    @property
    def _may_claim(self) -> bool:
        """Whether this server runs fits and is not draining."""
        return self._takeover.leads and not self._draining

    def _poll(self) -> None:
        """Wait for messages, and kill processes whose heartbeat has timed out."""
        timeout = self._poll_timeout()
        on_hold = [attempt.handle for attempt in self._active if attempt.on_hold]
        reporting = set()
        for report in self._runner.receive(timeout, on_hold):
            reporting.add(report.handle)
            if not self._processes.handle_message(report):
                self._recorder.receive(report, draining=self._draining)
        for stalled in self._monitor.update(self._monitored(), reporting, timeout):
            stalled.stalled = True
            _logger.warning("%s: heartbeat timed out; killing its process", stalled.handle.owner_id)
            self._runner.kill(stalled.handle)

    def _monitored(self) -> Iterator[ActiveAttempt | ManagedProcess]:
        """Iterate over all processes."""
        yield from self._active
        yield from self._processes.processes

    def _poll_timeout(self) -> float | None:
        """Return how long to wait for messages, None for no limit."""
        if self._may_claim and self._scheduler.wakeup_pending and self._starter.has_free_worker:
            return 0.0
        if self._drain_ends is not None and self._is_idle():
            return 0.0
        deadlines = [*self._deadlines()]
        return max(0.0, min(deadlines) - self._clock.monotonic()) if deadlines else None

    def _deadlines(self) -> Iterator[float]:
        """Iterate over the times at which something is due even without messages."""
        if self._shared.change_requests:
            yield self._clock.monotonic() + self._shared.retry_seconds
        yield from self._takeover.deadlines()
        if self._may_claim:
            yield from self._scheduler.deadlines()
        elif self._drain_ends is not None:
            yield self._drain_ends + CLOSE_SECONDS
        yield from (self._monitor.expires_at(each) for each in self._monitored() if each.is_working)
        for attempt in self._active:
            if (due_at := attempt.flush_at()) is not None:
                yield due_at
            if (
                attempt.is_working
                and not attempt.stopping
                and (expires_at := attempt.expires_at(self._clock)) is not None
            ):
                yield expires_at
