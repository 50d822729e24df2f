"""The supervisor: claims fits, has them run, and writes down what their processes report.

One thread does all of it. Nothing else starts a process or writes for one, so what a process says and how it ended
arrive in order, and the database follows.
"""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]

from app.domain.clock import Clock
from app.domain.errors import AdjointError, Conflict, NotFound, RetryLater, StorageFailed, StorageFull
from app.domain.fit import FitState
from app.domain.messages import Control, Failed
from app.runner.inbox import NOW, Inbox
from app.runner.port import Exited, Handle, Runner
from app.service.attempt_progress import Died, Progress
from app.service.attempts import Attempts, Claim
from app.service.workforce import WorkerStatus
from app.settings import Settings

BACKOFF_SECONDS = (1.0, 5.0, 25.0)
"""How long a fit waits after its first, second, third crash in a row; then as after the last."""

CANCEL_GRACE_SECONDS = 10.0
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0
UNRECORDED = Failed("internal_error", "the server could not write down what the fit reported; its log says why")

NOT_NOW = (RetryLater, StorageFull, StorageFailed)
"""Errors after which the same can be tried again, since nothing of it was done."""

STORAGE = "storage"
"""Why an attempt ended before it began, if the disk is to blame and not the fit."""

_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Running:
    """An attempt under way. `news` is what could not be written down yet, to be tried again at `retry_at`."""

    claim: Claim
    handle: Handle
    inbox: Inbox
    state: FitState
    pid: int | None = None
    news: Progress | None = None
    retry_at: float | None = None
    ended: bool = False
    gone: bool = False

    def due_at(self) -> float | None:
        """Return when something is to be written down, None if there is nothing."""
        if self.news is not None:
            return self.retry_at
        return self.inbox.due_at


class Supervisor:
    """Runs fits on `runner`, at most `settings.workers` at a time (a `service.workforce.Workforce`)."""

    def __init__(
        self,
        attempts: Attempts,
        runner: Runner,
        settings: Settings,
        clock: Clock,
        backoff_seconds: Sequence[float] = BACKOFF_SECONDS,
    ) -> None:
        """Do nothing before `start`."""
        self._attempts = attempts
        self._runner = runner
        self._settings = settings
        self._clock = clock
        self._backoff_seconds = tuple(backoff_seconds)
        self._running: dict[Handle, _Running] = {}
        self._rests_until: dict[str, float] = {}
        self._cancelled: deque[tuple[str, str | None]] = deque()
        self._look = True
        self._look_at: float | None = None
        self._draining = False
        self._drain_ends: float | None = None
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self._workers: tuple[tuple[Handle, int, FitState], ...] = ()

    def start(self) -> None:
        """Begin to work."""
        self._runner.open()
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether fits are being run."""
        return self._thread.is_alive() and not self._draining

    def wake(self) -> None:
        """Look at the queue; from any thread."""
        self._look = True
        self._runner.wake()

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Have the process that works on the fit, or on this variant of it, stop, if there is one; from any thread."""
        self._cancelled.append((fit_id, variant))
        self._runner.wake()

    def workers(self) -> list[WorkerStatus]:
        """Return the processes that are at work, as far as they have reported; from any thread."""
        return [
            WorkerStatus(pid, handle.fit_id, handle.attempt, state.value, _rss_bytes(pid))
            for handle, pid, state in self._workers
        ]

    def drain(self) -> None:
        """Have every fit write a checkpoint and stop, to go on at the next start; returns when all is quiet.

        Takes no longer than `settings.drain_seconds` and some: what has not stopped by then is killed.
        """
        self._draining = True
        if self._thread.is_alive():
            self._runner.wake()
            self._thread.join()
        self._runner.close()

    def _supervise(self) -> None:
        while not (self._draining and self._quiet()):
            try:
                self._round()
            except Exception:
                # One fault must not be the end of all fits.
                _logger.exception("the supervisor met a fault and goes on")
                threading.Event().wait(RETRY_SECONDS)

    def _quiet(self) -> bool:
        overdue = self._drain_ends is not None and self._clock.monotonic() > self._drain_ends + CLOSE_SECONDS
        return not self._running or overdue

    def _round(self) -> None:
        self._obey()
        self._claim()
        held = [running.handle for running in self._running.values() if running.news is not None]
        for news in self._runner.receive(self._patience(), held):
            running = self._running.get(news.handle)
            if running is None:
                continue
            if isinstance(news, Exited):
                running.gone = True
                if not running.ended:
                    running.inbox.end(self._death(news))
            elif not running.ended:
                running.inbox.take(news.message, self._clock.monotonic())
        for running in [*self._running.values()]:
            self._settle(running)
        self._workers = tuple(
            (running.handle, running.pid, running.state)
            for running in self._running.values()
            if running.pid is not None and not running.ended
        )

    def _death(self, exited: Exited) -> Died:
        if self._draining:
            return Died("stopped", "the process was stopped, since the server is stopping")
        # One that ends by itself has a verdict to give first.
        return Died("error" if exited.reason == "finished" else exited.reason, exited.detail)

    def _obey(self) -> None:
        while self._cancelled:
            fit_id, variant = self._cancelled.popleft()
            for running in self._running.values():
                if running.claim.fit.id != fit_id or running.ended:
                    continue
                if variant is not None:
                    self._runner.tell(running.handle, Control("cancel", variant))
                else:
                    running.inbox.cancel()
                    self._runner.stop(running.handle, "cancel", CANCEL_GRACE_SECONDS)
        if self._draining and self._drain_ends is None:
            self._drain_ends = self._clock.monotonic() + self._settings.drain_seconds
            for running in self._running.values():
                self._runner.stop(running.handle, "drain", self._settings.drain_seconds)

    def _claim(self) -> None:
        now = self._clock.monotonic()
        rested = [fit_id for fit_id, until in self._rests_until.items() if until <= now]
        for fit_id in rested:
            del self._rests_until[fit_id]
        due = self._look_at is not None and self._look_at <= now
        if not (self._look or rested or due) or self._draining:
            return
        self._look, self._look_at = False, None
        while len(self._running) < self._settings.workers:
            try:
                claim = self._attempts.claim(skip=self._rests_until.keys())
            except NOT_NOW as error:
                _logger.warning("no fit can be begun: %s", error.detail)
                self._look_at = now + RETRY_SECONDS
                return
            if claim is None:
                return
            self._begin(claim)

    def _begin(self, claim: Claim) -> None:
        handle = Handle(claim.fit.id, claim.fit.attempt, claim.token)
        running = _Running(claim, handle, Inbox(self._settings.metrics_flush_seconds), claim.fit.state)
        self._running[handle] = running
        try:
            self._runner.start(self._attempts.assignment(claim))
        except NotFound as error:
            running.gone = True
            running.inbox.end(Failed("input_missing", error.detail))
        except NOT_NOW as error:
            running.gone = True
            running.inbox.end(Died(STORAGE, f"no process could be started: {error.detail}"))
        except (AdjointError, OSError) as error:
            _logger.exception("fit %s cannot be started", claim.fit.id)
            running.gone = True
            running.inbox.end(Died("not_started", f"no process could be started ({type(error).__name__})"))

    def _settle(self, running: _Running) -> None:
        """Write down what is due."""
        due_at = running.due_at()
        if due_at is not None and due_at <= self._clock.monotonic() and not running.ended:
            running.news = running.news or running.inbox.gather()
            self._record(running, running.news)
        if running.gone and running.ended:
            del self._running[running.handle]
            self._look = True

    def _record(self, running: _Running, news: Progress) -> None:
        try:
            recorded = self._attempts.record(running.claim, news)
        except NOT_NOW as error:
            # Its process comes to a halt when the pipe is full, and goes on when this does.
            _logger.warning("fit %s waits: %s", running.claim.fit.id, error.detail)
            running.retry_at = self._clock.monotonic() + RETRY_SECONDS
            return
        except Exception as error:  # noqa: BLE001 (whatever it is, the fit must not seem to go on)
            self._fail(running, news, error)
            return
        running.news = running.retry_at = None
        running.state = recorded.fit.state
        running.pid = running.pid or news.pid
        if recorded.ended:
            self._give_up(running)
            if recorded.fit.state is FitState.INTERRUPTED:
                rest = self._rest_seconds(recorded.losses, news)
                if rest is not None:
                    self._rests_until[recorded.fit.id] = self._clock.monotonic() + rest

    def _rest_seconds(self, losses: int, news: Progress) -> float | None:
        """Return how long a fit waits after an attempt that was lost, None if it need not."""
        if losses:
            return self._backoff_seconds[min(losses, len(self._backoff_seconds)) - 1]
        return RETRY_SECONDS if isinstance(news.verdict, Died) and news.verdict.reason == STORAGE else None

    def _fail(self, running: _Running, news: Progress, error: Exception) -> None:
        """Take care of an attempt whose news cannot be written down, now or later."""
        _logger.error("fit %s: attempt %s is given up", running.claim.fit.id, running.handle.attempt, exc_info=error)
        fenced = isinstance(error, Conflict) and error.code == "fenced"
        if fenced or news.verdict == UNRECORDED:
            self._give_up(running)
        else:
            self._runner.kill(running.handle)
            running.news, running.retry_at = Progress(verdict=UNRECORDED), NOW

    def _give_up(self, running: _Running) -> None:
        """Have nothing more to do with a process; it has said all that counts."""
        running.news = running.retry_at = None
        running.ended = True
        if not running.gone:
            self._runner.kill(running.handle)

    def _patience(self) -> float | None:
        """Return how long the next news may be waited for, None for ever."""
        if self._look and not self._draining and len(self._running) < self._settings.workers:
            return 0.0
        moments = [*self._rests_until.values()] if not self._draining else []
        if self._look_at is not None and not self._draining:
            moments.append(self._look_at)
        moments += [due for running in self._running.values() if (due := running.due_at()) is not None]
        if self._draining and self._drain_ends is not None:
            moments.append(self._drain_ends + CLOSE_SECONDS)
        return max(0.0, min(moments) - self._clock.monotonic()) if moments else None


def _rss_bytes(worker: int) -> int:
    """Return the resident memory of a worker and its other ranks; pages that they share count for each."""
    try:
        family = [process := psutil.Process(worker), *process.children(recursive=True)]
    except psutil.Error:
        return 0
    return sum(map(_own_rss_bytes, family))


def _own_rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
