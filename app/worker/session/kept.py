"""What came of steps, kept for whoever asks again."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any

import orjson

from app.domain.frames import Step
from app.domain.media import JSON

KEPT_ANSWERS = 1024
KEPT_BYTES = 64 * 1024**2

_SEPARATOR = b"\0"


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of a step.

    Attributes:
        seq: the place that it took.
        id: which request it was.
        key: the client's Idempotency-Key.
        digest: of what was asked, see `digest_of`.
        media: the type of the answer's body.
        body: the answer's; empty with an `error`.
        error: as in `Answered`.
        file: a file that the server takes over.
    """

    seq: int
    id: str
    key: str | None
    digest: str
    media: str = JSON
    body: bytes = b""
    error: dict[str, Any] | None = None
    file: str | None = None

    def to_head(self) -> dict[str, Any]:
        """Write all but the body as plain data."""
        return {name: getattr(self, name) for name in HEAD}


HEAD = tuple(field.name for field in fields(Kept) if field.name != "body")


def digest_of(step: Step, body: bytes) -> str:
    """Return the SHA-256 of what a step asks for: the same for a step that is sent again, whoever sends it."""
    try:
        options = orjson.dumps(step.options, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        options = repr(step.options).encode("utf-8", "backslashreplace")
    digest = hashlib.sha256(_SEPARATOR.join((step.verb.encode(), (step.media or "").encode(), options, b"")))
    digest.update(body)
    return digest.hexdigest()


class Answers:
    """The last answers, by place, by request and by key. The newest is always among them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_seq: OrderedDict[int, Kept] = OrderedDict()
        self._by_id: dict[str, Kept] = {}
        self._by_key: dict[str, Kept] = {}
        self._bytes = 0

    def __iter__(self) -> Any:
        """Go through them in their order."""
        return iter(self._by_seq.values())

    def add(self, kept: Kept) -> None:
        """Keep one more, and give up the oldest ones beyond the bounds."""
        self._by_seq[kept.seq] = kept
        self._by_id[kept.id] = kept
        if kept.key is not None:
            self._by_key[kept.key] = kept
        self._bytes += len(kept.body)
        while len(self._by_seq) > 1 and (len(self._by_seq) > KEPT_ANSWERS or self._bytes > KEPT_BYTES):
            self._give_up(self._by_seq.popitem(last=False)[1])

    def _give_up(self, kept: Kept) -> None:
        self._bytes -= len(kept.body)
        for table, name in ((self._by_id, kept.id), (self._by_key, kept.key)):
            if name is not None and table.get(name) is kept:
                del table[name]

    def of_seq(self, seq: int) -> Kept | None:
        """Return what came of the step at a place."""
        return self._by_seq.get(seq)

    def of_request(self, id: str) -> Kept | None:
        """Return what came of a request."""
        return self._by_id.get(id)

    def of_key(self, key: str) -> Kept | None:
        """Return what came of the request with an Idempotency-Key."""
        return self._by_key.get(key)
