"""Taking a session up from its folder: the snapshot, and the steps since then once more."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import engine
from app.domain.errors import AdjointError, Corrupt, StorageFailed, StorageFull
from app.domain.frames import Step
from app.worker.session.backend import SessionBackend
from app.worker.session.replies import POISON_REQUEST, encode_answer, encode_error
from app.worker.session.session_dir import SessionDir
from app.worker.session.step_log import MAX_REPLIES, CachedReply, ReplyCache, StepLog
from app.worker.session.steps import dispatch
from app.worker.session.wal import DamagedLog, Record

ALLOC_FAILED = "alloc_failed"


@dataclass(frozen=True, slots=True)
class Recovered:
    """A session as it was left, and the fingerprint that its snapshot was computed with; None if it is new."""

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
) -> Recovered:
    """Take a session up.

    Args:
        folder: where it is, locked.
        fresh: makes its bench, for `restore`.
        begun: makes its bench as a new session begins.
        poison: the id of a request that is not to be carried out.
        refused: the answer to that one.
        has_begun: whether it is known that there was a snapshot in the folder.

    Raises:
        DamagedLog: what is in the folder cannot be taken up.
        EngineError: a new session cannot begin.
        StorageFull, StorageFailed: the first snapshot cannot be written.
        Corrupt: a dataset that a step in the log has taken rows of is damaged.
    """
    number = directory.newest_snapshot(has_snapshot=has_snapshot)
    if number is None:
        backend = initial_backend()
        return Recovered(
            backend, StepLog(directory, directory.start_log(1, backend.snapshot, ()), 1, ReplyCache()), None
        )
    wal, records = directory.open_log(number)
    backend = new_backend()
    try:
        fingerprint = backend.restore(directory.snapshot_path(number))
    except engine.EngineError as error:
        raise DamagedLog(f"snapshot {number} cannot be taken up: {error}") from error
    log = StepLog(directory, wal, number, ReplyCache())
    _Replay(backend, log, directory, poison, poison_error).run(records)
    return Recovered(backend, log, fingerprint)


class _Replay:
    """Carries the steps of a log out again."""

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
        settled = {record.head["kept"]["seq"] for record in records if "kept" in record.head}
        steps = [record.head["step"]["seq"] for record in records if "step" in record.head]
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
        initial_backend = time.monotonic()
        try:
            result = dispatch(self._backend.handlers[step.verb], step, record.body, seq, self._dir)
        except (Corrupt, StorageFull, StorageFailed):
            raise
        except (engine.EngineError, AdjointError) as error:
            if error.code == ALLOC_FAILED:
                # There was memory for it once: the log is whole, and the process can be started when there is again.
                raise MemoryError(f"step {seq} cannot be carried out again now: {error}") from error
            # What has been carried out once can be again.
            if not record.head["accepted"]:
                raise DamagedLog(f"step {seq} cannot be carried out again: {error}") from error
            self._log.commit_result(replace(reply, error=encode_error(error)), 0.0, logged=False)
            return
        seconds = time.monotonic() - initial_backend
        if keep_reply:
            media, answer = encode_answer(result.document, seq, step.accept)
            reply = replace(reply, media=media, body=answer, file=result.file)
        self._log.apply_result(reply, seconds)
