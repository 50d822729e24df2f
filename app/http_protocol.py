"""One HTTP/1.1 connection: uvicorn's, with a deadline for request headers, and with one shape for every refusal."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.problems import unparsable_http
from app.api.schemas.problem import CONTENT_TYPE

HEADER_SECONDS = 20.0
"""How long a client may take to send the headers of a request."""


class Connection(H11Protocol):
    """Ends a connection whose next request does not come; answers what is no HTTP with a problem document."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Wait for the first request."""
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None

    # asyncio declares the wider BaseTransport; uvicorn narrows it likewise.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # see above
        """Begin to wait."""
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the wait goes on until they make up the headers of a request."""
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
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
