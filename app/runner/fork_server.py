"""The runner's side of the fork server: started, monitored, and restarted if it exits or stops responding."""

import contextlib
import os
import signal
import socket
import subprocess
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.domain.clock import Clock
from app.domain.frames import DYING, FORK_SERVER, LOADING, ORDER, PING
from app.runner.heartbeat_monitor import STARTING_SECONDS

PING_SECONDS = 5.0
"""Interval of pings, unless the lease is short."""

PINGS_PER_LEASE = 4
"""The least number of pings within one lease."""

MAX_UNANSWERED = 2
"""After this many unanswered pings the fork server counts as unavailable."""

BACKOFF_SECONDS = (0.0, 1.0, 5.0, 25.0)
"""Delay before a restart, by the number of exits since it was last ready."""

END_SECONDS = 5.0

_IMPORT_ROOT = Path(__file__).resolve().parents[2]
# In force before NumPy is loaded: sums must not depend on the number of cores, nor anything on the seed of a hash.
_ENVIRONMENT = {
    "PYTHONPATH": str(_IMPORT_ROOT),
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class ForkServerExit:
    """How the fork server ended: by an `error`, killed since it was `silent`, or by exit code or signal.

    `detail` is a sentence for people.
    """

    status: int
    detail: str
    error: bool = False
    silent: bool = False


class ForkServer:
    """One fork server at a time. One thread uses it; other threads may only read `unavailable_reason`.

    It is pinged regularly. The number of unanswered pings in a row counts, not the time: a runner that was itself
    suspended has sent no pings, so it does not mistake its own pause for one of the fork server.
    """

    def __init__(self, clock: Clock, lease_seconds: float) -> None:
        """Start nothing; it is replaced if it does not respond for `lease_seconds`, or longer while it loads."""
        self._clock = clock
        self._ping_seconds = min(PING_SECONDS, lease_seconds / PINGS_PER_LEASE)
        self._lease_seconds = lease_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._loading = True
        self._unanswered = 0
        self._check_at = 0.0
        self._exits = 0
        self._last_error: str | None = None
        self.unavailable_reason: str | None = None
        """Why no process can be started now, None if one can."""

    @property
    def channel(self) -> socket.socket | None:
        """The socket to poll, None if there is no fork server."""
        return self._channel

    @property
    def pid(self) -> int | None:
        """Return its process, None if there is none."""
        return None if self._process is None else self._process.pid

    @property
    def check_at(self) -> float:
        """Return when to call `check_alive` next, by the monotonic clock."""
        return self._check_at

    def open(self, command: Sequence[str]) -> socket.socket:
        """Start the fork server and return its channel; it loads the engine in the background. OSError if it cannot
        start.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 (the command is fixed)
                    command,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=_environment(),
                    start_new_session=True,  # Ctrl-C is for the server, which then drains
                )
            except OSError as error:
                ours.close()
                self._record_exit(f"it cannot be started ({type(error).__name__}: {error.strerror})")
                raise
        self._channel = ours
        self._loading, self._unanswered, self._last_error = True, 0, None
        self._check_at = self._clock.monotonic() + self._ping_seconds
        return ours

    def send_order(self, number: int, what: int, descriptors: Sequence[int] = ()) -> None:
        """Send an order, with descriptors. OSError if it cannot be sent."""
        if self._channel is None:
            raise ConnectionResetError("there is no fork server")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))] if descriptors else []
        # One that takes no orders any more must not hold up the runner.
        self._channel.sendmsg([ORDER.pack(number, what)], rights, socket.MSG_DONTWAIT)

    def check_alive(self) -> ForkServerExit | None:
        """Send a ping if one is due; kill the fork server, and return how it ended, if it has not responded for too
        long.
        """
        now = self._clock.monotonic()
        if self._channel is None or now < self._check_at:
            return None
        since_heartbeat = self._unanswered * self._ping_seconds
        if since_heartbeat >= (max(self._lease_seconds, STARTING_SECONDS) if self._loading else self._lease_seconds):
            return self.end(since_heartbeat)
        if self._unanswered >= MAX_UNANSWERED and not self._loading:
            self.unavailable_reason = (
                f"the process that workers are forked from has not answered for {since_heartbeat:.0f} s"
            )
        self._check_at = now + self._ping_seconds
        self._unanswered += 1
        # The reader of the channel notices a process that is gone.
        with contextlib.suppress(OSError):
            self.send_order(FORK_SERVER, PING)
        return None

    def read(self) -> tuple[int, int] | ForkServerExit | None:
        """Return number and status of the next worker that ended; None for a report about the fork server itself."""
        assert self._channel is not None
        try:
            report = self._channel.recv(ORDER.size, socket.MSG_WAITALL)
            if len(report) < ORDER.size:
                return self.end()
            number, status = ORDER.unpack(report)
            if number == DYING:
                self._last_error = self._channel.recv(status, socket.MSG_WAITALL).decode(errors="replace")
                return None
        except OSError:
            return self.end()
        self._unanswered = 0
        if number != FORK_SERVER:
            return number, status
        self._loading = status == LOADING
        if not self._loading:
            self._exits, self.unavailable_reason = 0, None
        return None

    def end(self, since_heartbeat: float | None = None, *, kill: bool = False) -> ForkServerExit:
        """End the fork server and its workers; return how it ended.

        It is killed where asked for, or when silent for `since_heartbeat` seconds; otherwise it gets time to exit.
        """
        assert self._channel is not None
        assert self._process is not None
        # It ends when it reads the end of its orders.
        self._channel.close()
        if kill or since_heartbeat is not None:
            self._process.kill()
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process = self._channel = None
        if since_heartbeat is not None:
            exit_ = ForkServerExit(
                status, f"it had not answered for {since_heartbeat:.0f} s and was killed", silent=True
            )
        elif self._last_error is not None:
            exit_ = ForkServerExit(status, f"it ended by an error: {self._last_error}", error=True)
        elif status < 0:
            exit_ = ForkServerExit(status, f"it was ended by {signal.Signals(-status).name}")
        else:
            exit_ = ForkServerExit(
                status, f"it ended with exit code {status}; the server's log may say why", error=True
            )
        self._record_exit(exit_.detail)
        return exit_

    def _record_exit(self, detail: str) -> None:
        """Schedule a restart; the delay grows with the number of exits since it was last ready."""
        self._exits += 1
        self._check_at = self._clock.monotonic() + BACKOFF_SECONDS[min(self._exits, len(BACKOFF_SECONDS)) - 1]
        self.unavailable_reason = f"there is no process to fork workers from: {detail}"


def _environment() -> dict[str, str]:
    # The rest is passed on, since some of it (OPENBLAS_CORETYPE) decides about bits; our settings hold secrets.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    return {**kept, **_ENVIRONMENT}
