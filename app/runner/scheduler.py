"""When the supervisor checks the queue, and which fits are backing off."""

from collections.abc import Iterator, Set


class Scheduler:
    """Wakeups, scheduled checks and backoffs; times are those of the monotonic clock. Any thread may call `wake`."""

    def __init__(self) -> None:
        self._wakeup_pending = True
        self._check_at: float | None = None
        self._backoff_until: dict[str, float] = {}

    @property
    def wakeup_pending(self) -> bool:
        """Whether the queue may have changed."""
        return self._wakeup_pending

    @property
    def backing_off(self) -> Set[str]:
        """The fits that must not be claimed yet."""
        return self._backoff_until.keys()

    def wake(self) -> None:
        """Check the queue as soon as a worker is free."""
        self._wakeup_pending = True

    def back_off(self, fit_id: str, until: float) -> None:
        """Do not claim a fit before a time."""
        self._backoff_until[fit_id] = until

    def schedule_check(self, moment: float | None) -> None:
        """Check the queue at this time at the latest."""
        if moment is not None:
            self._check_at = moment if self._check_at is None else min(moment, self._check_at)

    def take_due(self, now: float) -> bool:
        """Return whether a check is due, and reset the wakeup and the scheduled time."""
        expired = [fit_id for fit_id, until in self._backoff_until.items() if until <= now]
        for fit_id in expired:
            del self._backoff_until[fit_id]
        due = self._wakeup_pending or bool(expired) or (self._check_at is not None and self._check_at <= now)
        if due:
            self._wakeup_pending, self._check_at = False, None
        return due

    def deadlines(self) -> Iterator[float]:
        """Iterate over the times at which a check is due."""
        yield from self._backoff_until.values()
        if self._check_at is not None:
            yield self._check_at
