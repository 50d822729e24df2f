"""Which processes are silent for so long that they must be taken for stalled."""

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

from app.domain.clock import Clock
from app.runner.port import Handle

LISTENING_SECONDS = 1.0
"""What a round of listening may take beyond its waiting. The rest of a longer one does not count as silence: it was the
listener who was held up, and what the processes have to say waits to be heard."""

STARTING_SECONDS = 120.0
"""How long a process may take to its first word, if the lease is not longer: it may have to load everything."""


class Watched(Protocol):
    """A process that is watched.

    `silence` is for how long nothing was heard of it while somebody listened, `held` whether it has to wait for its
    listener, `at_work` whether it is still to say something; `pid` is None until its first word.
    """

    silence: float

    @property
    def handle(self) -> Handle: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def held(self) -> bool: ...

    @property
    def at_work(self) -> bool: ...


W = TypeVar("W", bound=Watched)


class Vigil:
    """Adds up the silence of processes, round by round."""

    def __init__(self, clock: Clock, lease_seconds: float) -> None:
        """Allow processes that are up a silence of `lease_seconds`."""
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._at = clock.monotonic()

    def keep(self, running: Iterable[W], heard: Collection[Handle], patience: float | None) -> list[W]:
        """Note who was heard in a round that waited up to `patience` seconds; return those silent for too long."""
        now = self._clock.monotonic()
        silence = min(now - self._at, LISTENING_SECONDS + (patience or 0.0))
        self._at = now
        stalled = []
        for each in running:
            each.silence = 0.0 if each.handle in heard or each.held else each.silence + silence
            if each.at_work and each.silence > self._lease(each):
                stalled.append(each)
        return stalled

    def ends_at(self, running: Watched) -> float:
        """Return when the process will have been silent for too long, if it stays so."""
        return self._at + self._lease(running) - running.silence

    def _lease(self, running: Watched) -> float:
        return self._lease_seconds if running.pid is not None else max(self._lease_seconds, STARTING_SECONDS)
