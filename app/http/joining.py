"""A transport that sends the head of an answer together with what follows at once: one packet, not two."""

import asyncio
from collections.abc import Callable
from typing import Any

from app.http.intake import Intake
from app.http.progress import Progress

STATUS_LINE = b"HTTP/1.1 "
JOINED_BYTES_MAX = 64 * 1024


class JoiningTransport:
    """The transport as uvicorn sees it. A head that nothing follows is sent as soon as the event loop turns."""

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
