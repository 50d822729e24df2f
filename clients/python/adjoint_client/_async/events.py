"""Following the events of a fit across lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from adjoint_client._async.transport import AsyncTransport
from adjoint_client.errors import ServerError
from adjoint_client.events import Event, EventReader

_END = "end"
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0
# Together about half a minute: time for a server to be started again.
_FRUITLESS_ATTEMPTS = 18
_RESTARTING = frozenset({502, 503, 504})


async def follow(transport: AsyncTransport, path: str, after: int) -> AsyncIterator[Event]:
    """Every event with an id greater than `after`, once each and in order, until the one that says `end`.

    Raises:
        ServerError: the server refused, as it does when the fit was deleted.
        ServerUnreachable: the connection was lost and could not be had back.
    """
    import httpx  # loaded with the first client

    fruitless = 0
    while True:
        try:
            async for event in _connection(transport, path, after):
                after, fruitless = event.id, 0
                yield event
                if event.kind == _END:
                    return
        except httpx.TransportError as error:
            if fruitless == _FRUITLESS_ATTEMPTS:
                raise transport.unreachable(error) from error
        except ServerError as error:
            if error.status not in _RESTARTING or fruitless == _FRUITLESS_ATTEMPTS:
                raise
        await asyncio.sleep(min(_FIRST_PAUSE_SECONDS * 2**fruitless, _LONGEST_PAUSE_SECONDS))
        fruitless += 1


async def _connection(transport: AsyncTransport, path: str, after: int) -> AsyncIterator[Event]:
    """The events of one connection: it may end, or break, anywhere."""
    reader = EventReader()
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    async with transport.stream(path, headers=headers) as response:
        async for block in response.aiter_bytes():
            for event in reader.feed(block):
                if event.id > after:
                    yield event
