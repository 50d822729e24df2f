"""The supervisor's state of an attempt in progress, and the buffer of the reports that are not stored yet."""

from dataclasses import dataclass

from app.domain.clock import Clock
from app.domain.fit import FitRecord, FitState
from app.domain.messages import (
    OUT_OF_MEMORY,
    Died,
    Expired,
    Failed,
    Finished,
    Heartbeat,
    Message,
    MetricRows,
    NumericsChanged,
    Started,
    Verdict,
)
from app.runner.port import Exited, Handle
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.limits import check_expired, timeout_seconds

IMMEDIATELY = float("-inf")


class ReportBuffer:
    """Buffers the reports of an attempt so that one commit stores many. The first metric row and state changes do not
    wait.
    """

    def __init__(self, flush_seconds: float) -> None:
        """Store other reports after `flush_seconds` at the latest."""
        self._flush_seconds = flush_seconds
        self._progress = AttemptReport()
        self._has_rows = False
        self._expired: Expired | None = None
        self.flush_at: float | None = None
        """When to store the reports, by the monotonic clock; None while there are none."""

    def add(self, message: Message, now: float, number: int = 0) -> None:
        """Add a message from the process of the attempt, with its number."""
        if isinstance(message, Heartbeat):
            return
        self._progress.add(message, number)
        if isinstance(message, Started | NumericsChanged | Finished | Failed) or self._is_first_row(message):
            self.flush_at = IMMEDIATELY
        elif self.flush_at is None:
            self.flush_at = now + self._flush_seconds

    def expire(self, verdict: Expired) -> None:
        """Record the limit for which the process is being stopped; it becomes the verdict unless the process finishes
        first.
        """
        self._expired = self._expired or verdict

    def end(self, verdict: Verdict) -> None:
        """Record how the attempt ended, unless its process has reported a verdict itself."""
        self._progress.verdict = self._progress.verdict or verdict
        self.flush_at = IMMEDIATELY

    def take(self) -> AttemptReport:
        """Return all reports and empty the buffer."""
        progress, self._progress = self._progress, AttemptReport()
        if self._expired is not None and _was_stopped_early(progress.verdict):
            progress.verdict = self._expired
        self.flush_at = None
        return progress

    def _is_first_row(self, message: Message) -> bool:
        first = isinstance(message, MetricRows) and not self._has_rows
        self._has_rows = self._has_rows or first
        return first


def _was_stopped_early(verdict: Verdict | None) -> bool:
    """Whether this is the verdict of a process that was stopped before it finished."""
    return isinstance(verdict, Died) or verdict == Finished("drained")


@dataclass(eq=False, slots=True)
class ActiveAttempt:
    """An attempt in progress; times are those of the monotonic clock.

    Attributes:
        fit: the fit as it was last read; its requested state and time limits may change while it runs.
        begun_at: when its process was started.
        report: a report that could not be stored yet; it is retried at `retry_at`.
        since_heartbeat: the time since the last message, counted only while the supervisor was polling.
        stopping: whether the process was asked to stop.
        stalled: whether it is being killed because its heartbeat timed out.
        ended: whether the attempt has ended in the database.
        gone_at: when the process was found to have exited.
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
        """Whether the process has exited."""
        return self.gone_at is not None

    @property
    def on_hold(self) -> bool:
        """Whether messages are not read until the last report is stored."""
        return self.report is not None

    @property
    def is_working(self) -> bool:
        """Whether its process may still make progress."""
        return not (self.ended or self.gone or self.stalled)

    def flush_at(self) -> float | None:
        """Return when a report is to be stored, None if there is none."""
        return self.retry_at if self.report is not None else self.buffer.flush_at

    def seconds(self, now: float) -> float:
        """Return how long the fit has run so far, over all attempts."""
        end = now if self.gone_at is None else self.gone_at
        return self.claim.fit.seconds + end - self.begun_at

    def check_expired(self, clock: Clock) -> Expired | None:
        """Return the time limit that the fit has reached, if any."""
        return check_expired(self.fit, self.seconds(clock.monotonic()), clock.now())

    def expires_at(self, clock: Clock) -> float | None:
        """Return when the fit reaches a time limit, by the monotonic clock; None if it has none."""
        now, fit, limit = clock.monotonic(), self.fit, timeout_seconds(self.fit)
        moments = [] if limit is None else [now + limit - self.seconds(now)]
        if fit.deadline_at is not None:
            moments.append(now + (fit.deadline_at - clock.now()).total_seconds())
        return min(moments, default=None)

    def exit_verdict(self, exited: Exited, *, draining: bool) -> Died | Failed:
        """Return the verdict for a process that exited without reporting one."""
        if exited.reason == "node_lost":
            return Died(exited.reason, exited.detail)
        if self.stalled:
            return Died("stalled", "no heartbeat within the lease; the process was killed")
        if draining:
            return Died("stopped", "the process was stopped, since the server is stopping")
        if self.stopping and exited.reason == "killed":
            return Died("stopped", "the process did not exit within its grace period and was killed")
        # One variant of a sweep must not fail the others: they resume in a new process.
        if exited.reason == "blas_abort" and self.fit.sweep is None:
            return OUT_OF_MEMORY
        # A process that finishes normally reports its verdict first, so this one did not.
        return Died("error" if exited.reason == "finished" else exited.reason, exited.detail)
