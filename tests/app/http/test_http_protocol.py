import asyncio
from typing import Any

import pytest

from app.http.intake import ChunkBudget, Intake, Parser
from app.http.transport import JOINED_BYTES_MAX, JoiningTransport, Pace, Progress

HEAD = b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\n"


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.closed = False
        self.aborted = asyncio.Event()
        self.unsent = 0

    def write(self, data: Any) -> None:
        self.packets.append(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted.set()

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.closed


async def written(*parts: bytes, close: bool = False) -> tuple[list[bytes], list[bytes]]:
    """Return the packets after writing, and those once the event loop has turned."""
    wire = Wire()
    loop = asyncio.get_running_loop()
    intake = Intake(wire, loop, Parser(1024, 10), lambda _piece: None, ChunkBudget())
    joining = JoiningTransport(wire, loop, Progress(wire, loop, Pace()), intake, lambda: False)
    for part in parts:
        joining.write(part)
    if close:
        joining.close()
    at_once = [*wire.packets]
    await asyncio.sleep(0)
    assert joining.is_closing() is close
    return at_once, wire.packets


@pytest.mark.parametrize(
    ("parts", "at_once", "later"),
    [
        ([HEAD, b"ok", b""], [HEAD + b"ok"], []),
        ([HEAD, b""], [HEAD], []),
        ([HEAD], [], [HEAD]),
        ([b"more"], [b"more"], []),
        ([b""], [], []),
        ([HEAD, b"x" * (JOINED_BYTES_MAX + 1)], [HEAD, b"x" * (JOINED_BYTES_MAX + 1)], []),
        ([HEAD, b"ok", HEAD, b"ok"], [HEAD + b"ok"] * 2, []),
    ],
)
def test_a_head_goes_with_what_follows_at_once(parts: list[bytes], at_once: list[bytes], later: list[bytes]) -> None:
    assert asyncio.run(written(*parts)) == (at_once, at_once + later)


def test_nothing_is_lost_when_a_connection_is_closed() -> None:
    assert asyncio.run(written(HEAD, close=True)) == ([HEAD], [HEAD])
