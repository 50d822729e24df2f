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
    """The reply to a step, kept for retries.

    Attributes:
        seq: the sequence number of the step.
        id: the id of the request.
        key: the client's Idempotency-Key.
        digest: the digest of the step, see `digest_step`.
        media: the media type of the body.
        body: the body; empty with an `error`.
        error: as in `StepReply`.
        file: a file that the server imports.
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
        """Return all but the body as plain data."""
        return {name: getattr(self, name) for name in HEAD_FIELDS}


HEAD_FIELDS = tuple(field.name for field in fields(CachedReply) if field.name != "body")


def digest_step(step: Step, body: bytes) -> str:
    """Return the SHA-256 of a step's content: equal if the step is sent again."""
    try:
        options = orjson.dumps(step.options, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        options = repr(step.options).encode("utf-8", "backslashreplace")
    digest = hashlib.sha256(_SEPARATOR.join((step.verb.encode(), (step.media or "").encode(), options, b"")))
    digest.update(body)
    return digest.hexdigest()


class ReplyCache:
    """The last replies, by sequence number, request id and key. The newest one is never evicted."""

    def __init__(self) -> None:
        self._by_seq: OrderedDict[int, CachedReply] = OrderedDict()
        self._by_id: dict[str, CachedReply] = {}
        self._by_key: dict[str, CachedReply] = {}
        self._bytes = 0

    def __iter__(self) -> Any:
        return iter(self._by_seq.values())

    def add(self, reply: CachedReply) -> None:
        """Add a reply, and evict the oldest ones beyond the limits."""
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
        """Return the reply to the step with a sequence number."""
        return self._by_seq.get(seq)

    def by_id(self, id: str) -> CachedReply | None:
        """Return the reply to a request."""
        return self._by_id.get(id)

    def by_key(self, key: str) -> CachedReply | None:
        """Return the reply to the request with an Idempotency-Key."""
        return self._by_key.get(key)


REPLAY_SECONDS = 2.0
"""Maximum duration of a replay, in seconds,"""
SNAPSHOT_COST_FACTOR = 10.0
"""or this many times as long as a snapshot, which is then not written more often than that."""
LOG_BYTES = 64 * 1024**2
LOG_STEPS = 10_000


@dataclass(slots=True)
class ReplayCost:
    """Log since the last snapshot: number of steps, and estimated duration of a replay."""

    steps: int = 0
    seconds: float = 0.0


class StepLog:
    """The log of a session's steps. Entries are durable from the next `commit` on.

    The order is: append the intent or the reply, commit (one write and one sync for a group of steps), then send
    the replies. So every reply that a client has seen survives a crash, and a step is executed at most once.
    """

    def __init__(self, directory: SessionDir, log: WriteAheadLog, number: int, replies: ReplyCache) -> None:
        """Continue a log that starts at step `number`."""
        self._dir = directory
        self._log = log
        self._number = number
        self._start_size = log.size
        self._replay_cost = ReplayCost()
        self._snapshot_seconds = 0.0
        self.replies = replies
        self.next_seq = number

    def find(self, step: Step, digest: str) -> CachedReply | None:
        """Return the reply to a step that was executed before; None if it is the next one.

        Conflict, IdempotencyMismatch: another step has this number or key, or the reply is not cached any more.
        """
        known = self.replies.by_id(step.id)
        if known is None and step.key is not None:
            known = self.replies.by_key(step.key)
            if known is not None and known.digest != digest:
                raise IdempotencyMismatch("this Idempotency-Key was sent with another step; choose a new one")
        if known is None and step.seq is not None and step.seq < self.next_seq:
            known = self.replies.by_seq(step.seq)
            if known is None:
                detail = f"step {step.seq} was executed so long ago that its reply is not cached any more"
                raise Conflict(f"{detail}; the next sequence number is {self.next_seq}", code="answer_forgotten")
            if known.digest != digest:
                detail = f"sequence number {step.seq} was used by another step"
                raise Conflict(f"{detail}; the next sequence number is {self.next_seq}", code="seq_used")
        return known

    def append_intent(self, step: Step, body: bytes, seq: int, digest: str, *, accepted: bool = False) -> None:
        """Append a step, to be executed again in a replay; an `accepted` one is executed after its commit."""
        step_fields = {name: getattr(step, name) for name in ("id", "verb", "options", "key", "media", "accept")}
        self._log.add({"step": {**step_fields, "seq": seq}, "digest": digest, "accepted": accepted}, body)

    def commit_result(self, reply: CachedReply, seconds: float, *, logged: bool) -> None:
        """Cache the reply to the next step; if the step is not `logged`, its reply is, and a replay does not
        execute it.
        """
        if not logged:
            self._log.add({"kept": reply.to_head()}, reply.body)
        self.apply_result(reply, seconds)

    def apply_result(self, reply: CachedReply, seconds: float = 0.0) -> None:
        """Cache a reply, and advance to the next step."""
        self.replies.add(reply)
        self.next_seq = max(self.next_seq, reply.seq + 1)
        self._replay_cost.steps += 1
        self._replay_cost.seconds += seconds

    @property
    def number(self) -> int:
        """The number of the step before which the snapshot was written."""
        return self._number

    @property
    def has_pending(self) -> bool:
        """Whether there are entries that are not durable."""
        return self._log.has_pending

    def commit(self) -> None:
        """Make the entries durable; after StorageFull or StorageFailed nothing more may be appended."""
        self._log.commit()

    def mark_clean(self) -> None:
        """Append a record after which damage to the last step is recognised as damage.

        Without it, an unreadable last record could also be a write that was cut off. StorageFull or
        StorageFailed if that fails; earlier entries stay durable.
        """
        self._log.add({"rests": True}, b"")
        self._log.commit()

    def truncate(self) -> None:
        """Discard the entries that are not durable."""
        self._log.truncate()

    def is_snapshot_due(self, backend: SessionBackend) -> bool:
        """Whether a snapshot should be written now. Transient state delays it, up to a limit."""
        cost = self._replay_cost
        if cost.steps >= LOG_STEPS or self._log.size - self._start_size >= LOG_BYTES:
            return True
        costs = max(REPLAY_SECONDS, SNAPSHOT_COST_FACTOR * self._snapshot_seconds)
        return cost.seconds > costs and not backend.has_transient_state

    def write_snapshot(self, backend: SessionBackend) -> None:
        """Write a snapshot and start a new log; transient state is discarded.

        StorageFull or StorageFailed if it cannot be written; the old log continues then.
        """
        self.commit()
        if self.next_seq == self._number:
            return
        backend.discard_transient()
        begun = time.monotonic()
        # The replay of the old log would restore the cached replies; the new log has to begin with them.
        reply = [({"kept": reply.to_head()}, reply.body) for reply in self.replies]
        log = self._dir.start_log(self.next_seq, backend.snapshot, reply)
        self._log.close()
        self._log, self._number, self._start_size = log, self.next_seq, log.size
        self._replay_cost = ReplayCost()
        self._snapshot_seconds = time.monotonic() - begun
