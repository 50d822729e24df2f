"""Detection of stalled processes by their heartbeats."""

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

from app.domain.clock import Clock
from app.runner.port import Handle

POLL_SLACK_SECONDS = 1.0
"""How much longer than its timeout a poll may take. The rest of a longer one is not counted as missing heartbeats: it
was the supervisor that was held up, and messages of the processes are waiting to be read.
"""

STARTING_SECONDS = 120.0
"""How long a process may take until its first message, unless the lease is longer: it may have to load the engine."""


class MonitoredProcess(Protocol):
    """A process with a heartbeat.

    `since_heartbeat` is the time since its last message, counted only while the supervisor was polling. `on_hold`
    is whether the supervisor has stopped reading from it, `is_working` whether messages are still expected.
    `pid` is None until its first message.
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


W = TypeVar("W", bound=MonitoredProcess)


class HeartbeatMonitor:
    """Measures, poll by poll, how long each process has sent nothing.

    The wall time since a message is not used: if the supervisor is suspended (a paused machine, a slow disk), every
    process would look stalled, although their heartbeats wait in the sockets. So the time between two polls counts
    only up to what the poll was meant to take.
    """

    def __init__(self, clock: Clock, lease_seconds: float) -> None:
        """Allow `lease_seconds` between messages of a process that has started."""
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._updated_at = clock.monotonic()

    def update(self, processes: Iterable[W], heard_from: Collection[Handle], timeout: float | None) -> list[W]:
        """Update all processes after a poll with this `timeout`; return those that have exceeded their lease."""
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

    def expires_at(self, processes: MonitoredProcess) -> float:
        """Return when the lease of a process ends if it sends nothing."""
        return self._updated_at + self._lease(processes) - processes.since_heartbeat

    def _lease(self, processes: MonitoredProcess) -> float:
        return self._lease_seconds if processes.pid is not None else max(self._lease_seconds, STARTING_SECONDS)
