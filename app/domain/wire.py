"""How server and worker talk: messages as lines on a socket, and what the runner orders from the fork server."""

from struct import Struct

from app.domain.messages import Message, decode, encode

ORDER = Struct("!ii")
"""To the fork server: a worker's number, then FORK (its sockets come along: the channel, and of a session its line) or
KILL; or 0, then PING. Back: the number, then how it ended: its exit code, or minus the signal that killed it. Of the
fork server itself it is FORK_SERVER, then READY or LOADING, or DYING, then the length of a text that follows."""

FORK = 1
KILL = 2
PING = 3

FORK_SERVER = 0
READY = 0
"""It takes orders; the answer to each PING."""
LOADING = 1
"""It loads libraries and answers when it is READY."""

DYING = -1
"""It ends by an error, which the text tells."""


def to_line(message: Message) -> bytes:
    """Encode `message` as one line; JSON leaves no line break in it."""
    return encode(message) + b"\n"


class LineReader:
    """Puts messages together from bytes as they arrive, in pieces of any size."""

    def __init__(self) -> None:
        """Start between two messages."""
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that `data` completes; BadMessage if one of them is none."""
        self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [decode(bytes(line)) for line in lines]
