"""The supervisor: claims fits, has them run, and writes down what their processes report.

One thread does all of it. Nothing else starts a process or writes for one, so what a process says and how it ended
arrive in order, and the database follows.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Literal

from app.config.settings import Settings
from app.domain.clock import Clock
from app.domain.errors import (
    AdjointError,
    Conflict,
    Corrupt,
    Invalid,
    NotFound,
    RetryLater,
    StorageFailed,
    StorageFull,
    TooLarge,
)
from app.domain.fit import FitState
from app.domain.messages import Control, Died, Failed
from app.runner.active_attempt import NOW, Inbox, Running
from app.runner.heartbeat_monitor import Vigil
from app.runner.port import Exited, Handle, Report, Runner
from app.runner.process_manager import Hosted, SessionHost
from app.runner.process_status import rss_bytes
from app.runner.scheduler import Turns
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import Claim, Progress
from app.service.resources.memory import Room
from app.service.resources.workers import WorkerStatus

BACKOFF_SECONDS = (1.0, 5.0, 25.0)
"""How long a fit waits after its first, second, third crash in a row; then as after the last."""

CANCEL_GRACE_SECONDS = 10.0
"""How long a process that is to stop may take to write a checkpoint; then it is killed."""

RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0

DEADLINE_SECONDS = 60.0
"""How long a deadline is trusted to be as far away as it was: wall clocks are put right at times."""

MEMORY_SECONDS = 5.0
"""How often the queue is looked at while a fit waits for memory."""

UNRECORDED = Failed("internal_error", "the server could not write down what the fit reported; its log says why")

NOT_NOW = (RetryLater, StorageFull, StorageFailed)
"""Errors after which the same can be tried again, since nothing of it was done."""

STORAGE = "storage"
"""Why an attempt ended before it began, if the disk is to blame and not the fit."""

_logger = logging.getLogger(__name__)


class Supervisor:
    """Runs fits on `runner`, at most `settings.workers` at a time (a `service.workforce.Workforce`).

    What a client wants of a fit stands in the database; to cancel, pause or kill it has the supervisor look there. So
    whatever comes together, however late, there is one truth about it.
    """

    def __init__(
        self,
        attempts: Attempts,
        runner: Runner,
        settings: Settings,
        clock: Clock,
        backoff_seconds: Sequence[float] = BACKOFF_SECONDS,
        sessions: SessionHost | None = None,
        room: Room | None = None,
        check_storage: Callable[[], None] = lambda: None,
    ) -> None:
        """Do nothing before `start`. The processes of `sessions`, which are on the same runner, have their turn too.

        The `room` in memory, which those of fits get from `attempts`, is shared with them. No fit is begun while
        `check_storage` raises StorageFull.
        """
        self._attempts = attempts
        self._runner = runner
        self._settings = settings
        self._clock = clock
        self._backoff_seconds = tuple(backoff_seconds)
        self._sessions = sessions or SessionHost(runner)
        self._room = room or Room()
        self._room.on_session_gone(self.wake)
        self._check_storage = check_storage
        self._storage_full = False
        self._running: dict[Handle, Running] = {}
        self._turns = Turns()
        self._changed: deque[tuple[str, str | None]] = deque()
        self._vigil = Vigil(clock, settings.lease_seconds)
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
        """Look at the queue, and at the deadlines of what waits in it; from any thread."""
        self._turns.wake()
        self._runner.wake()

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Have the process that works on the fit, or on this variant of it, stop, if there is one; from any thread."""
        self._changed.append((fit_id, variant))
        self._runner.wake()

    def pause(self, fit_id: str) -> None:
        """Have the process that works on the fit write a checkpoint and go, if there is one; from any thread."""
        self.cancel(fit_id)

    def kill(self, fit_id: str) -> None:
        """Kill the process that works on the fit, if there is one, whose attempt has ended; from any thread."""
        self.cancel(fit_id)

    def heed(self, fit_id: str) -> None:
        """Look at what is asked of the fit now, if a process works on it; from any thread."""
        self.cancel(fit_id)

    def trouble(self) -> str | None:
        """Say why no fit can be started at present, None if one can; from any thread."""
        if not self._draining and self._thread.ident is not None and not self._thread.is_alive():
            return "the thread that runs fits has ended"
        return self._runner.trouble

    def workers(self) -> list[WorkerStatus]:
        """Return the processes that are at work, as far as they have reported; from any thread."""
        fits = [
            WorkerStatus(pid, handle.owner_id, handle.attempt, state.value, rss_bytes(pid))
            for handle, pid, state in self._workers
        ]
        return fits + self._sessions.workers()

    def drain(self) -> None:
        """Have every fit write a checkpoint and stop, to go on at the next start; returns when all is quiet.

        Takes no longer than `settings.drain_seconds` and some: what has not stopped by then is killed.
        """
        self._draining = True
        if self._thread.is_alive():
            self._runner.wake()
            self._thread.join()
        self._runner.close()
        self._sessions.close()

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
        return (not self._running and self._sessions.quiet) or overdue

    def _round(self) -> None:
        self._sessions.obey()
        self._obey()
        self._claim()
        self._listen()
        for running in [*self._running.values()]:
            self._limit(running)
            self._settle(running)
        self._workers = tuple(
            (running.handle, running.pid, running.state)
            for running in self._running.values()
            if running.pid is not None and not running.ended
        )

    def _obey(self) -> None:
        try:
            while self._changed:
                fit_id, variant = self._changed[0]
                for running in self._running.values():
                    if running.claim.fit.id == fit_id and not running.ended:
                        self._heed(running, variant)
                self._changed.popleft()
        except NOT_NOW as error:
            _logger.warning("what is wanted of a fit cannot be found out: %s", error.detail)
        if self._draining and self._drain_ends is None:
            self._drain_ends = self._clock.monotonic() + self._settings.drain_seconds
            for running in self._running.values():
                self._stop(running, "drain", self._settings.drain_seconds)
            self._sessions.drain(self._settings.drain_seconds)

    def _heed(self, running: Running, variant: str | None) -> None:
        """Do what the database says is wanted of a fit."""
        if variant is not None:
            self._runner.tell(running.handle, Control("cancel", variant))
            return
        fit = self._attempts.fit(running.claim)
        if fit is None:
            self._give_up(running)
            return
        running.fit = fit
        if fit.state is FitState.CANCELLING:
            self._stop(running, "cancel", CANCEL_GRACE_SECONDS)
        elif fit.state is FitState.PAUSING:
            self._stop(running, "drain", CANCEL_GRACE_SECONDS)

    def _stop(self, running: Running, kind: Literal["cancel", "drain"], grace: float) -> None:
        running.stopping = True
        self._runner.stop(running.handle, kind, grace)

    def _claim(self) -> None:
        now = self._clock.monotonic()
        if self._draining or not self._turns.take(now):
            return
        try:
            self._turns.look_at(self._before(self._attempts.fail_overdue()))
            self._room.measure(self._sessions.rss_bytes())
            self._check_storage()
            while len(self._running) < self._settings.workers:
                claim = self._attempts.claim(skip={*self._turns.resting, *self._dying()})
                if claim is None:
                    break
                self._begin(claim)
            if self._room.fit_waits:
                # What processes of sessions hold may have become less, and nobody says so.
                self._turns.look_at(now + MEMORY_SECONDS)
            self._storage_full = False
        except NOT_NOW as error:
            if not (self._storage_full and isinstance(error, StorageFull)):
                _logger.warning("no fit can be begun: %s", error.detail)
            self._storage_full = isinstance(error, StorageFull)
            self._turns.look_at(now + RETRY_SECONDS)

    def _dying(self) -> Iterator[str]:
        """Go through the fits whose last process may not be gone yet: there is never more than one of a fit."""
        return (running.claim.fit.id for running in self._running.values() if running.ended)

    def _before(self, deadline: datetime | None) -> float | None:
        """Return when to look at a deadline again, by the monotonic clock."""
        if deadline is None:
            return None
        left = (deadline - self._clock.now()).total_seconds()
        return self._clock.monotonic() + min(max(0.0, left), DEADLINE_SECONDS)

    def _begin(self, claim: Claim) -> None:
        handle = Handle(claim.fit.id, claim.fit.attempt, claim.token)
        now = self._clock.monotonic()
        running = Running(claim, handle, Inbox(self._settings.metrics_flush_seconds), claim.fit, begun_at=now)
        self._running[handle] = running
        try:
            self._runner.start(self._attempts.assignment(claim))
        except NotFound as error:
            running.gone_at = now
            running.inbox.end(Failed("input_missing", error.detail))
        except (TooLarge, Invalid, Corrupt) as error:
            running.gone_at = now
            running.inbox.end(Failed(error.code, error.detail))
        except NOT_NOW as error:
            running.gone_at = now
            running.inbox.end(Died(STORAGE, f"no process could be started: {error.detail}"))
        except (AdjointError, OSError) as error:
            _logger.exception("fit %s cannot be started", claim.fit.id)
            running.gone_at = now
            running.inbox.end(Died("not_started", f"no process could be started ({type(error).__name__})"))

    def _listen(self) -> None:
        """Wait for news, and kill processes that have had none for too long."""
        patience = self._patience()
        held = [running.handle for running in self._running.values() if running.held]
        heard = set()
        for news in self._runner.receive(patience, held):
            heard.add(news.handle)
            if not self._sessions.hear(news):
                self._hear(news)
        for stalled in self._vigil.keep(self._watched(), heard, patience):
            stalled.stalled = True
            _logger.warning("%s: its process is silent and is killed", stalled.handle.owner_id)
            self._runner.kill(stalled.handle)

    def _watched(self) -> Iterator[Running | Hosted]:
        """Go through all processes."""
        yield from self._running.values()
        yield from self._sessions.watched

    def _hear(self, news: Report | Exited) -> None:
        running = self._running.get(news.handle)
        if running is None:
            return
        if isinstance(news, Exited):
            running.gone_at = self._clock.monotonic()
            if not running.ended:
                running.inbox.end(running.death(news, draining=self._draining))
        elif not running.ended:
            running.inbox.take(news.message, self._clock.monotonic())

    def _limit(self, running: Running) -> None:
        """Have a fit stop that has come to a limit of its time, unless it is about to stop as it is."""
        if running.at_work and not running.stopping:
            expired = running.expired(self._clock)
            if expired is not None:
                running.inbox.expire(expired)
                self._stop(running, "drain", CANCEL_GRACE_SECONDS)

    def _settle(self, running: Running) -> None:
        """Write down what is due."""
        due_at, now = running.due_at(), self._clock.monotonic()
        if due_at is not None and due_at <= now and not running.ended:
            running.news = running.news or running.inbox.gather()
            running.news.seconds = running.seconds(now)
            self._record(running, running.news)
        if running.gone and running.ended:
            # One that was given up has left its files.
            self._attempts.gone(running.claim)
            del self._running[running.handle]
            self._turns.wake()

    def _record(self, running: Running, news: Progress) -> None:
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
        running.fit = recorded.fit
        running.pid = running.pid or news.pid
        if recorded.ended:
            self._give_up(running)
            if recorded.fit.state is FitState.INTERRUPTED:
                self._rest(recorded.fit.id, recorded.losses, news)

    def _rest(self, fit_id: str, losses: int, news: Progress) -> None:
        """Let a fit wait for its next attempt if the last one was lost."""
        now = self._clock.monotonic()
        if losses:
            self._turns.rest(fit_id, now + self._backoff_seconds[min(losses, len(self._backoff_seconds)) - 1])
        elif isinstance(news.verdict, Died) and news.verdict.reason == STORAGE:
            self._turns.rest(fit_id, now + RETRY_SECONDS)

    def _fail(self, running: Running, news: Progress, error: Exception) -> None:
        """Take care of an attempt whose news cannot be written down, now or later."""
        fenced = isinstance(error, Conflict) and error.code == "fenced"
        if fenced or news.verdict == UNRECORDED:
            _logger.warning("fit %s: attempt %s is given up", running.claim.fit.id, running.handle.attempt)
            self._give_up(running)
        else:
            _logger.error("fit %s: its news cannot be written down", running.claim.fit.id, exc_info=error)
            self._runner.kill(running.handle)
            running.news, running.retry_at = Progress(verdict=UNRECORDED), NOW

    def _give_up(self, running: Running) -> None:
        """Have nothing more to do with a process; it has said all that counts."""
        if running.news is not None:
            self._attempts.drop(running.news)
        running.news = running.retry_at = None
        running.ended = True
        if not running.gone:
            self._runner.kill(running.handle)

    def _patience(self) -> float | None:
        """Return how long the next news may be waited for, None for ever."""
        if not self._draining and self._turns.woken and len(self._running) < self._settings.workers:
            return 0.0
        moments = [*self._moments()]
        return max(0.0, min(moments) - self._clock.monotonic()) if moments else None

    def _moments(self) -> Iterator[float]:
        """Go through the moments at which there is something to do, whether there are news or not."""
        if self._changed:
            yield self._clock.monotonic() + RETRY_SECONDS
        if not self._draining:
            yield from self._turns.moments()
        elif self._drain_ends is not None:
            yield self._drain_ends + CLOSE_SECONDS
        yield from (self._vigil.ends_at(each) for each in self._watched() if each.at_work)
        for running in self._running.values():
            if (due_at := running.due_at()) is not None:
                yield due_at
            if running.at_work and not running.stopping and (expires_at := running.expires_at(self._clock)) is not None:
                yield expires_at
