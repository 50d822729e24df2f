"""The desk of a session: steps come in, in any order; they are carried out in theirs, and answered once that lasts."""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import engine
from app.domain.errors import AdjointError, Conflict, NotFound, StorageFailed, StorageFull
from app.domain.frames import Accepted, Answered, Step
from app.worker.frame_channel import Line
from app.worker.session.backend import Array, Bench, Verb
from app.worker.session.replies import POISON, encode_answer, refusal
from app.worker.session.session_dir import Folder
from app.worker.session.step_log import Kept, Ledger, digest_of
from app.worker.session.steps import LEFT_OUT, BatchedStep, Waiting, check_alone, entry_of, first_seq, perform, steps_of

COMMIT_SECONDS = 0.005
"""So long steps are carried out before those that are done are put on the disk and answered."""

LARGE_BYTES = 1 << 20
"""Larger bodies go through a file."""

RETRY_SECONDS = 60.0
"""So long a snapshot that could not be written is not tried again."""

Answer = tuple[Answered, bytes]

_logger = logging.getLogger(__name__)


class StartAgain(Exception):  # noqa: N818 - it is no fault of whoever gets it
    """The arrays in memory may not be what the disk says they are: the session has to be taken up from there."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """What became of a step that was not carried out, and whether that was a fault of ours."""

    error: Mapping[str, Any]
    broken: bool


class Desk:
    """Carries steps out, one at a time."""

    def __init__(
        self,
        bench: Bench,
        ledger: Ledger,
        folder: Folder,
        line: Line,
        poison: str | None,
        refused: Mapping[str, Any] = POISON,
    ) -> None:
        """Work with `bench`; `poison` is the id of a request that is not to be carried out, `refused` its answer."""
        self._bench = bench
        self._ledger = ledger
        self._folder = folder
        self._line = line
        self._poison = poison
        self._refusal = refused
        self._waiting = Waiting()
        self._outbox: list[Answer] = []
        self._first_at = 0.0
        self._no_snapshot_until = 0.0

    @property
    def standing(self) -> dict[str, Any]:
        """Where the session is, as in `Answered`."""
        return {"next_seq": self._ledger.next_seq, **self._bench.standing}

    def seconds_left(self) -> float | None:
        """Return in how many seconds a step will have waited for too long; None if none waits."""
        return self._waiting.seconds_left()

    def take(self, step: Step, body: bytes) -> None:
        """Carry a step out, or have it wait until its turn has come; StartAgain."""
        seq = first_seq(step)
        if seq is None or seq <= self._ledger.next_seq:
            self._answer(step, body)
            while ready := self._waiting.ready(self._ledger.next_seq):
                for ahead in ready:
                    self._answer(*ahead)
        elif self._waiting.full:
            self._send(self._refused(step, _gap(seq, self._ledger.next_seq)))
        else:
            self._waiting.add(seq, step, body)

    def end_waiting(self) -> None:
        """Refuse the steps that have waited for too long for those before them."""
        for step, _ in self._waiting.overdue():
            self._send(self._refused(step, _gap(first_seq(step), self._ledger.next_seq)))

    def commit(self) -> None:
        """Have on the disk what was done, then send the answers; StartAgain if it cannot be."""
        try:
            self._ledger.commit()
        except (StorageFull, StorageFailed) as error:
            self._lose(error)
        if self._outbox:
            self._line.send(*self._outbox)
            self._outbox.clear()

    def put_aside(self) -> None:
        """Write a snapshot. One that cannot be written is left out, since the log goes on without it."""
        try:
            self._ledger.put_aside(self._bench)
        except (StorageFull, StorageFailed):
            _logger.exception("a snapshot is left out")
            self._no_snapshot_until = time.monotonic() + RETRY_SECONDS

    def put_aside_if_due(self) -> None:
        """Write a snapshot if a replay would take too long by now."""
        if self._ledger.is_due(self._bench) and time.monotonic() >= self._no_snapshot_until:
            self.put_aside()

    def rest(self) -> None:
        """Commit, and put the session aside unless it holds what only a replay brings back; StartAgain."""
        self.commit()
        if not self._bench.holds:
            self.put_aside()
            return
        with suppress(StorageFull, StorageFailed):
            self._ledger.rest()

    def _answer(self, step: Step, body: bytes) -> None:
        try:
            frame = self._batch(step, body) if step.verb == "batch" else self._carry_out(step, body)
        except AdjointError as error:
            frame = self._refused(step, error)
        self._send(frame)

    def _send(self, frame: Answer) -> None:
        """Put an answer with those that are sent at the next commit, which follows at once after a while."""
        now = time.monotonic()
        if not self._outbox:
            self._first_at = now
        self._outbox.append(self._within_bounds(frame))
        if now - self._first_at >= COMMIT_SECONDS:
            self.commit()

    def _within_bounds(self, frame: Answer) -> Answer:
        head, body = frame
        if len(body) <= LARGE_BYTES:
            return frame
        try:
            return replace(head, file=self._folder.put_answer(body)), b""
        except (StorageFull, StorageFailed):
            return frame

    def _carry_out(self, step: Step, body: bytes, arrays: Mapping[str, Array] | None = None) -> Answer:
        """Carry out a step whose turn has come; an AdjointError refuses it without a place."""
        if step.verb == "operation":
            return self._operation(step)
        verb = self._bench.verbs.get(step.verb)
        if verb is None:
            raise NotFound(f"a session of this kind has no verb {step.verb[:64]!r}", code="unknown_verb")
        if step.seq is None and verb.lasts is None and not step.notify:
            return self._read(step, body, verb, arrays)
        digest = digest_of(step, body)
        known = self._ledger.find(step, digest)
        if known is not None:
            return self._told(step, known, replayed=True)
        seq = self._ledger.next_seq
        noted = step.notify and verb.lasts != "snapshot" and step.id != self._poison
        if noted:
            self._ledger.note(step, body, seq, digest, accepted=True)
            self.commit()
            self._line.send((Accepted(step.id, seq), b""))
        return self._told(step, self._done(step, body, verb, Kept(seq, step.id, step.key, digest), arrays, noted=noted))

    def _read(self, step: Step, body: bytes, verb: Verb, arrays: Mapping[str, Array] | None) -> Answer:
        found = self._run(step, body, verb, None, arrays)
        if isinstance(found, _Failed):
            return Answered(step.id, self.standing, error=self._with_seq(found.error)), b""
        media, encoded_body, _ = found
        return Answered(step.id, self.standing, media=media), encoded_body

    def _done(
        self, step: Step, body: bytes, verb: Verb, place: Kept, arrays: Mapping[str, Array] | None, *, noted: bool
    ) -> Kept:
        """Carry out a step that takes a place, and keep what comes of it."""
        begun = time.monotonic()
        found: Any = _Failed(self._refusal, broken=False)
        if step.id != self._poison:
            found = self._run(step, body, verb, place.seq, arrays)
        seconds = time.monotonic() - begun
        if isinstance(found, _Failed):
            kept = Kept(place.seq, place.id, place.key, place.digest, error=dict(found.error))
            self._ledger.settle(kept, seconds, noted=False)
            if found.broken:
                self._outbox.append(self._told(step, kept))
                self.commit()
                raise StartAgain
            return kept
        media, answer, file = found
        kept = Kept(place.seq, place.id, place.key, place.digest, media, answer, file=file)
        if verb.lasts == "snapshot":
            self._keep_by_snapshot(kept)
            return kept
        if not noted:
            self._ledger.note(step, body, place.seq, place.digest)
        self._ledger.settle(kept, seconds, noted=True)
        return kept

    def _keep_by_snapshot(self, kept: Kept) -> None:
        self.commit()
        self._ledger.take_up(kept)
        try:
            self._ledger.put_aside(self._bench)
        except (StorageFull, StorageFailed) as error:
            standing, told = {**self.standing, "next_seq": kept.seq}, self._with_seq(refusal(error), kept.seq)
            self._line.send((Answered(kept.id, standing, error=told), b""))
            raise StartAgain from error

    def _run(
        self, step: Step, body: bytes, verb: Verb, seq: int | None, arrays: Mapping[str, Array] | None
    ) -> tuple[str, bytes, str | None] | _Failed:
        """Return type and body of the answer, and a file that goes with it; StorageFull or StorageFailed."""
        try:
            result = perform(verb, step, body, seq, self._folder, arrays)
        except (StorageFull, StorageFailed):
            raise
        except (engine.EngineError, AdjointError, MemoryError) as error:
            return _Failed(refusal(error), broken=False)
        except Exception as error:
            _logger.exception("a step has met a fault")
            return _Failed(refusal(error), broken=True)
        try:
            return *encode_answer(result.document, seq, step.accept), result.file
        except MemoryError as error:
            # What has no answer was not to be done.
            return _Failed(refusal(error), broken=verb.lasts is not None or seq is not None)

    def _operation(self, step: Step) -> Answer:
        """Answer what came of the step at a place."""
        seq = step.options["seq"]
        if seq >= self._ledger.next_seq:
            raise NotFound(f"step {seq} was not carried out yet", code="not_carried_out")
        known = self._ledger.answers.of_seq(seq)
        if known is None:
            raise Conflict(f"the answer of step {seq} is not kept any more", code="answer_forgotten")
        return self._told(step, known, replayed=True)

    def _batch(self, step: Step, body: bytes) -> Answer:
        """Carry out several steps, each of which takes a place of its own."""
        entries: list[bytes] = []
        poisoned, stopped = step.id == self._poison, False
        for number, each in enumerate(steps_of(step, body)):
            head, answer = self._left_out(each.step) if stopped else self._of_batch(each, poisoned=poisoned)
            entries.append(entry_of(head, answer, number))
            stopped |= head.error is not None and (poisoned or step.options.get("stop_on_error", True))
        return Answered(step.id, self.standing), b'{"data":[' + b",".join(entries) + b"]}"

    def _of_batch(self, each: BatchedStep, *, poisoned: bool) -> Answer:
        step = each.step
        if poisoned and self._ledger.answers.of_request(step.id) is None:
            self._poison = step.id
        try:
            check_alone(step)
            if step.seq is not None and step.seq > self._ledger.next_seq:
                raise _gap(step.seq, self._ledger.next_seq)
            return self._carry_out(step, each.body, each.arrays)
        except AdjointError as error:
            return self._refused(step, error)

    def _left_out(self, step: Step) -> Answer:
        return Answered(step.id, self.standing, error=self._with_seq(LEFT_OUT)), b""

    def _told(self, step: Step, kept: Kept, *, replayed: bool = False) -> Answer:
        error = None if kept.error is None else self._with_seq(kept.error)
        return Answered(step.id, self.standing, kept.seq, kept.media, replayed, error, kept.file), kept.body

    def _refused(self, step: Step, error: AdjointError) -> Answer:
        return Answered(step.id, self.standing, error=self._with_seq(refusal(error))), b""

    def _with_seq(self, error: Mapping[str, Any], seq: int | None = None) -> dict[str, Any]:
        return {**error, "expected_seq": self._ledger.next_seq if seq is None else seq}

    def _lose(self, error: AdjointError) -> None:
        """Tell that what was done since the last commit is not kept, and forget it."""
        lost = [head for head, _ in self._outbox]
        first = min((head.seq for head in lost if head.seq is not None), default=self._ledger.next_seq)
        standing = {**self.standing, "next_seq": first}
        told = self._with_seq(refusal(error), first)
        self._line.send(*((Answered(head.id, standing, error=told), b"") for head in lost))
        self._outbox.clear()
        # What cannot be cut off is there when the step is sent again, which gets its answer then.
        with suppress(StorageFull, StorageFailed):
            self._ledger.cut()
        raise StartAgain from error


def _gap(seq: int | None, next_seq: int) -> Conflict:
    detail = f"step {seq} has waited for those before it; the next place is {next_seq}: send the steps from there on"
    return Conflict(detail, code="sequence_gap")
