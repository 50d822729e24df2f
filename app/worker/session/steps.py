"""Steps on their way to a handler: reordering by sequence number, batches, and dispatch."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from app.domain.documents import SAFETENSORS
from app.domain.errors import Conflict, Finding, Invalid
from app.domain.frames import Step, StepReply
from app.ingest.arrays import read_arrays
from app.ingest.encoding import safetensors_body
from app.ingest.limits import IngestLimits
from app.worker.session.backend import Call, Handler, Result
from app.worker.session.rows import Array
from app.worker.session.session_dir import SessionDir

MAX_EARLY_STEPS = 256
REORDER_SECONDS = 10.0

EarlyStep = tuple[Step, bytes]


class ReorderBuffer:
    """Steps that arrived before their turn, by sequence number, each with a timeout."""

    def __init__(self) -> None:
        self._by_seq: dict[int, list[tuple[float, EarlyStep]]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether no other step fits."""
        return self._count >= MAX_EARLY_STEPS

    def add(self, seq: int, step: Step, body: bytes) -> None:
        """Buffer a step until sequence number `seq` is next."""
        self._by_seq.setdefault(seq, []).append((time.monotonic() + REORDER_SECONDS, (step, body)))
        self._count += 1

    def ready(self, next_seq: int) -> list[EarlyStep]:
        """Remove and return steps that are next, or too late."""
        if not self._by_seq:
            return []
        places = sorted(seq for seq in self._by_seq if seq <= next_seq)
        return [ahead for seq in places[:1] for _, ahead in self._pop(seq)]

    def overdue(self) -> Iterator[EarlyStep]:
        """Remove and yield the steps that have timed out."""
        now = time.monotonic()
        for seq, waiting in [*self._by_seq.items()]:
            late = [ahead for until, ahead in waiting if until <= now]
            if late:
                still = [(until, ahead) for until, ahead in self._pop(seq) if until > now]
                if still:
                    self._by_seq[seq] = still
                    self._count += len(still)
                yield from late

    def seconds_left(self) -> float | None:
        """Return the seconds until the next timeout; None if the buffer is empty."""
        if not self._by_seq:
            return None
        return min(until for waiting in self._by_seq.values() for until, _ in waiting) - time.monotonic()

    def _pop(self, seq: int) -> list[tuple[float, EarlyStep]]:
        taken = self._by_seq.pop(seq)
        self._count -= len(taken)
        return taken


NOT_BATCHABLE = frozenset({"save", "load", "batch", "operation"})
"""Verbs that need a request of their own: they use files of the server, or change nothing."""

SKIPPED: Mapping[str, Any] = MappingProxyType(
    {
        "status": 424,
        "title": "Not executed",
        "code": "not_carried_out",
        "detail": "an earlier step of the batch failed; correct it, and send both again",
        "findings": [],
    }
)


@dataclass(frozen=True, slots=True)
class BatchedStep:
    """A step of a batch, as if it had been sent by itself; `arrays` are those of its body."""

    step: Step
    body: bytes
    arrays: Mapping[str, Array] | None


def first_seq(step: Step) -> int | None:
    """Return the sequence number that must be next before the step can be executed: of a batch that of its first
    step.
    """
    if step.verb != "batch":
        return step.seq
    seq: int | None = step.options["steps"][0].get("seq")
    return seq


def split_batch(batch: Step, body: bytes) -> Iterator[BatchedStep]:
    """Yield the steps of a batch; Invalid if its body cannot be read, or holds arrays for none of them."""
    entries = batch.options["steps"]
    apart = _split_arrays(batch, body, len(entries))
    for number, entry in enumerate(entries):
        arrays = apart.get(number)
        step = Step(
            id=f"{batch.id}/{number}",
            verb=entry["verb"],
            options={name: value for name, value in entry.items() if name not in ("verb", "seq")},
            seq=entry.get("seq"),
            key=None if batch.key is None else f"{batch.key}/{number}",
            media=None if arrays is None else SAFETENSORS,
        )
        yield BatchedStep(step, b"" if arrays is None else safetensors_body(arrays), arrays)


def _split_arrays(batch: Step, body: bytes, count: int) -> dict[int, dict[str, Array]]:
    """Read the arrays of a body, named `<number of the step>/<name>`."""
    apart: dict[int, dict[str, Array]] = {}
    if batch.media is None:
        return apart
    numbers = {str(number): number for number in range(count)}
    for name, array in read_arrays(body, batch.media, IngestLimits()).arrays.items():
        number, _, own = name.partition("/")
        if number not in numbers or not own:
            detail = f"a tensor of a batch is named as <number of its step>/<input>; {name[:64]!r} is not"
            raise Invalid(detail, code="unknown_name", findings=[Finding("", "unknown_name", detail)])
        apart.setdefault(numbers[number], {})[own] = array
    return apart


def check_batchable(step: Step) -> None:
    """Raise an error for steps that cannot be part of a batch."""
    if step.verb in NOT_BATCHABLE:
        detail = f"{step.verb} must be a request of its own; leave it out of the batch"
        raise Conflict(detail, code="not_in_batch", findings=[Finding("/verb", "not_in_batch", detail)])


def encode_entry(head: StepReply, body: bytes, number: int) -> bytes:
    """Encode the reply to a step of a batch."""
    if head.error is None:
        return b'{"seq":%s,"status":200,"answer":%s}' % (json.dumps(head.seq).encode(), body)
    error = dict(head.error)
    status, findings = error.pop("status"), error.pop("findings")
    error["errors"] = [{**finding, "pointer": f"/steps/{number}{finding['pointer']}"} for finding in findings]
    return json.dumps({"seq": head.seq, "status": status, "error": error}).encode()


_LIMITS = IngestLimits()


def dispatch(
    verb: Handler,
    step: Step,
    body: bytes,
    seq: int | None,
    directory: SessionDir,
    arrays: Mapping[str, Array] | None = None,
) -> Result:
    """Call the handler of a step, the first time or in a replay; `arrays` are those of the body, if known.

    Raises:
        ApiError: the body cannot be read.
        EngineError, ApiError, MemoryError: as the handler does.
    """
    if arrays is None:
        arrays = read_arrays(body, step.media, _LIMITS).arrays if step.media else {}
    return verb.run(
        Call(step.options, arrays, seq, step.files or {}, step.accept, partial(directory.write_checkpoint, seq or 0))
    )
