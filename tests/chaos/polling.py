"""Many connections that ask once a second, from one thread: for the same, or for what follows what they have."""

import asyncio
import re
import time
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200"
LENGTH = b"content-length:"
NEXT = re.compile(rb'"has_more":true,.{0,64}?"next_after":([0-9]+)')
AFTER = "{after}"
"""Stands in a path for the last row that a connection has; it begins again where there is no more."""


@dataclass
class Polled:
    """How long answers took, in seconds, and how many were none."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0

    def quantile(self, share: float) -> float:
        """Return the time within which so large a share of the answers came."""
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def poll(host: str, port: int, path: str, connections: int, seconds: float) -> Polled:
    """Have so many connections ask for `path` at one request a second each, for so long."""
    polled = Polled()
    asyncio.run(_poll_all(host, port, path, connections, seconds, polled))
    return polled


async def _poll_all(host: str, port: int, path: str, connections: int, seconds: float, polled: Polled) -> None:
    end = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(connections):
            group.create_task(_poll(host, port, path, number / connections, end, polled))


async def _poll(host: str, port: int, path: str, delay: float, end: float, polled: Polled) -> None:
    await asyncio.sleep(delay)
    reader, writer = await asyncio.open_connection(host, port)
    after = 0
    try:
        while (began := time.monotonic()) < end:
            writer.write(f"GET {path.replace(AFTER, str(after))} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            is_ok, body = await _answered(reader)
            polled.errors += not is_ok
            polled.seconds.append(time.monotonic() - began)
            more = NEXT.search(body, max(0, len(body) - 256))
            after = int(more[1]) if more else 0
            await asyncio.sleep(max(0.0, began + 1.0 - time.monotonic()))
    except (ConnectionError, asyncio.IncompleteReadError):
        polled.errors += 1
    finally:
        writer.close()


async def _answered(reader: asyncio.StreamReader) -> tuple[bool, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[len(LENGTH) :]) for line in head.lower().splitlines() if line.startswith(LENGTH))
    return head.startswith(OK), await reader.readexactly(length)
