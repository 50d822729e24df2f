"""Which processes are silent for so long that they must be taken for stalled."""

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

from app.domain.clock import Clock
from app.runner.port import Handle

POLL_SLACK_SECONDS = 1.0
"""What a round of listening may take beyond its waiting. The rest of a longer one does not count as silence: it was the
listener who was held up, and what the processes have to say waits to be heard."""

STARTING_SECONDS = 120.0
"""How long a process may take to its first word, if the lease is not longer: it may have to load everything."""


class Monitored(Protocol):
    """A process that is watched.

    `since_heartbeat` is the time since its last message, counted only while the supervisor was polling. `on_hold` tells
    whether the supervisor has stopped reading from it, `is_working` whether messages are still expected. `pid` is None
    until its first message.
    """

    since_heartbeat: float

    @property
    def handle(self) -> Handle: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def on_hold(self) -> bool: ...

    @property
    def is_working(self) -> bool: ...


W = TypeVar("W", bound=Monitored)


class HeartbeatMonitor:
    """Adds up the silence of processes, round by round."""

    def __init__(self, clock: Clock, lease_seconds: float) -> None:
        """Allow processes that are up a silence of `lease_seconds`."""
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._updated_at = clock.monotonic()

    def update(self, processes: Iterable[W], heard_from: Collection[Handle], timeout: float | None) -> list[W]:
        """Note who was heard in a round that waited up to `timeout` seconds; return those silent for too long."""
        now = self._clock.monotonic()
        since_heartbeat = min(now - self._updated_at, POLL_SLACK_SECONDS + (timeout or 0.0))
        self._updated_at = now
        stalled = []
        for process in processes:
            process.since_heartbeat = (
                0.0 if process.handle in heard_from or process.on_hold else process.since_heartbeat + since_heartbeat
            )
            if process.is_working and process.since_heartbeat > self._lease(process):
                stalled.append(process)
        return stalled

    def expires_at(self, processes: Monitored) -> float:
        """Return when the process will have been silent for too long, if it stays so."""
        return self._updated_at + self._lease(processes) - processes.since_heartbeat

    def _lease(self, processes: Monitored) -> float:
        return self._lease_seconds if processes.pid is not None else max(self._lease_seconds, STARTING_SECONDS)
