"""Connections whose client takes what is written for it too slowly, or not at all: they are cut, not kept."""

import asyncio
import socket
import struct
from dataclasses import dataclass

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

    That there is nothing to send takes nobody's time.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, pace: Pace) -> None:
        """Look at `transport` from time to time."""
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
        # What was written meanwhile hides what was taken: never more than the head of another answer.
        earned = max(self._unsent - unsent, 0) / self._pace.bytes_per_second
        left = self._time_left + earned - (now - self._settled_at)
        self._time_left, self._unsent, self._settled_at = min(left, self._pace.seconds), unsent, now
