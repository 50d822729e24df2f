# Made from _async/events.py by clients/generate.py: change that file.
"""Following the events of a fit across lost connections."""

from __future__ import annotations

import time
from collections.abc import Iterator

from adjoint_client._sync.transport import Transport
from adjoint_client.errors import ServerError
from adjoint_client.events import Event, EventReader

_END = "end"
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0
# Together about half a minute: time for a server to be started again.
_FRUITLESS_ATTEMPTS = 18
_RESTARTING = frozenset({502, 503, 504})


def follow(transport: Transport, path: str, after: int) -> Iterator[Event]:
    """Every event with an id greater than `after`, once each and in order, until the one that says `end`.

    Raises:
        ServerError: the server refused, as it does when the fit was deleted.
        ServerUnreachable: the connection was lost and could not be had back.
    """
    import httpx  # loaded with the first client

    fruitless = 0
    while True:
        try:
            for event in _connection(transport, path, after):
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
        time.sleep(min(_FIRST_PAUSE_SECONDS * 2**fruitless, _LONGEST_PAUSE_SECONDS))
        fruitless += 1


def _connection(transport: Transport, path: str, after: int) -> Iterator[Event]:
    """The events of one connection: it may end, or break, anywhere."""
    reader = EventReader()
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    with transport.stream(path, headers=headers) as response:
        for block in response.iter_bytes():
            for event in reader.feed(block):
                if event.id > after:
                    yield event
