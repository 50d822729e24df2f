"""One HTTP/1.1 connection: uvicorn's, which waits for nobody for ever, and with one shape for every refusal."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.problems import unrouted
from app.api.request_id import HEADER
from app.api.schemas.problem import CONTENT_TYPE
from app.domain.errors import AdjointError, RetryLater, Unparsable
from app.domain.ids import new_id
from app.progress import Pace, Progress

LOGGER = logging.getLogger("adjoint.access")

LINGER_SECONDS = 1.0
"""How long a connection stays open after an answer to what was not read to its end.

Closed at once it would be reset, and the client might never see the answer.
"""

STATUS_LINE = b"HTTP/1.1 "
JOINED_BYTES_MAX = 64 * 1024


class TooManyConnections(RetryLater):
    """More connections are open than the server keeps."""

    code = "too_many_connections"
    status = 503
    title = "Too many connections"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a connection may take: seconds and bytes of headers, the pace of answers; and how many there are."""

    header_seconds: float = 10.0
    header_bytes: int = 64 * 1024
    pace: Pace = field(default_factory=Pace)
    max_connections: int = 2000


class JoiningTransport:
    """A transport that sends the head of an answer together with what follows at once: one packet, not two.

    A head that nothing follows is sent as soon as the event loop turns.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, progress: Progress) -> None:
        """Write to `transport`; `progress` watches what is left to send when it is closed."""
        self._transport = transport
        self._loop = loop
        self._progress = progress
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


class Connection(H11Protocol):
    """Ends a connection whose client does not go on, and answers what is no HTTP with a problem document."""

    def __init__(self, *args: Any, terms: Terms = Terms(), **options: Any) -> None:
        """Wait for the first request."""
        super().__init__(*args, **options)
        self._terms = terms
        self._deadline: asyncio.TimerHandle | None = None
        self._progress: Progress | None = None
        self._leaving = False

    # asyncio declares the wider BaseTransport; uvicorn narrows it likewise.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # see above
        """Begin to wait; or refuse, if too many connections are open."""
        self._progress = Progress(transport, self.loop, self._terms.pace)
        joining: Any = JoiningTransport(transport, self.loop, self._progress)
        super().connection_made(joining)
        if len(self.connections) > self._terms.max_connections:
            detail = f"{self._terms.max_connections} connections are open, as many as this server keeps; try again"
            self._answer_and_leave(TooManyConnections(detail))
        else:
            self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the wait goes on until they make up the headers of a request."""
        if self._leaving:
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        elif not self._is_left_over():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        self._unset_keepalive_if_required()
        if self._progress is not None:
            self._progress.rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Have the application wait for the client to read; but not for ever."""
        super().pause_writing()
        if self._progress is not None:
            self._progress.watch()

    def resume_writing(self) -> None:
        """Have the application go on."""
        super().resume_writing()
        if self._progress is not None and not self.transport.is_closing():
            self._progress.rest()

    def on_response_complete(self) -> None:
        """Wait for the next request; what is left of this one's body has no longer than headers have."""
        super().on_response_complete()
        if self._progress is not None:
            self._progress.renew()
        if self._is_left_over():
            self._expect_headers()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, and end the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer_and_leave(Unparsable(msg))
        else:
            self.transport.close()

    def _answer_and_leave(self, error: AdjointError) -> None:
        request_id = new_id("req")
        body = unrouted(error, request_id)
        headers = [
            (b"content-type", CONTENT_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (HEADER.lower().encode(), request_id.encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
        ]
        for event in (h11.Response(status_code=error.status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            # Whoever reads the body of this request learns that it will not come, and what it answers goes nowhere.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        else:
            LOGGER.info("refused", extra={"request_id": request_id, "status": error.status, "code": error.code})
        self._leaving = True
        self._stop_waiting()
        try:
            self.transport.write_eof()
        except OSError:  # the client is gone
            self.transport.close()
        else:
            self._deadline = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _is_left_over(self) -> bool:
        """Whether a body is coming that has been answered already."""
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE

    def _expect_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._terms.header_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request that asks for another protocol is answered in this one, as it may be."""
