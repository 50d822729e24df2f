"""Server-sent events, read without any I/O: lines in, events out.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a fit.

    `id` counts from 1 without gaps; `kind` is metric, state, checkpoint, log or end; `data` is what the server says
    about it: for a metric the row as `FitHandle.metrics()` has it.
    """

    id: int
    kind: str
    data: dict[str, Any]


class EventReader:
    """Makes events of the bytes of a stream; comments (heartbeats) and unknown fields are passed over."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[bytes, list[bytes]] = {}

    def feed(self, block: bytes) -> list[Event]:
        """Take the next bytes and return the events that they complete."""
        # Only line feeds end a line: str.splitlines also cuts at characters that JSON texts may hold.
        *lines, self._rest = (self._rest + block).split(b"\n")
        return [event for line in lines if (event := self._line(line.removesuffix(b"\r"))) is not None]

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        self._fields.setdefault(name, []).append(value.removeprefix(b" "))
        return None

    def _dispatch(self) -> Event | None:
        fields, self._fields = self._fields, {}
        number, kind, data = fields.get(b"id"), fields.get(b"event"), fields.get(b"data")
        if not (number and kind and data):
            return None
        return Event(int(number[-1]), kind[-1].decode(), json.loads(b"\n".join(data)))
