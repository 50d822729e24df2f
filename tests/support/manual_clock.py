"""A clock that only moves when a test advances it."""

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Stands still until it is advanced."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        """Return the start plus what has been advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Return the seconds that have been advanced."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._elapsed += seconds
