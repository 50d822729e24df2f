"""Connections whose client takes nothing of what is written for it: they are cut, not kept."""

import asyncio


class Progress:
    """Watches, while it is asked to, that what is left to send becomes less; aborts the connection if it does not."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Look at `transport` every so many `seconds`."""
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._left = 0
        self._next_look: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Begin, if there is anything left to send."""
        self._left = self._transport.get_write_buffer_size()
        if self._left and self._next_look is None:
            self._next_look = self._loop.call_later(self._seconds, self._look)

    def rest(self) -> None:
        """End."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    def _look(self) -> None:
        self._next_look = None
        if self._transport.get_write_buffer_size() < self._left:
            self.watch()
        else:
            self._transport.abort()
