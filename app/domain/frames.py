"""How the server and its processes frame messages: lines on a channel, frames of a JSON head and bytes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from struct import Struct
from types import MappingProxyType
from typing import Any

import orjson

from app.domain.documents import JSON
from app.domain.errors import BadMessage
from app.domain.messages import Message, decode, encode

_LENGTHS = Struct("!IQ")
HEAD_BYTES_MAX = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Step:
    """To the process: execute a verb.

    Attributes:
        id: which request this is; one that is sent again after the process was lost keeps its id.
        verb: what to do; "batch" does what `options["steps"]` lists, each a `verb` with its own `seq`.
        options: what the client has sent, validated.
        seq: the place in the order of steps; None takes the next one when its turn has come.
        key: the client's Idempotency-Key.
        media: the type of the body, None if there is none: then all is in the options.
        accept: the type that the answer should have.
        notify: whether to say `StepAccepted` once it is sure that the step will be executed.
        files: local paths of files that the options name, by field; not part of what is compared when it comes again.
    """

    id: str
    verb: str
    options: dict[str, Any]
    seq: int | None = None
    key: str | None = None
    media: str | None = None
    accept: str = JSON
    notify: bool = False
    files: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Attach:
    """To the process: a dataset that rows may be taken of from now on; columns as in an assignment.

    `classes` are the class names of its text columns, `model` those of the model by input, as in a request.
    """

    dataset: str
    columns: dict[str, list[str]]
    classes: dict[str, list[str]] = field(default_factory=dict)
    model: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ready:
    """From the process, first: it has restored the session's state. `standing` is as in `StepReply`."""

    standing: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StepAccepted:
    """From the process: the step will be executed, also if a process is killed."""

    id: str
    seq: int


@dataclass(frozen=True, slots=True)
class StepReply:
    """From the process: the result of a step; the body is the answer's, empty with an `error` or a `file`.

    Attributes:
        id: the request's.
        standing: where the session is: next_seq, step (of the optimizer), passes, tapes.
        seq: the place that the step took, None for one that only reads.
        media: the type of the body.
        replayed: whether it was executed before, and this is the result of then.
        error: status, title, code, detail, findings (pointer, code, detail), and what else the problem should hold.
        file: the name of a file in the session's folder that holds the body; the receiver of the answer deletes it.
    """

    id: str
    standing: dict[str, Any]
    seq: int | None = None
    media: str = JSON
    replayed: bool = False
    error: dict[str, Any] | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """From a process that computes: what the order takes, and that it waits for permission.

    Attributes:
        id: the order's.
        terms: bytes, by what they are for.
        kept_bytes: of what it has kept of other orders beside.
    """

    id: str
    terms: dict[str, int]
    kept_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryReply:
    """To a process that computes: how many bytes it may take in all; 0 if it may not have these now, -1 if never."""

    id: str
    memory_bytes: int


Head = Step | Attach | Ready | StepAccepted | StepReply | MemoryRequest | MemoryReply
Frame = tuple[Head, bytes]

_KINDS: Mapping[str, type[Head]] = MappingProxyType(
    {
        "step": Step,
        "attach": Attach,
        "ready": Ready,
        "accepted": StepAccepted,
        "answered": StepReply,
        "need": MemoryRequest,
        "granted": MemoryReply,
    }
)
_SLOW = b" "
"""Marks what orjson cannot encode: it would read a whole number of more than 64 bits as a float."""
_NAME_OF = MappingProxyType({kind: name for name, kind in _KINDS.items()})
_FIELDS = MappingProxyType({kind: dict.fromkeys(each.name for each in fields(kind)) for kind in _KINDS.values()})


def to_frame(head: Head, body: bytes = b"") -> bytes:
    """Encode a frame."""
    kind = type(head)
    encoded = to_json({"kind": _NAME_OF[kind], **{name: getattr(head, name) for name in _FIELDS[kind]}})
    return b"".join((_LENGTHS.pack(len(encoded), len(body)), encoded, body))


def to_json(document: Any) -> bytes:
    """Encode plain data, quickly; also whole numbers of any length, and halves of pairs of surrogates."""
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError:
        return _SLOW + json.dumps(document, separators=(",", ":")).encode()


def from_json(text: bytes) -> Any:
    """Read what `to_json` wrote; ValueError or RecursionError if it is not JSON."""
    if text.startswith(_SLOW):
        return json.loads(text)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


class FrameReader:
    """Puts frames together from bytes as they arrive, in pieces of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes | memoryview) -> list[Frame]:
        """Return the frames that `data` completes; BadMessage if one of them is none."""
        self._rest += data
        frames: list[Frame] = []
        place = 0
        while len(self._rest) - place >= _LENGTHS.size:
            head_bytes, body_bytes = _LENGTHS.unpack_from(self._rest, place)
            if head_bytes > HEAD_BYTES_MAX:
                raise BadMessage(f"the head of a frame has {head_bytes} bytes")
            start, end = place + _LENGTHS.size, place + _LENGTHS.size + head_bytes + body_bytes
            if len(self._rest) < end:
                break
            head = bytes(self._rest[start : start + head_bytes])
            frames.append((_read(head), bytes(self._rest[start + head_bytes : end])))
            place = end
        del self._rest[:place]
        return frames


def _read(head: bytes) -> Head:
    try:
        document = from_json(head)
        kind = _KINDS[document.pop("kind")]
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError) as error:
        raise BadMessage(f"the head of a frame ({len(head)} bytes) is none") from error
    expected = _FIELDS[kind].keys()
    if document.keys() != expected:
        raise BadMessage(f"a frame has these fields missing or too many: {sorted(document.keys() ^ expected)}")
    return kind(**document)


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
"""It ends by an error, which the text describes."""


def to_line(message: Message) -> bytes:
    """Encode `message` as one line; JSON leaves no line break in it."""
    return encode(message) + b"\n"


class LineReader:
    """Puts messages together from bytes as they arrive, in pieces of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that `data` completes; BadMessage if one of them is none."""
        self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [decode(bytes(line)) for line in lines]
