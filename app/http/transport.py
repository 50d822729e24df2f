"""The transport of a connection: joined writes, and a deadline for clients that do not read."""

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.http.intake import Intake

RESET_AT_ONCE = struct.pack("ii", 1, 0)
"""How to close a socket: what is unsent is dropped by the system too, which would hold megabytes for minutes."""

LOOKS = 100
"""How often at most a connection is looked at within its head start."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon an answer has to be taken: a head start in seconds, and then the time of its bytes at the least rate.

    The head start is also how long a client may take nothing, however fast it was before.
    """

    seconds: float = 30.0
    bytes_per_second: float = 10_000.0


class Progress:
    """Watches a connection while there is too much left to send; aborts it when the client has used up its time.

    Time in which there is nothing to send does not count.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, pace: Pace) -> None:
        self._transport = transport
        self._loop = loop
        self._pace = pace
        self._time_left = pace.seconds
        self._unsent = 0
        self._settled_at = 0.0
        self._next_look: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Begin, if there is anything left to send."""
        if self._next_look is None:
            self._unsent = self._transport.get_write_buffer_size()
            self._settled_at = self._loop.time()
            self._look_again()

    def rest(self) -> None:
        """End; what was used up of the time stays so until `renew`."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
            self._settle()

    def renew(self) -> None:
        """Give the client its head start again, if it has taken everything: the next answer is another one."""
        if self._next_look is None and not self._transport.get_write_buffer_size():
            self._time_left = self._pace.seconds

    def _look(self) -> None:
        self._next_look = None
        self._settle()
        if self._time_left > 0:
            self._look_again()
        elif self._unsent:
            self._cut()

    def _cut(self) -> None:
        connection = self._transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
        self._transport.abort()

    def _look_again(self) -> None:
        if self._unsent:
            wait = max(self._time_left, self._pace.seconds / LOOKS)
            self._next_look = self._loop.call_later(wait, self._look)

    def _settle(self) -> None:
        """Take the time since the last look from the client's, and add that of what it has taken."""
        unsent, now = self._transport.get_write_buffer_size(), self._loop.time()
        # What was written since hides what was taken: never more than the head of another answer.
        earned = max(self._unsent - unsent, 0) / self._pace.bytes_per_second
        left = self._time_left + earned - (now - self._settled_at)
        self._time_left, self._unsent, self._settled_at = min(left, self._pace.seconds), unsent, now


STATUS_LINE = b"HTTP/1.1 "
JOINED_BYTES_MAX = 64 * 1024


class JoiningTransport:
    """The transport that uvicorn is given. A head that nothing follows is sent as soon as the event loop turns."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        progress: Progress,
        intake: Intake,
        lingers: Callable[[], bool],
    ) -> None:
        """Write to `transport`, and have `intake` read from it.

        When it is closed `progress` watches what is left to send, unless `lingers` sees to the end of the connection.
        """
        self._transport = transport
        self._loop = loop
        self._progress = progress
        self._lingers = lingers
        self.pause_reading = intake.pause
        self.resume_reading = intake.resume
        self._head = b""
        self._sending: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        """Leave all but reading, writing and closing to the transport."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send `data`, or keep it for a moment if it is the head of an answer."""
        if self._sending is None and data.startswith(STATUS_LINE):
            self._head = data
            self._sending = self._loop.call_soon(self._send_head)
        elif self._sending is not None and len(data) <= JOINED_BYTES_MAX:
            self._sending.cancel()
            self._sending = None
            self._transport.write(self._head + data)
        elif data:
            self._send_head()
            self._transport.write(data)

    def send(self, head: bytes, body: bytes) -> None:
        """Send an answer of which all is there."""
        self._send_head()
        if len(body) <= JOINED_BYTES_MAX:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)

    def close(self) -> None:
        """Close the transport when all is sent."""
        self._send_head()
        if not self._lingers():
            self._transport.close()
        self._progress.watch()

    def write_eof(self) -> None:
        """Send nothing more."""
        self._send_head()
        self._transport.write_eof()

    def _send_head(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
            self._transport.write(self._head)
