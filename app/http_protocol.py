"""One HTTP/1.1 connection: uvicorn's, with a deadline for request headers, and with one shape for every refusal."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.problems import unparsable_http
from app.api.schemas.problem import CONTENT_TYPE

HEADER_SECONDS = 20.0
"""How long a client may take to send the headers of a request."""

STATUS_LINE = b"HTTP/1.1 "
JOINED_BYTES_MAX = 64 * 1024


class JoiningTransport:
    """A transport that sends the head of an answer together with what follows at once: one packet, not two.

    A head that nothing follows is sent as soon as the event loop turns.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Write to `transport`."""
        self._transport = transport
        self._loop = loop
        self._head = b""
        self._sending: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        """Leave all but writing and closing to the transport."""
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
        self._transport.close()

    def _send_head(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
            self._transport.write(self._head)


class Connection(H11Protocol):
    """Ends a connection whose next request does not come; answers what is no HTTP with a problem document."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Wait for the first request."""
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None

    # asyncio declares the wider BaseTransport; uvicorn narrows it likewise.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # see above
        """Begin to wait."""
        joining: Any = JoiningTransport(transport, self.loop)
        super().connection_made(joining)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the wait goes on until they make up the headers of a request."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, and end the connection."""
        body = unparsable_http(msg)
        headers = [
            (b"content-type", CONTENT_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
