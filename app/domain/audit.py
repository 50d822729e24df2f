"""The audit trail: who requested which change, and its outcome. Each entry vouches for all before it."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from app.domain.clock import rfc3339

_UP_TO = re.compile(r"/v1/audit/1-([1-9][0-9]{0,15})")
_HASH = re.compile(r"[0-9a-f]{64}")

GENESIS = "0" * 64
"""What the first entry follows."""

DELETED = "delete_audit_entries"
"""The action by which the server says that it has deleted the oldest entries, since there were too many."""

OFFLINE = "offline"
"""Who changes keys while no server runs: a user with access to the data directory."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that was asked for.

    `key_id` is None where no key was needed, or none was known; `action` the name of the operation, the method where
    none was reached; `object` what it was done to, a path; `result` the status of the answer.
    """

    key_id: str | None
    action: str
    object: str
    result: str
    request_id: str
    address: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """An act in its place in the trail; `hash` covers it and `previous`, the hash of the entry before it."""

    seq: int
    at: datetime
    key_id: str | None
    action: str
    object: str
    result: str
    request_id: str
    address: str
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Extent:
    """What of a trail was found unbroken: the number of the first entry, that of the last one, and its hash.

    `accounted` says whether nothing comes before the first, or an entry says that what did was deleted.
    """

    first: int
    last: int
    hash: str
    accounted: bool

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self.last - self.first + 1


class TrailBroken(Exception):  # noqa: N818 (named as what happened)
    """An entry of the trail was changed, removed or put in between."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"entry {seq}: {why}")
        self.seq = seq


def entered(act: Act, seq: int, at: datetime, previous: str) -> AuditRecord:
    """Return the act as the entry `seq`, after the one whose hash is `previous`; `at` is kept to the millisecond."""
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    fields = (act.key_id, act.action, act.object, act.result, act.request_id, act.address)
    return AuditRecord(seq, at, *fields, previous, _hash(seq, at, *fields, previous))


def verified(entries: Iterable[AuditRecord], after: tuple[int, str] = (0, GENESIS)) -> tuple[int, str]:
    """Check entries in their order, which follow the entry `after` (its seq and hash); return those of the last one.

    TrailBroken at the first that does not fit. That entries are missing at the end shows only by comparing the result
    with one that was written down elsewhere.
    """
    for entry in entries:
        seq, previous = after
        if entry.seq != seq + 1:
            raise TrailBroken(seq + 1, f"it is missing; the next one is {entry.seq}")
        if entry.previous != previous:
            raise TrailBroken(entry.seq, "it does not follow the entry before it")
        if entry.hash != _hash_of(entry):
            raise TrailBroken(entry.seq, "its content is not what was written")
        after = (entry.seq, entry.hash)
    return after


def deletion(last: int, last_hash: str) -> Act:
    """Return the act of deleting all entries up to `last`, whose hash is named: what is left vouches for it."""
    return Act(None, DELETED, f"/v1/audit/1-{last}", last_hash, "", "")


def examined(entries: Iterable[AuditRecord]) -> Extent:
    """Check entries as `verified` does, starting at any number; TrailBroken likewise."""
    waiting = iter(entries)
    first = next(waiting, None)
    if first is None:
        return Extent(1, 0, GENESIS, accounted=True)
    before = (0, GENESIS) if first.seq <= 1 else (first.seq - 1, first.previous)
    accounted = first.seq <= 1

    def watched() -> Iterator[AuditRecord]:
        nonlocal accounted
        for entry in chain((first,), waiting):
            accounted = accounted or _accounts_for(entry, *before)
            yield entry

    last, last_hash = verified(watched(), before)
    return Extent(before[0] + 1, last, last_hash, accounted)


def _accounts_for(entry: AuditRecord, last: int, last_hash: str) -> bool:
    """Whether an entry is the server's word that those up to `last`, and perhaps more, were to be deleted."""
    deleted = _UP_TO.fullmatch(entry.object)
    # A client can choose the method that stands for an action, and a path, but no result that is a hash.
    if deleted is None or entry.action != DELETED or not _HASH.fullmatch(entry.result):
        return False
    return int(deleted[1]) > last or (int(deleted[1]) == last and entry.result == last_hash)


def _hash_of(entry: AuditRecord) -> str:
    fields = (entry.key_id, entry.action, entry.object, entry.result, entry.request_id, entry.address)
    return _hash(entry.seq, entry.at, *fields, entry.previous)


def _hash(seq: int, at: datetime, *texts: str | None) -> str:
    """Return the SHA-256 of the fields as one JSON array, in which none can run into the next."""
    return hashlib.sha256(json.dumps([seq, rfc3339(at), *texts], separators=(",", ":")).encode()).hexdigest()
