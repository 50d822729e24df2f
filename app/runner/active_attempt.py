"""An attempt in progress as the supervisor sees it, and the buffer of the reports that are not stored yet."""

from dataclasses import dataclass

from app.domain.clock import Clock
from app.domain.fit import FitRecord, FitState
from app.domain.messages import (
    Died,
    Expired,
    Failed,
    Finished,
    Heartbeat,
    Message,
    NumericsChanged,
    Points,
    Started,
    Verdict,
)
from app.runner.port import Exited, Handle
from app.service.attempts.crashes import OUT_OF_MEMORY
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.limits import check_expired, timeout_seconds

IMMEDIATELY = float("-inf")


class ReportBuffer:
    """Gathers news so that one commit takes many; the first row and changes of state do not wait."""

    def __init__(self, flush_seconds: float) -> None:
        """Let other news wait for `flush_seconds` at most."""
        self._flush_seconds = flush_seconds
        self._progress = AttemptReport()
        self._has_rows = False
        self._expired: Expired | None = None
        self.flush_at: float | None = None
        """When the news should be written down, by the monotonic clock; None while there are none."""

    def add(self, message: Message, now: float) -> None:
        """Take a message from the attempt's process."""
        if isinstance(message, Heartbeat):
            return
        self._progress.add(message)
        if isinstance(message, Started | NumericsChanged | Finished | Failed) or self._is_first_row(message):
            self.flush_at = IMMEDIATELY
        elif self.flush_at is None:
            self.flush_at = now + self._flush_seconds

    def expire(self, verdict: Expired) -> None:
        """Note the limit for which the process is being stopped: it ends by that, unless it is done before."""
        self._expired = self._expired or verdict

    def end(self, verdict: Verdict) -> None:
        """Note how the attempt ended, unless its process has said so itself."""
        self._progress.verdict = self._progress.verdict or verdict
        self.flush_at = IMMEDIATELY

    def take(self) -> AttemptReport:
        """Return all news and start again without any."""
        progress, self._progress = self._progress, AttemptReport()
        if self._expired is not None and _was_stopped_early(progress.verdict):
            progress.verdict = self._expired
        self.flush_at = None
        return progress

    def _is_first_row(self, message: Message) -> bool:
        first = isinstance(message, Points) and not self._has_rows
        self._has_rows = self._has_rows or first
        return first


def _was_stopped_early(verdict: Verdict | None) -> bool:
    """Whether this is what becomes of a process that is stopped."""
    return isinstance(verdict, Died) or verdict == Finished("drained")


@dataclass(eq=False, slots=True)
class ActiveAttempt:
    """An attempt under way; times are the monotonic clock's.

    Attributes:
        fit: the fit as it was last read: what is asked of it, and its limits of time, may change while it runs.
        begun_at: when its process was started.
        news: what could not be written down yet, to be tried again at `retry_at`.
        silence: for how long nothing was heard of the process while somebody listened.
        stopping: whether the process was asked to end.
        stalled: whether it is killed because of its silence.
        ended: whether the attempt is over in the database.
        gone_at: when the process was found to be gone.
    """

    claim: Claim
    handle: Handle
    buffer: ReportBuffer
    fit: FitRecord
    begun_at: float
    pid: int | None = None
    report: AttemptReport | None = None
    retry_at: float | None = None
    since_heartbeat: float = 0.0
    stopping: bool = False
    stalled: bool = False
    ended: bool = False
    gone_at: float | None = None

    @property
    def state(self) -> FitState:
        """The state of the fit as it was last read."""
        return self.fit.state

    @property
    def gone(self) -> bool:
        """Whether there is no process any more."""
        return self.gone_at is not None

    @property
    def on_hold(self) -> bool:
        """Whether the process has to wait until its last news are written down."""
        return self.report is not None

    @property
    def is_working(self) -> bool:
        """Whether its process may still get the fit further."""
        return not (self.ended or self.gone or self.stalled)

    def flush_at(self) -> float | None:
        """Return when something is to be written down, None if there is nothing."""
        return self.retry_at if self.report is not None else self.buffer.flush_at

    def seconds(self, now: float) -> float:
        """Return how long the fit has run by now, over all attempts."""
        end = now if self.gone_at is None else self.gone_at
        return self.claim.fit.seconds + end - self.begun_at

    def check_expired(self, clock: Clock) -> Expired | None:
        """Say which limit the fit has come to, if any."""
        return check_expired(self.fit, self.seconds(clock.monotonic()), clock.now())

    def expires_at(self, clock: Clock) -> float | None:
        """Return when the fit comes to a limit, as far as can be told now; None if it has none."""
        now, fit, limit = clock.monotonic(), self.fit, timeout_seconds(self.fit)
        moments = [] if limit is None else [now + limit - self.seconds(now)]
        if fit.deadline_at is not None:
            moments.append(now + (fit.deadline_at - clock.now()).total_seconds())
        return min(moments, default=None)

    def exit_verdict(self, exited: Exited, *, draining: bool) -> Died | Failed:
        """Say what it means that the process is gone, if it gave no verdict."""
        if self.stalled:
            return Died("stalled", "the process had not been heard of for too long and was killed")
        if draining:
            return Died("stopped", "the process was stopped, since the server is stopping")
        if self.stopping and exited.reason == "killed":
            return Died("stopped", "the process did not end in the time that it was given, and was killed")
        # What a variant of a sweep does to its process the others need not suffer for: they go on in another one.
        if exited.reason == "blas_abort" and self.fit.sweep is None:
            return OUT_OF_MEMORY
        # One that ends by itself has a verdict to give first.
        return Died("error" if exited.reason == "finished" else exited.reason, exited.detail)
