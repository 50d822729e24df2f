"""Steps that have come before their turn."""

import time
from collections.abc import Iterator

from app.domain.frames import Step

MOST = 256
PATIENCE_SECONDS = 10.0

Ahead = tuple[Step, bytes]


class Waiting:
    """Steps by their place, each with the time until which it waits for those before it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_seq: dict[int, list[tuple[float, Ahead]]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether no other step may wait."""
        return self._count >= MOST

    def add(self, seq: int, step: Step, body: bytes) -> None:
        """Have a step wait until place `seq` is next."""
        self._by_seq.setdefault(seq, []).append((time.monotonic() + PATIENCE_SECONDS, (step, body)))
        self._count += 1

    def ready(self, next_seq: int) -> list[Ahead]:
        """Take out the steps whose turn has come, or has passed."""
        if not self._by_seq:
            return []
        places = sorted(seq for seq in self._by_seq if seq <= next_seq)
        return [ahead for seq in places[:1] for _, ahead in self._taken(seq)]

    def overdue(self) -> Iterator[Ahead]:
        """Take out the steps that have waited for too long."""
        now = time.monotonic()
        for seq, waiting in [*self._by_seq.items()]:
            late = [ahead for until, ahead in waiting if until <= now]
            if late:
                still = [(until, ahead) for until, ahead in self._taken(seq) if until > now]
                if still:
                    self._by_seq[seq] = still
                    self._count += len(still)
                yield from late

    def seconds_left(self) -> float | None:
        """Return in how many seconds the next of them will have waited for too long; None if none waits."""
        if not self._by_seq:
            return None
        return min(until for waiting in self._by_seq.values() for until, _ in waiting) - time.monotonic()

    def _taken(self, seq: int) -> list[tuple[float, Ahead]]:
        taken = self._by_seq.pop(seq)
        self._count -= len(taken)
        return taken
