"""What the parts of the supervisor share: the attempts in progress, the requests for changes, and services."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from app.config.settings import Settings
from app.domain.clock import Clock
from app.domain.errors import RetryLater, StorageFailed, StorageFull, Superseded
from app.runner.active_attempt import ActiveAttempt, ReportBuffer
from app.runner.port import Handle, Runner
from app.runner.scheduler import Scheduler
from app.service.attempts.attempts import Attempts
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.attempts.progress import Claim

RETRYABLE = (RetryLater, StorageFull, StorageFailed, Superseded)
"""Errors after which an operation can be retried, since nothing of it was done."""

STORAGE_REASON = "storage"
"""Reason of an attempt that ended before it started because of the disk, not of the fit."""


class ActiveAttempts:
    """The attempts in progress, by the handles of their processes. Only the supervisor's thread changes them."""

    def __init__(self, attempts: Attempts, runner: Runner, clock: Clock, flush_seconds: float) -> None:
        """Buffer the reports of each attempt for up to `flush_seconds`."""
        self._attempts = attempts
        self._runner = runner
        self._clock = clock
        self._flush_seconds = flush_seconds
        self._active: dict[Handle, ActiveAttempt] = {}

    def __len__(self) -> int:
        return len(self._active)

    def __iter__(self) -> Iterator[ActiveAttempt]:
        """Iterate over a copy of the attempts: some may be removed during the iteration."""
        return iter([*self._active.values()])

    def get(self, handle: Handle) -> ActiveAttempt | None:
        """Return the attempt of a process, None if there is none."""
        return self._active.get(handle)

    @property
    def fit_ids(self) -> list[str]:
        """The fits with an attempt; from any thread."""
        return [handle.owner_id for handle in [*self._active]]

    @property
    def exiting_fits(self) -> Iterator[str]:
        """The fits whose last process may not have exited yet: a fit never has two processes."""
        return (attempt.claim.fit.id for attempt in self if attempt.ended)

    def add(self, claim: Claim) -> ActiveAttempt:
        """Add the attempt of a claim, which begins now."""
        handle = Handle(claim.fit.id, claim.fit.attempt, claim.token)
        buffer = ReportBuffer(self._flush_seconds)
        attempt = ActiveAttempt(claim, handle, buffer, claim.fit, begun_at=self._clock.monotonic())
        self.put(attempt)
        return attempt

    def put(self, attempt: ActiveAttempt) -> None:
        """Add an attempt that exists already."""
        self._active[attempt.handle] = attempt

    def remove(self, attempt: ActiveAttempt) -> None:
        """Forget an attempt."""
        del self._active[attempt.handle]

    def stop(self, attempt: ActiveAttempt, kind: Literal["cancel", "drain"], grace: float) -> None:
        """Ask the process to write a checkpoint and exit; it is killed after `grace` seconds."""
        attempt.stopping = True
        self._runner.stop(attempt.handle, kind, grace)

    def abandon(self, attempt: ActiveAttempt) -> None:
        """Ignore what the process reports from now on, and kill it."""
        if attempt.report is not None:
            self._attempts.discard_report(attempt.report)
        attempt.report = attempt.retry_at = None
        attempt.ended = True
        if not attempt.gone:
            self._runner.kill(attempt.handle)


@dataclass(frozen=True, slots=True)
class Supervision:
    """What the parts of a supervisor share.

    Attributes:
        change_requests: fits, or variants of them, whose requested state is to be read; any thread may append.
        leadership: whether this server runs the fits, where several share a database.
    """

    attempts: Attempts
    runner: Runner
    settings: Settings
    clock: Clock
    leadership: Leadership
    active: ActiveAttempts
    scheduler: Scheduler = field(default_factory=Scheduler)
    change_requests: deque[tuple[str, str | None]] = field(default_factory=deque)

    @property
    def has_peers(self) -> bool:
        """Whether other servers use the database."""
        return self.leadership is not SOLE_SERVER

    @property
    def retry_seconds(self) -> float:
        """Interval after which what has failed for the moment is tried again."""
        return self.settings.retry_seconds
