"""When the supervisor looks at the queue, and which fits it passes over."""

from collections.abc import Iterator, Set


class Scheduler:
    """Notes of what there is to wait for; times are the monotonic clock's. Any thread may call `wake`."""

    def __init__(self) -> None:
        """Begin with a look."""
        self._wakeup_pending = True
        self._check_at: float | None = None
        self._backoff_until: dict[str, float] = {}

    @property
    def wakeup_pending(self) -> bool:
        """Whether there may be something new in the queue."""
        return self._wakeup_pending

    @property
    def backing_off(self) -> Set[str]:
        """The fits that are not to be claimed yet."""
        return self._backoff_until.keys()

    def wake(self) -> None:
        """Have the queue looked at as soon as a worker is free."""
        self._wakeup_pending = True

    def back_off(self, fit_id: str, until: float) -> None:
        """Pass over a fit for a while."""
        self._backoff_until[fit_id] = until

    def schedule_check(self, moment: float | None) -> None:
        """Have the queue looked at then, whether something new has come or not."""
        if moment is not None:
            self._check_at = moment if self._check_at is None else min(moment, self._check_at)

    def take_due(self, now: float) -> bool:
        """Return whether it is time to look, and begin anew."""
        expired = [fit_id for fit_id, until in self._backoff_until.items() if until <= now]
        for fit_id in expired:
            del self._backoff_until[fit_id]
        due = self._wakeup_pending or bool(expired) or (self._check_at is not None and self._check_at <= now)
        if due:
            self._wakeup_pending, self._check_at = False, None
        return due

    def deadlines(self) -> Iterator[float]:
        """Go through the moments at which to look again."""
        yield from self._backoff_until.values()
        if self._check_at is not None:
            yield self._check_at
