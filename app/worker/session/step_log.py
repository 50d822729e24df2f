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
from app.worker.session.backend import Bench
from app.worker.session.session_dir import Folder
from app.worker.session.wal import Log

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


REPLAY_SECONDS = 2.0
"""Taking a session up again may take so long,"""
SNAPSHOTS_PART = 10.0
"""or as many times as long as a snapshot, which is then not written more often than that."""
LOG_BYTES = 64 * 1024**2
LOG_STEPS = 10_000


@dataclass(slots=True)
class Logged:
    """What has come into the log since its snapshot: how much, and how long it would take to do again."""

    steps: int = 0
    seconds: float = 0.0


class Ledger:
    """The record of a session's steps. What is told to it lasts from the next `commit` on."""

    def __init__(self, folder: Folder, log: Log, number: int, answers: Answers) -> None:
        """Go on with a log, which is that from place `number` on."""
        self._folder = folder
        self._log = log
        self._number = number
        self._begins_with = log.size
        self._logged = Logged()
        self._snapshot_seconds = 0.0
        self.answers = answers
        self.next_seq = number

    def find(self, step: Step, digest: str) -> Kept | None:
        """Return what came of a step that was carried out before; None if it was not, and its turn has come.

        Conflict, IdempotencyMismatch: another step has this place or key, or it is not known any more what came of it.
        """
        known = self.answers.of_request(step.id)
        if known is None and step.key is not None:
            known = self.answers.of_key(step.key)
            if known is not None and known.digest != digest:
                raise IdempotencyMismatch("this Idempotency-Key was sent with another step; choose a new one")
        if known is None and step.seq is not None and step.seq < self.next_seq:
            known = self.answers.of_seq(step.seq)
            if known is None:
                detail = f"step {step.seq} was carried out so long ago that its answer is not kept any more"
                raise Conflict(f"{detail}; the next place is {self.next_seq}", code="answer_forgotten")
            if known.digest != digest:
                detail = f"place {step.seq} was taken by another step"
                raise Conflict(f"{detail}; the next place is {self.next_seq}", code="seq_used")
        return known

    def note(self, step: Step, body: bytes, seq: int, digest: str, *, accepted: bool = False) -> None:
        """Write a step down, to be carried out again in a replay; one that is `accepted` is yet to be carried out."""
        told = {name: getattr(step, name) for name in ("id", "verb", "options", "key", "media", "accept")}
        self._log.add({"step": {**told, "seq": seq}, "digest": digest, "accepted": accepted}, body)

    def settle(self, kept: Kept, seconds: float, *, noted: bool) -> None:
        """Keep what came of the step whose turn it is; one that is not `noted` is not carried out again."""
        if not noted:
            self._log.add({"kept": kept.to_head()}, kept.body)
        self.take_up(kept, seconds)

    def take_up(self, kept: Kept, seconds: float = 0.0) -> None:
        """Keep what the log says came of a step."""
        self.answers.add(kept)
        self.next_seq = max(self.next_seq, kept.seq + 1)
        self._logged.steps += 1
        self._logged.seconds += seconds

    @property
    def number(self) -> int:
        """The place at which the snapshot was written that the log goes on from."""
        return self._number

    @property
    def waits(self) -> bool:
        """Whether something is not on the disk yet."""
        return self._log.waits

    def commit(self) -> None:
        """Have on the disk what was told; StorageFull or StorageFailed, and nothing may be told any more then."""
        self._log.commit()

    def rest(self) -> None:
        """Have it known of the last step, should it be damaged from now on, that it was on the disk.

        StorageFull or StorageFailed if that cannot be; what was told before lasts all the same.
        """
        self._log.add({"rests": True}, b"")
        self._log.commit()

    def cut(self) -> None:
        """Forget what is not on the disk."""
        self._log.cut()

    def is_due(self, bench: Bench) -> bool:
        """Whether the session should be put aside now. What it holds besides keeps it from that, up to a bound."""
        logged = self._logged
        if logged.steps >= LOG_STEPS or self._log.size - self._begins_with >= LOG_BYTES:
            return True
        costs = max(REPLAY_SECONDS, SNAPSHOTS_PART * self._snapshot_seconds)
        return logged.seconds > costs and not bench.holds

    def put_aside(self, bench: Bench) -> None:
        """Write a snapshot, from which the log goes on; what the bench holds besides is given up.

        StorageFull or StorageFailed if it cannot be written; the log goes on as it was then.
        """
        self.commit()
        if self.next_seq == self._number:
            return
        bench.let_go()
        begun = time.monotonic()
        kept = [({"kept": kept.to_head()}, kept.body) for kept in self.answers]
        log = self._folder.begin(self.next_seq, bench.snapshot, kept)
        self._log.close()
        self._log, self._number, self._begins_with = log, self.next_seq, log.size
        self._logged = Logged()
        self._snapshot_seconds = time.monotonic() - begun
