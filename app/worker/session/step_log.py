"""The steps of a session: their order, the cached replies, and what is durable."""

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any

import orjson

from app.domain.documents import JSON
from app.domain.errors import Conflict, IdempotencyMismatch
from app.domain.frames import Step
from app.worker.session.backend import SessionBackend
from app.worker.session.session_dir import SessionDir
from app.worker.session.wal import WriteAheadLog

MAX_REPLIES = 1024
MAX_REPLY_BYTES = 64 * 1024**2

_SEPARATOR = b"\0"


@dataclass(frozen=True, slots=True)
class CachedReply:
    """What came of a step.

    Attributes:
        seq: the place that it took.
        id: which request it was.
        key: the client's Idempotency-Key.
        digest: of what was asked, see `digest_step`.
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
        return {name: getattr(self, name) for name in HEAD_FIELDS}


HEAD_FIELDS = tuple(field.name for field in fields(CachedReply) if field.name != "body")


def digest_step(step: Step, body: bytes) -> str:
    """Return the SHA-256 of what a step asks for: the same for a step that is sent again, whoever sends it."""
    try:
        options = orjson.dumps(step.options, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        options = repr(step.options).encode("utf-8", "backslashreplace")
    digest = hashlib.sha256(_SEPARATOR.join((step.verb.encode(), (step.media or "").encode(), options, b"")))
    digest.update(body)
    return digest.hexdigest()


class ReplyCache:
    """The last answers, by place, by request and by key. The newest is always among them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_seq: OrderedDict[int, CachedReply] = OrderedDict()
        self._by_id: dict[str, CachedReply] = {}
        self._by_key: dict[str, CachedReply] = {}
        self._bytes = 0

    def __iter__(self) -> Any:
        """Go through them in their order."""
        return iter(self._by_seq.values())

    def add(self, reply: CachedReply) -> None:
        """Keep one more, and give up the oldest ones beyond the bounds."""
        self._by_seq[reply.seq] = reply
        self._by_id[reply.id] = reply
        if reply.key is not None:
            self._by_key[reply.key] = reply
        self._bytes += len(reply.body)
        while len(self._by_seq) > 1 and (len(self._by_seq) > MAX_REPLIES or self._bytes > MAX_REPLY_BYTES):
            self._evict(self._by_seq.popitem(last=False)[1])

    def _evict(self, reply: CachedReply) -> None:
        self._bytes -= len(reply.body)
        for table, name in ((self._by_id, reply.id), (self._by_key, reply.key)):
            if name is not None and table.get(name) is reply:
                del table[name]

    def by_seq(self, seq: int) -> CachedReply | None:
        """Return what came of the step at a place."""
        return self._by_seq.get(seq)

    def by_id(self, id: str) -> CachedReply | None:
        """Return what came of a request."""
        return self._by_id.get(id)

    def by_key(self, key: str) -> CachedReply | None:
        """Return what came of the request with an Idempotency-Key."""
        return self._by_key.get(key)


REPLAY_SECONDS = 2.0
"""Taking a session up again may take so long,"""
SNAPSHOT_COST_FACTOR = 10.0
"""or as many times as long as a snapshot, which is then not written more often than that."""
LOG_BYTES = 64 * 1024**2
LOG_STEPS = 10_000


@dataclass(slots=True)
class ReplayCost:
    """What has come into the log since its snapshot: how much, and how long it would take to do again."""

    steps: int = 0
    seconds: float = 0.0


class StepLog:
    """The record of a session's steps. What is told to it lasts from the next `commit` on."""

    def __init__(self, directory: SessionDir, log: WriteAheadLog, number: int, replies: ReplyCache) -> None:
        """Go on with a log, which is that from place `number` on."""
        self._dir = directory
        self._log = log
        self._number = number
        self._start_size = log.size
        self._replay_cost = ReplayCost()
        self._snapshot_seconds = 0.0
        self.replies = replies
        self.next_seq = number

    def find(self, step: Step, digest: str) -> CachedReply | None:
        """Return what came of a step that was carried out before; None if it was not, and its turn has come.

        Conflict, IdempotencyMismatch: another step has this place or key, or it is not known any more what came of it.
        """
        known = self.replies.by_id(step.id)
        if known is None and step.key is not None:
            known = self.replies.by_key(step.key)
            if known is not None and known.digest != digest:
                raise IdempotencyMismatch("this Idempotency-Key was sent with another step; choose a new one")
        if known is None and step.seq is not None and step.seq < self.next_seq:
            known = self.replies.by_seq(step.seq)
            if known is None:
                detail = f"step {step.seq} was carried out so long ago that its answer is not kept any more"
                raise Conflict(f"{detail}; the next place is {self.next_seq}", code="answer_forgotten")
            if known.digest != digest:
                detail = f"place {step.seq} was taken by another step"
                raise Conflict(f"{detail}; the next place is {self.next_seq}", code="seq_used")
        return known

    def append_intent(self, step: Step, body: bytes, seq: int, digest: str, *, accepted: bool = False) -> None:
        """Write a step down, to be carried out again in a replay; one that is `accepted` is yet to be carried out."""
        step_fields = {name: getattr(step, name) for name in ("id", "verb", "options", "key", "media", "accept")}
        self._log.add({"step": {**step_fields, "seq": seq}, "digest": digest, "accepted": accepted}, body)

    def commit_result(self, reply: CachedReply, seconds: float, *, logged: bool) -> None:
        """Keep what came of the step whose turn it is; one that is not `logged` is not carried out again."""
        if not logged:
            self._log.add({"kept": reply.to_head()}, reply.body)
        self.apply_result(reply, seconds)

    def apply_result(self, reply: CachedReply, seconds: float = 0.0) -> None:
        """Keep what the log says came of a step."""
        self.replies.add(reply)
        self.next_seq = max(self.next_seq, reply.seq + 1)
        self._replay_cost.steps += 1
        self._replay_cost.seconds += seconds

    @property
    def number(self) -> int:
        """The place at which the snapshot was written that the log goes on from."""
        return self._number

    @property
    def has_pending(self) -> bool:
        """Whether something is not on the disk yet."""
        return self._log.has_pending

    def commit(self) -> None:
        """Have on the disk what was told; StorageFull or StorageFailed, and nothing may be told any more then."""
        self._log.commit()

    def mark_clean(self) -> None:
        """Have it known of the last step, should it be damaged from now on, that it was on the disk.

        StorageFull or StorageFailed if that cannot be; what was told before lasts all the same.
        """
        self._log.add({"rests": True}, b"")
        self._log.commit()

    def truncate(self) -> None:
        """Forget what is not on the disk."""
        self._log.truncate()

    def is_snapshot_due(self, backend: SessionBackend) -> bool:
        """Whether the session should be put aside now. What it holds besides keeps it from that, up to a bound."""
        cost = self._replay_cost
        if cost.steps >= LOG_STEPS or self._log.size - self._start_size >= LOG_BYTES:
            return True
        costs = max(REPLAY_SECONDS, SNAPSHOT_COST_FACTOR * self._snapshot_seconds)
        return cost.seconds > costs and not backend.has_transient_state

    def write_snapshot(self, backend: SessionBackend) -> None:
        """Write a snapshot, from which the log goes on; what the bench holds besides is given up.

        StorageFull or StorageFailed if it cannot be written; the log goes on as it was then.
        """
        self.commit()
        if self.next_seq == self._number:
            return
        backend.discard_transient()
        begun = time.monotonic()
        reply = [({"kept": reply.to_head()}, reply.body) for reply in self.replies]
        log = self._dir.start_log(self.next_seq, backend.snapshot, reply)
        self._log.close()
        self._log, self._number, self._start_size = log, self.next_seq, log.size
        self._replay_cost = ReplayCost()
        self._snapshot_seconds = time.monotonic() - begun
