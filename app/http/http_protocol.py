"""One HTTP/1.1 connection: uvicorn's, with a time limit for every wait, and one shape for every refusal."""

import asyncio
import logging
import mmap
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.domain.errors import ApiError, RetryLater, Unparsable
from app.domain.ids import new_id
from app.http.authentication import HeadersTooLarge
from app.http.connections import Connections
from app.http.direct_answers import DirectAnswers
from app.http.intake import ALL_CHUNKS_BURST, ALL_CHUNKS_PER_SECOND, ChunkBudget, Intake, Parser
from app.http.problems import CONTENT_TYPE, unrouted
from app.http.request_scope import HEADER
from app.http.transport import JoiningTransport, Pace, Progress

LOGGER = logging.getLogger("adjoint.access")

LINGER_SECONDS = 1.0
"""How long a connection stays open after an answer to what is no HTTP, or to a connection too many.

Closed at once it would be reset, and the client might never see the answer.
"""
RECEIVED_BYTES = 1024 * 1024
"""Most bytes that are taken from a socket at once."""
REFUSED_MAX = 256
"""Connections too many that are answered at a time; any more are reset."""


class TooManyConnections(RetryLater):
    """More connections are open than the server keeps."""

    code = "too_many_connections"
    status = 503
    title = "Too many connections"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a connection may take: seconds and bytes of headers, the pace of answers; and how many there are."""

    header_seconds: float = 10.0
    header_bytes: int = 64 * 1024
    pace: Pace = field(default_factory=Pace)
    max_connections: int = 2000
    max_headers: int = 100


class Common:
    """What all connections of a server share: their number, how much framing of chunks is parsed, what can be answered
    at once, and the memory that each of them receives bytes in, until it has parsed or copied them.
    """

    def __init__(self, terms: ConnectionLimits, direct: DirectAnswers | None = None) -> None:
        self.direct = direct
        self.connections: Connections[Connection] = Connections(terms.max_connections)
        self.chunks = ChunkBudget(ALL_CHUNKS_PER_SECOND, ALL_CHUNKS_BURST)
        # Mapped, it takes memory once it is used.
        self.received = memoryview(mmap.mmap(-1, RECEIVED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """Ends a connection whose client does not go on, and answers what is no HTTP with a problem document."""

    conn: Parser

    def __init__(
        self, *args: Any, terms: ConnectionLimits = ConnectionLimits(), common: Common | None = None, **options: Any
    ) -> None:
        """Wait for the first request; connections of one server have `common`."""
        super().__init__(*args, **options)
        self.conn = Parser(terms.header_bytes, terms.max_headers + 1)
        self._terms = terms
        self._common = common or Common(terms)
        self._deadline: asyncio.TimerHandle | None = None
        self._progress: Progress
        self._intake: Intake
        self._outgoing: JoiningTransport
        self._leaving = False

    # asyncio declares the wider BaseTransport; uvicorn narrows it likewise.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # see above
        """Begin to wait; or refuse, if too many connections are open and all of them are used."""
        self._progress = Progress(transport, self.loop, self._terms.pace)
        self._intake = Intake(transport, self.loop, self.conn, self._parse, self._common.chunks)
        self._outgoing = JoiningTransport(transport, self.loop, self._progress, self._intake, self._linger_if_unread)
        given: Any = self._outgoing
        super().connection_made(given)
        open_ones = self._common.connections
        displaced = open_ones.spare() if open_ones.is_full else None
        if displaced is not None:
            displaced.make_room()
        if open_ones.is_full:
            self._refuse()
        else:
            open_ones.enter(self, self.client[0] if self.client else "")
            self._expect_headers()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (asyncio passes -1)
        """Return where to put the next bytes."""
        return self._common.received

    def buffer_updated(self, nbytes: int) -> None:
        """Take what was put there, to parse it a piece at a time."""
        self._intake.receive(self._common.received[:nbytes])

    def data_received(self, data: bytes) -> None:
        """Take bytes likewise."""
        self._intake.receive(data)

    def make_room(self) -> None:
        """End, for another connection: nothing is being answered here."""
        self._common.connections.leave(self)
        if not self._leaving and self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse()
        elif len(self.connections) > self._terms.max_connections + REFUSED_MAX:
            self.transport.abort()
        else:
            self._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._leaving = True
        self._common.connections.leave(self)
        self._intake.drop()
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self._progress.rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Have the application wait for the client to read; but not for ever."""
        super().pause_writing()
        self._progress.watch()

    def resume_writing(self) -> None:
        """Have the application go on."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._progress.rest()

    def on_response_complete(self) -> None:
        """Wait for the next request; what is left of this one's body has no longer than headers have."""
        super().on_response_complete()
        self._progress.renew()
        if self._is_left_over():
            self._expect_headers()
        if self.conn.their_state is h11.IDLE or self._is_left_over():
            self._common.connections.wait(self)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or too much of it, and end the connection."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
        elif self.conn.headers_too_large:
            most = f"{self._terms.max_headers} headers, or {self._terms.header_bytes} bytes of them"
            self._answer_and_leave(HeadersTooLarge(f"more than {most}; send fewer"))
        else:
            self._answer_and_leave(Unparsable(msg))

    def _parse(self, piece: bytes | memoryview) -> None:
        """Parse some bytes; the wait goes on until they make up the headers of a request."""
        if self._answer_directly(piece):
            return
        if self.conn.skip_body(len(piece)):
            self._take_body(piece)
            return
        super().data_received(piece)  # type: ignore[arg-type]  # h11 takes any bytes
        if self._leaving:
            return
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        elif not self._is_left_over():
            self._stop_waiting()
            self._common.connections.work(self)

    def _take_body(self, piece: bytes | memoryview) -> None:
        """Hand on a piece of a body, as uvicorn does with what h11 has parsed."""
        cycle: Any = self.cycle
        # What uvicorn makes of the body for the application are bytes: those are not copied again.
        cycle.body = cycle.body + piece if cycle.body else bytes(piece)
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def _answer_directly(self, piece: bytes | memoryview) -> bool:
        """Answer a plain request from memory, and return whether that was possible. The parser has not seen it."""
        direct = self._common.direct
        if direct is None or self._leaving or self.flow.write_paused or not self.conn.is_unused:
            return False
        answer = direct.answer(bytes(piece), self.server_state.default_headers)
        if answer is None:
            return False
        self._unset_keepalive_if_required()
        self._stop_waiting()
        self._common.connections.work(self)
        self._outgoing.send(answer.head, answer.body)
        self.on_response_complete()
        return True

    def _refuse(self) -> None:
        if len(self.connections) > self._terms.max_connections + REFUSED_MAX:
            self.transport.abort()
        else:
            detail = f"{self._terms.max_connections} connections are open, as many as this server keeps; try again"
            self._answer_and_leave(TooManyConnections(detail))

    def _answer_and_leave(self, error: ApiError) -> None:
        request_id = new_id("req")
        body = unrouted(error, request_id)
        headers = [
            (b"content-type", CONTENT_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (HEADER.lower().encode(), request_id.encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
        ]
        answers_head = self.conn.our_state is h11.SEND_RESPONSE and self.scope["method"] == "HEAD"
        for event in (
            h11.Response(status_code=error.status, headers=headers),
            *(() if answers_head else (h11.Data(data=body),)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            # The handler that reads the body gets a disconnect, and its response is discarded.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        else:
            LOGGER.info("refused", extra={"request_id": request_id, "status": error.status, "code": error.code})
        self._linger(LINGER_SECONDS)

    def _give_up(self) -> None:
        """Close the connection, also while its client is sending."""
        self._leaving = True
        self._intake.drop()
        self.transport.close()

    def _linger_if_unread(self) -> bool:
        """Whether the connection is not to be closed yet, since its client may be sending: it is read, not parsed."""
        if self._leaving or not self.conn.expects_body:
            return False
        self._linger(self._terms.header_seconds)
        self._common.connections.wait(self)
        return self._leaving

    def _linger(self, seconds: float) -> None:
        self._leaving = True
        self._intake.drop()
        self._stop_waiting()
        try:
            self.transport.write_eof()
        except OSError:  # the client is gone
            self.transport.close()
        else:
            self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _is_left_over(self) -> bool:
        """Whether a body is coming that has been answered already."""
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE

    def _expect_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._terms.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request that asks for another protocol is answered in this one, as it may be."""
