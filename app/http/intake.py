"""What a connection sends to the HTTP parser: in pieces that are cheap to parse, at a bounded rate.

The parser costs tens of microseconds a chunk and a few a header line, on the event loop that answers all requests. A
packet of 256 KiB may hold 40,000 chunks, which take a second. So bytes are parsed a piece in a turn of the loop, and a
connection whose chunks are too small for their number is not read from for a while.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import h11

from app.config.bounds import KIB

PIECE_BYTES = 64 * KIB
PIECE_LINES = 128
"""Most lines that are parsed in one turn of the event loop, as headers, trailers or the framing of chunks."""

FAIR_CHUNK_BYTES = 16 * KIB
"""A chunk of at least this many bytes costs no more than the same bytes without chunks: it is not counted."""

CHUNKS_PER_SECOND = 5000.0
CHUNKS_BURST = 1000.0
ALL_CHUNKS_PER_SECOND = 10_000.0
"""Small chunks of all connections together: about a fifth of what the event loop can do."""
ALL_CHUNKS_BURST = 2000.0

LEFT_OVER_BYTES_MAX = 64 * KIB
"""Most of a body that is read and dropped after its answer, to keep the connection for the next request."""

TOO_LARGE = 431


@dataclass(slots=True)
class ChunkBudget:
    """Small chunks that may be parsed: `burst` in one go, `per_second` in the long run. It may go into debt."""

    per_second: float = CHUNKS_PER_SECOND
    burst: float = CHUNKS_BURST
    monotonic: Callable[[], float] = time.monotonic
    _left: float = field(init=False)
    _filled_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._filled_at = self.burst, self.monotonic()

    def spend(self, chunks: float) -> None:
        """Count `chunks` more, or fewer if negative."""
        self._left = min(self._left - chunks, self.burst)

    def wait(self) -> float:
        """Return the seconds until nothing is owed."""
        now = self.monotonic()
        self._left = min(self._left + (now - self._filled_at) * self.per_second, self.burst)
        self._filled_at = now
        return max(0.0, -self._left / self.per_second)


class Parser(h11.Connection):
    """h11's side of a server, which counts chunks, bounds header lines, and closes after a body that is not read."""

    def __init__(self, incomplete_bytes_max: int, lines_max: int) -> None:
        """Accept at most `incomplete_bytes_max` bytes, and about `lines_max` lines, of headers or trailers."""
        super().__init__(h11.SERVER, incomplete_bytes_max)
        self._lines_max = lines_max
        self.chunked = False
        """Whether the body of the present request comes in chunks."""
        self.body_left = 0
        """Bytes to come of a body with a Content-Length."""
        self.small_chunks = 0.0
        """Chunks since the last look, less those that their bytes pay for."""
        self.headers_too_large = False

    def next_event(self) -> Any:
        """Return the next event; RemoteProtocolError where it is no HTTP, or too much of it."""
        try:
            event = super().next_event()
            if event is h11.NEED_DATA:
                self._check_lines()
        except h11.RemoteProtocolError as error:
            self.headers_too_large = error.error_status_hint == TOO_LARGE and b"\n" in self.trailing_data[0]
            raise
        if isinstance(event, h11.Data):
            if self.chunked:
                self.small_chunks += event.chunk_start - len(event.data) / FAIR_CHUNK_BYTES
            else:
                self.body_left -= len(event.data)
        elif isinstance(event, h11.Request):
            self._begin(event)
        return event

    def send(self, event: h11.Event) -> bytes | None:  # type: ignore[override]  # h11 declares it kind by kind
        """Encode an event; an answer to a request whose body will not be read says that the connection ends."""
        if type(event) is h11.Response and self._is_not_worth_reading():
            headers = [item for item in event.headers.raw_items() if item[0].lower() != b"connection"]
            headers.append((b"connection", b"close"))
            event = h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)
        sent: bytes | None = super().send(event)
        return sent

    def skip_body(self, size: int) -> bool:
        """Count `size` bytes of a body as parsed, unless h11 has to see them; return whether it need not.

        It would copy them several times. It has to see the last byte of a body, and the first of one that it may be
        asked to wait for.
        """
        is_inside = self.expects_body and not self.chunked and size < self.body_left
        if not is_inside or self.our_state is h11.DONE or self.they_are_waiting_for_100_continue:
            return False
        if self.trailing_data[0]:
            return False
        reader: Any = self._reader  # it alone knows where the body ends
        if not hasattr(reader, "_remaining"):
            return False  # another version of h11
        reader._remaining -= size  # noqa: SLF001
        self.body_left -= size
        return True

    @property
    def expects_body(self) -> bool:
        """Whether some of a body has not been seen."""
        return self.their_state is h11.SEND_BODY

    @property
    def is_unused(self) -> bool:
        """Whether the next byte begins a request, and nothing is being answered."""
        return self.our_state is h11.IDLE and self.their_state is h11.IDLE and not self.trailing_data[0]

    def _begin(self, request: h11.Request) -> None:
        self.chunked, self.body_left = False, 0
        for name, value in request.headers:
            if name == b"transfer-encoding":
                self.chunked = True
            elif name == b"content-length":
                self.body_left = int(value)
        if self.chunked:
            self.body_left = 0

    def _is_not_worth_reading(self) -> bool:
        # A client that waits for leave to send may or may not do so after an answer: neither can be relied on.
        waits = self.they_are_waiting_for_100_continue
        return self.expects_body and (waits or self.chunked or self.body_left > LEFT_OVER_BYTES_MAX)

    def _check_lines(self) -> None:
        # What is left unparsed in a body with chunks is the line before one, or trailers.
        if self.their_state is h11.IDLE or (self.chunked and self.expects_body):
            lines = self.trailing_data[0].count(b"\n")
            if lines > self._lines_max:
                raise h11.RemoteProtocolError(f"{lines} header lines", error_status_hint=TOO_LARGE)


class Intake:
    """Hands the bytes of a connection to its parser: a piece in a turn of the event loop, and none while it waits."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        parser: Parser,
        parse: Callable[[bytes | memoryview], None],
        all_chunks: ChunkBudget,
    ) -> None:
        """Read from `transport`; `parse` gives a piece to `parser`, and `all_chunks` is that of all connections."""
        self._transport = transport
        self._loop = loop
        self._parser = parser
        self._parse = parse
        self._chunks = ChunkBudget()
        self._all_chunks = all_chunks
        self._pending = bytearray()
        self._next: asyncio.Handle | None = None
        self._paused = False
        self._dropping = False

    def receive(self, data: bytes | memoryview) -> None:
        """Take bytes from the transport, which may be others once this returns."""
        if self._dropping:
            return
        if self._is_all_body(data):
            self._parse(data)
            return
        self._pending += data
        if self._next is None and not self._paused:
            self._advance()

    def pause(self) -> None:
        """Parse no more until `resume`: the application has enough."""
        self._paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        """Go on."""
        self._paused = False
        if self._next is None:
            self._go_on()

    def drop(self) -> None:
        """Read on and parse nothing any more."""
        self._dropping = True
        self._pending.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
        self._transport.resume_reading()

    def _is_all_body(self, data: bytes | memoryview) -> bool:
        """Whether all of `data` is of a body with a Content-Length and may be parsed at once: it need not be copied."""
        waits = self._pending or self._next is not None or self._paused
        return not waits and len(data) <= self._parser.body_left and not self._chunks.wait()

    def _advance(self) -> None:
        self._next = None
        wait = max(self._chunks.wait(), self._all_chunks.wait() if self._parser.chunked else 0.0)
        if wait:
            self._transport.pause_reading()
            self._next = self._loop.call_later(wait, self._advance)
            return
        size = _piece(self._pending, self._parser.body_left)
        piece = bytes(self._pending[:size])
        del self._pending[:size]
        self._parse(piece)
        self._count_chunks()
        if not self._dropping and not self._paused and self._next is None:
            self._go_on()

    def _go_on(self) -> None:
        if self._pending:
            self._transport.pause_reading()
            self._next = self._loop.call_soon(self._advance)
        else:
            self._transport.resume_reading()

    def _count_chunks(self) -> None:
        chunks, self._parser.small_chunks = self._parser.small_chunks, 0.0
        if chunks:
            self._chunks.spend(chunks)
            self._all_chunks.spend(max(chunks, 0.0))


def _piece(data: bytearray, body_left: int) -> int:
    """Return how much of `data` to parse at once: of a body whose length is known all, else as many lines as may be."""
    if body_left:
        return min(body_left, len(data))
    size = min(len(data), PIECE_BYTES)
    while data.count(b"\n", 0, size) > PIECE_LINES:
        size //= 2
    return size
