"""When the supervisor looks at the queue, and which fits it passes over."""

from collections.abc import Iterator, Set


class Turns:
    """Notes of what there is to wait for; times are the monotonic clock's. Any thread may call `wake`."""

    def __init__(self) -> None:
        """Begin with a look."""
        self._woken = True
        self._look_at: float | None = None
        self._rests_until: dict[str, float] = {}

    @property
    def woken(self) -> bool:
        """Whether there may be something new in the queue."""
        return self._woken

    @property
    def resting(self) -> Set[str]:
        """The fits that are not to be claimed yet."""
        return self._rests_until.keys()

    def wake(self) -> None:
        """Have the queue looked at as soon as a worker is free."""
        self._woken = True

    def rest(self, fit_id: str, until: float) -> None:
        """Pass over a fit for a while."""
        self._rests_until[fit_id] = until

    def look_at(self, moment: float | None) -> None:
        """Have the queue looked at then, whether something new has come or not."""
        if moment is not None:
            self._look_at = moment if self._look_at is None else min(moment, self._look_at)

    def take(self, now: float) -> bool:
        """Return whether it is time to look, and begin anew."""
        rested = [fit_id for fit_id, until in self._rests_until.items() if until <= now]
        for fit_id in rested:
            del self._rests_until[fit_id]
        due = self._woken or bool(rested) or (self._look_at is not None and self._look_at <= now)
        if due:
            self._woken, self._look_at = False, None
        return due

    def moments(self) -> Iterator[float]:
        """Go through the moments at which to look again."""
        yield from self._rests_until.values()
        if self._look_at is not None:
            yield self._look_at
