"""What of a connection is parsed at once, how much of it in the long run, and which connections are kept."""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
import pytest

from app.http.connections import Connections
from app.http.intake import CHUNKS_BURST, CHUNKS_PER_SECOND, PIECE_BYTES, PIECE_LINES, ChunkBudget, Intake, Parser
from tests.support.manual_clock import ManualClock

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n"
CHUNKED = HEAD % b"Transfer-Encoding: chunked"
LENGTH = 200_000


class Pipe(asyncio.Transport):
    """A transport that only knows whether it is read from."""

    reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


async def parsed(data: bytes, chunks: ChunkBudget) -> tuple[list[bytes], bool]:
    """Return the pieces that are parsed of what comes at once, up to a rest, and whether more is read."""
    pipe, parser = Pipe(), Parser(64 * 1024, 100)
    pieces: list[bytes] = []

    def parse(piece: bytes | memoryview) -> None:
        pieces.append(piece)
        parser.receive_data(piece)
        while not isinstance(parser.next_event(), type):
            pass

    intake = Intake(pipe, asyncio.get_running_loop(), parser, parse, chunks)
    intake.receive(data)
    count = 0
    while count < len(pieces):
        count = len(pieces)
        await asyncio.sleep(0)
    reading = pipe.reading
    intake.drop()
    return pieces, reading


@pytest.mark.parametrize(
    ("data", "most_lines", "most_bytes"),
    [
        (CHUNKED + b"1\r\n\n\r\n" * 300, PIECE_LINES, PIECE_BYTES),
        (CHUNKED + b"%x\r\n" % LENGTH + b"x" * LENGTH + b"\r\n", PIECE_LINES, PIECE_BYTES),
        (HEAD % b"Content-Length: 200000" + b"\n" * LENGTH, LENGTH, LENGTH),
    ],
    ids=["chunks", "large chunk", "length"],
)
def test_a_piece_holds_few_lines_unless_they_are_of_a_body(data: bytes, most_lines: int, most_bytes: int) -> None:
    pieces, reading = asyncio.run(parsed(data, ChunkBudget()))
    assert b"".join(pieces) == data
    assert reading
    assert max(piece.count(b"\n") for piece in pieces) <= most_lines
    assert max(map(len, pieces)) <= most_bytes


def begun(headers: bytes) -> Parser:
    parser = Parser(64 * 1024, 100)
    parser.receive_data(HEAD % headers)
    assert isinstance(parser.next_event(), h11.Request)
    return parser


def test_a_body_ends_where_it_says_however_much_of_it_is_skipped() -> None:
    parser = begun(b"Content-Length: 10")
    assert parser.skip_body(3)
    assert parser.skip_body(6)
    assert not parser.skip_body(1), "the last byte is parsed"
    parser.receive_data(b"x")
    assert [parser.next_event() for _ in range(2)] == [h11.Data(data=b"x"), h11.EndOfMessage()]
    assert not parser.skip_body(0)


def test_a_body_that_is_cut_off_is_an_error_after_a_part_was_skipped() -> None:
    parser = begun(b"Content-Length: 10")
    assert parser.skip_body(9)
    parser.receive_data(b"")
    with pytest.raises(h11.RemoteProtocolError, match="received 9 bytes, expected 10"):
        parser.next_event()


def test_bytes_are_parsed_where_the_parser_has_to_know_of_them() -> None:
    assert not Parser(64 * 1024, 100).skip_body(1)
    assert not begun(b"Transfer-Encoding: chunked").skip_body(1)
    assert not begun(b"Content-Length: 10\r\nExpect: 100-continue").skip_body(1)
    with_rest, answered = begun(b"Content-Length: 10"), begun(b"Content-Length: 10")
    with_rest.receive_data(b"x")
    assert not with_rest.skip_body(1)
    answered.send(h11.Response(status_code=200, headers=[]))
    answered.send(h11.EndOfMessage())
    assert not answered.skip_body(1)


def test_small_chunks_are_read_at_their_rate() -> None:
    pieces, reading = asyncio.run(parsed(CHUNKED + b"1\r\nx\r\n" * 40_000, ChunkBudget()))
    # A little more where a second passes meanwhile: what is owed is paid by time.
    assert CHUNKS_BURST <= b"".join(pieces).count(b"x") < 40_000
    assert not reading


def test_chunks_of_all_connections_are_counted_together() -> None:
    spent = ChunkBudget(1.0, 1.0)
    spent.spend(3600.0)
    pieces, reading = asyncio.run(parsed(CHUNKED + b"1\r\nx\r\n" * 1000, spent))
    assert len(pieces) == 1  # before it is known that it is in chunks
    assert not reading


def test_a_budget_is_paid_back_by_time_and_by_large_chunks() -> None:
    clock = ManualClock()
    budget = ChunkBudget(CHUNKS_PER_SECOND, CHUNKS_BURST, clock.monotonic)
    budget.spend(CHUNKS_BURST)
    assert budget.wait() == 0
    budget.spend(CHUNKS_PER_SECOND)
    assert budget.wait() == pytest.approx(1.0)
    clock.advance(0.5)
    assert budget.wait() == pytest.approx(0.5)
    budget.spend(-CHUNKS_PER_SECOND)
    assert budget.wait() == 0


Step = Callable[[Connections[Any]], object]


@pytest.mark.parametrize(
    ("steps", "spare"),
    [
        ([], "many 1"),
        ([lambda those: those.work("many 1")], "many 2"),
        ([lambda those: those.work("many 1"), lambda those: those.wait("many 1")], "many 2"),
        ([lambda those: [those.work(each) for each in ("many 1", "many 2")], lambda those: those.wait("many 1")],
         "many 1"),
        ([lambda those: [those.work(each) for each in ("many 1", "many 2")]], "one"),
        ([lambda those: those.leave("many 1"), lambda those: those.leave("many 2")], "one"),
        ([lambda those: [those.work(each) for each in ("many 1", "many 2", "one")]], None),
    ],
)  # fmt: skip
def test_the_largest_client_is_dropped_first_and_of_these_the_most_silent(steps: list[Step], spare: str | None) -> None:
    those: Connections[Any] = Connections(3)
    for connection, address in (("one", "192.0.2.1"), ("many 1", "2001:db8::1"), ("many 2", "2001:db8::2")):
        those.enter(connection, address)
    assert those.is_full
    for step in steps:
        step(those)
    assert those.spare() == spare
