"""An attempt under way, as the supervisor sees it."""

from dataclasses import dataclass

from app.domain.clock import Clock
from app.domain.fit import FitRecord, FitState
from app.domain.messages import Failed
from app.domain.verdict import Died, Expired
from app.runner.inbox import Inbox
from app.runner.port import Exited, Handle
from app.service.attempts.attempt_progress import Progress
from app.service.attempts.claim import Claim
from app.service.attempts.crashes import OUT_OF_MEMORY
from app.service.fits.time_limits import expired, timeout_seconds


@dataclass(eq=False, slots=True)
class Running:
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
    inbox: Inbox
    fit: FitRecord
    begun_at: float
    pid: int | None = None
    news: Progress | None = None
    retry_at: float | None = None
    silence: float = 0.0
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
    def held(self) -> bool:
        """Whether the process has to wait until its last news are written down."""
        return self.news is not None

    @property
    def at_work(self) -> bool:
        """Whether its process may still get the fit further."""
        return not (self.ended or self.gone or self.stalled)

    def due_at(self) -> float | None:
        """Return when something is to be written down, None if there is nothing."""
        return self.retry_at if self.news is not None else self.inbox.due_at

    def seconds(self, now: float) -> float:
        """Return how long the fit has run by now, over all attempts."""
        end = now if self.gone_at is None else self.gone_at
        return self.claim.fit.seconds + end - self.begun_at

    def expired(self, clock: Clock) -> Expired | None:
        """Say which limit the fit has come to, if any."""
        return expired(self.fit, self.seconds(clock.monotonic()), clock.now())

    def expires_at(self, clock: Clock) -> float | None:
        """Return when the fit comes to a limit, as far as can be told now; None if it has none."""
        now, fit, limit = clock.monotonic(), self.fit, timeout_seconds(self.fit)
        moments = [] if limit is None else [now + limit - self.seconds(now)]
        if fit.deadline_at is not None:
            moments.append(now + (fit.deadline_at - clock.now()).total_seconds())
        return min(moments, default=None)

    def death(self, exited: Exited, *, draining: bool) -> Died | Failed:
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
