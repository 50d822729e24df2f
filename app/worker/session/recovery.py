"""Restoring a session from its directory: load the snapshot, then replay the log.

A replay executes the logged steps again. All handlers are deterministic, so it leads to bit-identical state, and a
client that sends a step again gets the reply that it would have got.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import engine
from app.domain.errors import ApiError, Corrupt, StorageFailed, StorageFull
from app.domain.frames import Step
from app.worker.session.backend import SessionBackend
from app.worker.session.replies import POISON_REQUEST, encode_answer, encode_error
from app.worker.session.session_dir import SessionDir
from app.worker.session.step_log import MAX_REPLIES, CachedReply, ReplyCache, StepLog
from app.worker.session.steps import dispatch
from app.worker.session.wal import DamagedLog, Record

ALLOC_FAILED = "alloc_failed"


@dataclass(frozen=True, slots=True)
class RecoveredSession:
    """A restored session, and the fingerprint that its snapshot was computed with; None if the session is new."""

    backend: SessionBackend
    log: StepLog
    fingerprint: Mapping[str, Any] | None


def recover(
    directory: SessionDir,
    new_backend: Callable[[], SessionBackend],
    initial_backend: Callable[[], SessionBackend],
    poison: str | None,
    poison_error: Mapping[str, Any] = POISON_REQUEST,
    *,
    has_snapshot: bool = False,
) -> RecoveredSession:
    """Restore a session.

    Args:
        directory: its directory, locked.
        new_backend: makes an empty backend, for `restore`.
        initial_backend: makes the backend of a new session.
        poison: the id of a request that must not be executed again.
        poison_error: the reply to that one.
        has_snapshot: whether a snapshot is known to have been written.

    Raises:
        DamagedLog: the files in the directory cannot be used.
        EngineError: a new session cannot be created.
        StorageFull, StorageFailed: the first snapshot cannot be written.
        Corrupt: a dataset that a logged step has read is damaged.
    """
    number = directory.newest_snapshot(has_snapshot=has_snapshot)
    if number is None:
        backend = initial_backend()
        return RecoveredSession(
            backend, StepLog(directory, directory.start_log(1, backend.snapshot, ()), 1, ReplyCache()), None
        )
    wal, records = directory.open_log(number)
    backend = new_backend()
    try:
        fingerprint = backend.restore(directory.snapshot_path(number))
    except engine.EngineError as error:
        raise DamagedLog(f"snapshot {number} cannot be restored: {error}") from error
    log = StepLog(directory, wal, number, ReplyCache())
    _Replay(backend, log, directory, poison, poison_error).run(records)
    return RecoveredSession(backend, log, fingerprint)


class _Replay:
    """Executes the steps of a log again."""

    def __init__(
        self,
        backend: SessionBackend,
        log: StepLog,
        directory: SessionDir,
        poison: str | None,
        poison_error: Mapping[str, Any],
    ) -> None:
        self._backend = backend
        self._log = log
        self._dir = directory
        self._poison = poison
        self._poison_error = poison_error

    def run(self, records: Sequence[Record]) -> None:
        records = [record for record in records if "rests" not in record.head]
        # A step whose reply is in the log has failed, or is part of the snapshot: executing it again could change the
        # state, or give another reply than the one that the client has.
        settled = {record.head["kept"]["seq"] for record in records if "kept" in record.head}
        steps = [record.head["step"]["seq"] for record in records if "step" in record.head]
        # Older replies would be evicted from the cache at once, so they are not encoded.
        unanswered_to = max(steps, default=0) - MAX_REPLIES
        for record in records:
            if "kept" in record.head:
                self._log.apply_result(CachedReply(body=record.body, **record.head["kept"]))
            elif record.head["step"]["seq"] not in settled:
                self._replay_step(record, keep_reply=record.head["step"]["seq"] > unanswered_to)

    def _replay_step(self, record: Record, *, keep_reply: bool) -> None:
        fields = dict(record.head["step"])
        seq = fields.pop("seq")
        step = Step(**fields)
        reply = CachedReply(seq, step.id, step.key, record.head["digest"])
        if step.id == self._poison:
            self._log.commit_result(replace(reply, error=dict(self._poison_error)), 0.0, logged=False)
            return
        started_at = time.monotonic()
        try:
            result = dispatch(self._backend.handlers[step.verb], step, record.body, seq, self._dir)
        except (Corrupt, StorageFull, StorageFailed):
            raise
        except (engine.EngineError, ApiError) as error:
            if error.code == ALLOC_FAILED:
                # The log is intact: the step has been executed before, so a process with enough memory can replay it.
                raise MemoryError(f"step {seq} cannot be replayed now: {error}") from error
            # A step that succeeded must succeed again; only one that was accepted may never have been executed.
            if not record.head["accepted"]:
                raise DamagedLog(f"step {seq} cannot be replayed: {error}") from error
            self._log.commit_result(replace(reply, error=encode_error(error)), 0.0, logged=False)
            return
        seconds = time.monotonic() - started_at
        if keep_reply:
            media, answer = encode_answer(result.document, seq, step.accept)
            reply = replace(reply, media=media, body=answer, file=result.file)
        self._log.apply_result(reply, seconds)
