"""The fork server from the runner's side: started, watched, and started anew should it die or answer no more."""

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
"""How often the fork server is asked for an answer, if the lease is not short."""

PINGS = 4
"""So many go out within the lease at least."""

UNANSWERED = 2
"""After so many pings without an answer no fit can be started, as far as anybody can tell."""

BACKOFF_SECONDS = (0.0, 1.0, 5.0, 25.0)
"""How long to wait before it is started anew, by how often it has died since it was last ready."""

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
class ServerEnd:
    """How the fork server ended: by an `error`, since it was `silent`, or else with this exit code or minus a signal.

    `detail` is a sentence.
    """

    status: int
    detail: str
    error: bool = False
    silent: bool = False


class ForkServer:
    """One fork server at a time. One thread uses it; any other may read `trouble` only.

    It is asked for an answer again and again. What counts is how many requests in a row had none, not the time: a
    runner that was held up itself has not listened meanwhile.
    """

    def __init__(self, clock: Clock, lease_seconds: float) -> None:
        """Start nothing; one that does not answer for `lease_seconds`, or for longer while it loads, is replaced."""
        self._clock = clock
        self._ping_seconds = min(PING_SECONDS, lease_seconds / PINGS)
        self._lease_seconds = lease_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._loading = True
        self._unanswered = 0
        self._ping_at = 0.0
        self._deaths = 0
        self._last_words: str | None = None
        self.trouble: str | None = None
        """Why no process can be started at present, None if one can."""

    @property
    def channel(self) -> socket.socket | None:
        """What to listen on, None if there is no fork server."""
        return self._channel

    @property
    def pid(self) -> int | None:
        """Return its process, None if there is none."""
        return None if self._process is None else self._process.pid

    @property
    def due_at(self) -> float:
        """Return when to `tend` next, by the monotonic clock."""
        return self._ping_at

    def open(self, command: Sequence[str]) -> socket.socket:
        """Start it, and return its channel; it loads the engine meanwhile. OSError if the system does not start it."""
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
                self._note_death(f"it cannot be started ({type(error).__name__}: {error.strerror})")
                raise
        self._channel = ours
        self._loading, self._unanswered, self._last_words = True, 0, None
        self._ping_at = self._clock.monotonic() + self._ping_seconds
        return ours

    def order(self, number: int, what: int, ends: Sequence[int] = ()) -> None:
        """Send an order, with descriptors. OSError if it cannot be sent."""
        if self._channel is None:
            raise ConnectionResetError("there is no fork server")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", ends))] if ends else []
        # One that takes no orders any more must not hold up the runner.
        self._channel.sendmsg([ORDER.pack(number, what)], rights, socket.MSG_DONTWAIT)

    def tend(self) -> ServerEnd | None:
        """Ask for an answer if it is time to; return how it was ended, if it has given none for too long."""
        now = self._clock.monotonic()
        if self._channel is None or now < self._ping_at:
            return None
        silence = self._unanswered * self._ping_seconds
        if silence >= (max(self._lease_seconds, STARTING_SECONDS) if self._loading else self._lease_seconds):
            return self.end(silence)
        if self._unanswered >= UNANSWERED and not self._loading:
            self.trouble = f"the process that workers are forked from has not answered for {silence:.0f} s"
        self._ping_at = now + self._ping_seconds
        self._unanswered += 1
        # One that is gone is noticed by whoever listens.
        with contextlib.suppress(OSError):
            self.order(FORK_SERVER, PING)
        return None

    def read(self) -> tuple[int, int] | ServerEnd | None:
        """Return the next report, the number and status of a worker that ended; None if it is of the server itself."""
        assert self._channel is not None
        try:
            report = self._channel.recv(ORDER.size, socket.MSG_WAITALL)
            if len(report) < ORDER.size:
                return self.end()
            number, status = ORDER.unpack(report)
            if number == DYING:
                self._last_words = self._channel.recv(status, socket.MSG_WAITALL).decode(errors="replace")
                return None
        except OSError:
            return self.end()
        self._unanswered = 0
        if number != FORK_SERVER:
            return number, status
        self._loading = status == LOADING
        if not self._loading:
            self._deaths, self.trouble = 0, None
        return None

    def end(self, silence: float | None = None) -> ServerEnd:
        """End it, and its workers with it; return how it ended, or had ended before.

        One that has been silent for so many seconds is killed, others have some to take their leave.
        """
        assert self._channel is not None
        assert self._process is not None
        # It ends when it reads the end of its orders.
        self._channel.close()
        if silence is not None:
            self._process.kill()
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process = self._channel = None
        if silence is not None:
            found = ServerEnd(status, f"it had not answered for {silence:.0f} s and was killed", silent=True)
        elif self._last_words is not None:
            found = ServerEnd(status, f"it ended by an error: {self._last_words}", error=True)
        elif status < 0:
            found = ServerEnd(status, f"it was ended by {signal.Signals(-status).name}")
        else:
            found = ServerEnd(status, f"it ended with exit code {status}; the server's log may say why", error=True)
        self._note_death(found.detail)
        return found

    def _note_death(self, detail: str) -> None:
        """Have it started anew after a while, the longer the more often it has died since it was last ready."""
        self._deaths += 1
        self._ping_at = self._clock.monotonic() + BACKOFF_SECONDS[min(self._deaths, len(BACKOFF_SECONDS)) - 1]
        self.trouble = f"there is no process to fork workers from: {detail}"


def _environment() -> dict[str, str]:
    # The rest is passed on, since some of it (OPENBLAS_CORETYPE) decides about bits; our settings hold secrets.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    return {**kept, **_ENVIRONMENT}
