"""The step processor: receives steps in any order, executes them in sequence, and replies once they are durable."""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import engine
from app.domain.errors import ApiError, Conflict, NotFound, StorageFailed, StorageFull
from app.domain.frames import Step, StepAccepted, StepReply
from app.worker.frame_channel import FrameChannel
from app.worker.session.backend import Handler, SessionBackend
from app.worker.session.replies import POISON_REQUEST, encode_answer, encode_error
from app.worker.session.rows import Array
from app.worker.session.session_dir import SessionDir
from app.worker.session.step_log import CachedReply, StepLog, digest_step
from app.worker.session.steps import (
    SKIPPED,
    BatchedStep,
    ReorderBuffer,
    check_batchable,
    dispatch,
    encode_entry,
    first_seq,
    split_batch,
)

COMMIT_SECONDS = 0.005
"""Steps are executed for this long before they are committed and answered as a group."""

LARGE_BYTES = 1 << 20
"""Larger bodies are sent as files."""

RETRY_SECONDS = 60.0
"""Delay before a failed snapshot is tried again."""

Reply = tuple[StepReply, bytes]

_logger = logging.getLogger(__name__)


class RestartRequired(Exception):  # noqa: N818 - the caller has made no error
    """The arrays in memory may differ from the log: the session must be restored from disk."""


@dataclass(frozen=True, slots=True)
class _StepFailure:
    """The error of a step that was not executed, and whether it was an internal error."""

    error: Mapping[str, Any]
    broken: bool


class StepProcessor:
    """Executes steps, one at a time."""

    def __init__(
        self,
        backend: SessionBackend,
        log: StepLog,
        directory: SessionDir,
        channel: FrameChannel,
        poison: str | None,
        poison_error: Mapping[str, Any] = POISON_REQUEST,
    ) -> None:
        """Run steps on `backend`; the request with the id `poison` is answered with `poison_error`."""
        self._backend = backend
        self._log = log
        self._dir = directory
        self._channel = channel
        self._poison = poison
        self._poison_error = poison_error
        self._early = ReorderBuffer()
        self._outbox: list[Reply] = []
        self._first_at = 0.0
        self._no_snapshot_until = 0.0

    @property
    def standing(self) -> dict[str, Any]:
        """The position of the session, as in `StepReply`."""
        return {"next_seq": self._log.next_seq, **self._backend.standing}

    def seconds_left(self) -> float | None:
        """Return the seconds until an early step times out; None if there is none."""
        return self._early.seconds_left()

    def submit(self, step: Step, body: bytes) -> None:
        """Execute a step, or buffer it until it is the next one; RestartRequired."""
        seq = first_seq(step)
        if seq is None or seq <= self._log.next_seq:
            self._process(step, body)
            while ready := self._early.ready(self._log.next_seq):
                for ahead in ready:
                    self._process(*ahead)
        elif self._early.full:
            self._send(self._error_reply(step, _sequence_gap(seq, self._log.next_seq)))
        else:
            self._early.add(seq, step, body)

    def expire_waiting(self) -> None:
        """Reject early steps that have waited too long for their predecessors."""
        for step, _ in self._early.overdue():
            self._send(self._error_reply(step, _sequence_gap(first_seq(step), self._log.next_seq)))

    def commit(self) -> None:
        """Make executed steps durable, then send the replies; RestartRequired if that fails."""
        try:
            self._log.commit()
        except (StorageFull, StorageFailed) as error:
            self._fail_uncommitted(error)
        if self._outbox:
            self._channel.send(*self._outbox)
            self._outbox.clear()

    def write_snapshot(self) -> None:
        """Write a snapshot. A failure is ignored, since the log continues."""
        try:
            self._log.write_snapshot(self._backend)
        except (StorageFull, StorageFailed):
            _logger.exception("cannot write a snapshot")
            self._no_snapshot_until = time.monotonic() + RETRY_SECONDS

    def write_snapshot_if_due(self) -> None:
        """Write a snapshot if a replay would take too long."""
        if self._log.is_snapshot_due(self._backend) and time.monotonic() >= self._no_snapshot_until:
            self.write_snapshot()

    def suspend(self) -> None:
        """Commit, and write a snapshot unless there is transient state that only a replay recreates;
        RestartRequired.
        """
        self.commit()
        if not self._backend.has_transient_state:
            self.write_snapshot()
            return
        with suppress(StorageFull, StorageFailed):
            self._log.mark_clean()

    def _process(self, step: Step, body: bytes) -> None:
        try:
            frame = self._execute_batch(step, body) if step.verb == "batch" else self._execute(step, body)
        except ApiError as error:
            frame = self._error_reply(step, error)
        self._send(frame)

    def _send(self, frame: Reply) -> None:
        """Buffer a reply until the next commit, which follows shortly."""
        now = time.monotonic()
        if not self._outbox:
            self._first_at = now
        self._outbox.append(self._spill_large(frame))
        if now - self._first_at >= COMMIT_SECONDS:
            self.commit()

    def _spill_large(self, frame: Reply) -> Reply:
        head, body = frame
        if len(body) <= LARGE_BYTES:
            return frame
        try:
            return replace(head, file=self._dir.write_reply(body)), b""
        except (StorageFull, StorageFailed):
            return frame

    def _execute(self, step: Step, body: bytes, arrays: Mapping[str, Array] | None = None) -> Reply:
        """Execute the next step; if an AdjointError rejects it, it uses no sequence number."""
        if step.verb == "operation":
            return self._look_up_operation(step)
        handler = self._backend.handlers.get(step.verb)
        if handler is None:
            raise NotFound(f"a session of this kind has no verb {step.verb[:64]!r}", code="unknown_verb")
        if step.seq is None and handler.durability is None and not step.notify:
            return self._execute_read(step, body, handler, arrays)
        digest = digest_step(step, body)
        known = self._log.find(step, digest)
        if known is not None:
            return self._reply(step, known, replayed=True)
        seq = self._log.next_seq
        intent_logged = step.notify and handler.durability != "snapshot" and step.id != self._poison
        if intent_logged:
            self._log.append_intent(step, body, seq, digest, accepted=True)
            self.commit()
            self._channel.send((StepAccepted(step.id, seq), b""))
        return self._reply(
            step,
            self._execute_logged(
                step, body, handler, CachedReply(seq, step.id, step.key, digest), arrays, intent_logged=intent_logged
            ),
        )

    def _execute_read(self, step: Step, body: bytes, handler: Handler, arrays: Mapping[str, Array] | None) -> Reply:
        result = self._call_handler(step, body, handler, None, arrays)
        if isinstance(result, _StepFailure):
            return StepReply(step.id, self.standing, error=self._with_seq(result.error)), b""
        media, encoded_body, _ = result
        return StepReply(step.id, self.standing, media=media), encoded_body

    def _execute_logged(
        self,
        step: Step,
        body: bytes,
        handler: Handler,
        place: CachedReply,
        arrays: Mapping[str, Array] | None,
        *,
        intent_logged: bool,
    ) -> CachedReply:
        """Execute a step that uses a sequence number, and log its result."""
        begun = time.monotonic()
        result: Any = _StepFailure(self._poison_error, broken=False)
        if step.id != self._poison:
            result = self._call_handler(step, body, handler, place.seq, arrays)
        seconds = time.monotonic() - begun
        if isinstance(result, _StepFailure):
            reply = CachedReply(place.seq, place.id, place.key, place.digest, error=dict(result.error))
            self._log.commit_result(reply, seconds, logged=False)
            if result.broken:
                self._outbox.append(self._reply(step, reply))
                self.commit()
                raise RestartRequired
            return reply
        media, answer, file = result
        reply = CachedReply(place.seq, place.id, place.key, place.digest, media, answer, file=file)
        if handler.durability == "snapshot":
            self._persist_by_snapshot(reply)
            return reply
        if not intent_logged:
            self._log.append_intent(step, body, place.seq, place.digest)
        self._log.commit_result(reply, seconds, logged=True)
        return reply

    def _persist_by_snapshot(self, reply: CachedReply) -> None:
        self.commit()
        self._log.apply_result(reply)
        try:
            self._log.write_snapshot(self._backend)
        except (StorageFull, StorageFailed) as error:
            standing, problem = {**self.standing, "next_seq": reply.seq}, self._with_seq(encode_error(error), reply.seq)
            self._channel.send((StepReply(reply.id, standing, error=problem), b""))
            raise RestartRequired from error

    def _call_handler(
        self, step: Step, body: bytes, handler: Handler, seq: int | None, arrays: Mapping[str, Array] | None
    ) -> tuple[str, bytes, str | None] | _StepFailure:
        """Return media type and body of the reply, and an exported file; StorageFull or StorageFailed."""
        try:
            result = dispatch(handler, step, body, seq, self._dir, arrays)
        except (StorageFull, StorageFailed):
            raise
        except (engine.EngineError, ApiError, MemoryError) as error:
            return _StepFailure(encode_error(error), broken=False)
        except Exception as error:
            _logger.exception("internal error in a step")
            return _StepFailure(encode_error(error), broken=True)
        try:
            return *encode_answer(result.document, seq, step.accept), result.file
        except MemoryError as error:
            # A step without a reply must not have an effect.
            return _StepFailure(encode_error(error), broken=handler.durability is not None or seq is not None)

    def _look_up_operation(self, step: Step) -> Reply:
        """Return the reply to the step with a sequence number."""
        seq = step.options["seq"]
        if seq >= self._log.next_seq:
            raise NotFound(f"step {seq} was not executed yet", code="not_carried_out")
        known = self._log.replies.by_seq(seq)
        if known is None:
            raise Conflict(f"the reply to step {seq} is not cached any more", code="answer_forgotten")
        return self._reply(step, known, replayed=True)

    def _execute_batch(self, step: Step, body: bytes) -> Reply:
        """Execute several steps, each with a sequence number of its own."""
        entries: list[bytes] = []
        poisoned, stopped = step.id == self._poison, False
        for number, each in enumerate(split_batch(step, body)):
            head, answer = self._skipped_reply(each.step) if stopped else self._execute_batched(each, poisoned=poisoned)
            entries.append(encode_entry(head, answer, number))
            stopped |= head.error is not None and (poisoned or step.options.get("stop_on_error", True))
        return StepReply(step.id, self.standing), b'{"data":[' + b",".join(entries) + b"]}"

    def _execute_batched(self, each: BatchedStep, *, poisoned: bool) -> Reply:
        step = each.step
        if poisoned and self._log.replies.by_id(step.id) is None:
            self._poison = step.id
        try:
            check_batchable(step)
            if step.seq is not None and step.seq > self._log.next_seq:
                raise _sequence_gap(step.seq, self._log.next_seq)
            return self._execute(step, each.body, each.arrays)
        except ApiError as error:
            return self._error_reply(step, error)

    def _skipped_reply(self, step: Step) -> Reply:
        return StepReply(step.id, self.standing, error=self._with_seq(SKIPPED)), b""

    def _reply(self, step: Step, reply: CachedReply, *, replayed: bool = False) -> Reply:
        error = None if reply.error is None else self._with_seq(reply.error)
        return StepReply(step.id, self.standing, reply.seq, reply.media, replayed, error, reply.file), reply.body

    def _error_reply(self, step: Step, error: ApiError) -> Reply:
        return StepReply(step.id, self.standing, error=self._with_seq(encode_error(error))), b""

    def _with_seq(self, error: Mapping[str, Any], seq: int | None = None) -> dict[str, Any]:
        return {**error, "expected_seq": self._log.next_seq if seq is None else seq}

    def _fail_uncommitted(self, error: ApiError) -> None:
        """Fail the steps since the last commit: they are not durable, and discarded."""
        lost = [head for head, _ in self._outbox]
        first = min((head.seq for head in lost if head.seq is not None), default=self._log.next_seq)
        standing = {**self.standing, "next_seq": first}
        problem = self._with_seq(encode_error(error), first)
        self._channel.send(*((StepReply(head.id, standing, error=problem), b"") for head in lost))
        self._outbox.clear()
        # If truncating fails, the step may be in the log; sent again, it gets its reply from there.
        with suppress(StorageFull, StorageFailed):
            self._log.truncate()
        raise RestartRequired from error


def _sequence_gap(seq: int | None, next_seq: int) -> Conflict:
    detail = f"step {seq} timed out waiting for earlier steps; send the steps from sequence number {next_seq} on"
    return Conflict(detail, code="sequence_gap")
