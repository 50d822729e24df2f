"""Many connections that ask the same once a second, from one thread."""

import asyncio
import time
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200"
LENGTH = b"content-length:"


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
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    try:
        while (began := time.monotonic()) < end:
            writer.write(request)
            polled.errors += not await _answered(reader)
            polled.seconds.append(time.monotonic() - began)
            await asyncio.sleep(max(0.0, began + 1.0 - time.monotonic()))
    except (ConnectionError, asyncio.IncompleteReadError):
        polled.errors += 1
    finally:
        writer.close()


async def _answered(reader: asyncio.StreamReader) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[len(LENGTH) :]) for line in head.lower().splitlines() if line.startswith(LENGTH))
    await reader.readexactly(length)
    return head.startswith(OK)
