"""Taking a session up from its folder: the snapshot, and the steps since then once more."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import engine
from app.domain.errors import AdjointError, Corrupt, StorageFailed, StorageFull
from app.domain.frames import Step
from app.worker.session.backend import Bench
from app.worker.session.replies import POISON, encode_answer, refusal
from app.worker.session.session_dir import Folder
from app.worker.session.step_log import KEPT_ANSWERS, Answers, Kept, Ledger
from app.worker.session.steps import perform
from app.worker.session.wal import DamagedLog, Record

ALLOC_FAILED = "alloc_failed"


@dataclass(frozen=True, slots=True)
class Recovered:
    """A session as it was left, and the fingerprint that its snapshot was computed with; None if it is new."""

    bench: Bench
    ledger: Ledger
    before: Mapping[str, Any] | None


def recover(
    folder: Folder,
    fresh: Callable[[], Bench],
    begun: Callable[[], Bench],
    poison: str | None,
    refused: Mapping[str, Any] = POISON,
    *,
    has_begun: bool = False,
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
    number = folder.newest(begun=has_begun)
    if number is None:
        bench = begun()
        return Recovered(bench, Ledger(folder, folder.begin(1, bench.snapshot, ()), 1, Answers()), None)
    log, records = folder.open(number)
    bench = fresh()
    try:
        before = bench.restore(folder.snapshot(number))
    except engine.EngineError as error:
        raise DamagedLog(f"snapshot {number} cannot be taken up: {error}") from error
    ledger = Ledger(folder, log, number, Answers())
    _Replay(bench, ledger, folder, poison, refused).run(records)
    return Recovered(bench, ledger, before)


class _Replay:
    """Carries the steps of a log out again."""

    def __init__(
        self, bench: Bench, ledger: Ledger, folder: Folder, poison: str | None, refused: Mapping[str, Any]
    ) -> None:
        self._bench = bench
        self._ledger = ledger
        self._folder = folder
        self._poison = poison
        self._refused = refused

    def run(self, records: Sequence[Record]) -> None:
        records = [record for record in records if "rests" not in record.head]
        settled = {record.head["kept"]["seq"] for record in records if "kept" in record.head}
        steps = [record.head["step"]["seq"] for record in records if "step" in record.head]
        unanswered_to = max(steps, default=0) - KEPT_ANSWERS
        for record in records:
            if "kept" in record.head:
                self._ledger.take_up(Kept(body=record.body, **record.head["kept"]))
            elif record.head["step"]["seq"] not in settled:
                self._again(record, answered=record.head["step"]["seq"] > unanswered_to)

    def _again(self, record: Record, *, answered: bool) -> None:
        told = dict(record.head["step"])
        seq = told.pop("seq")
        step = Step(**told)
        kept = Kept(seq, step.id, step.key, record.head["digest"])
        if step.id == self._poison:
            self._ledger.settle(replace(kept, error=dict(self._refused)), 0.0, noted=False)
            return
        begun = time.monotonic()
        try:
            result = perform(self._bench.verbs[step.verb], step, record.body, seq, self._folder)
        except (Corrupt, StorageFull, StorageFailed):
            raise
        except (engine.EngineError, AdjointError) as error:
            if error.code == ALLOC_FAILED:
                # There was memory for it once: the log is whole, and the process can be started when there is again.
                raise MemoryError(f"step {seq} cannot be carried out again now: {error}") from error
            # What has been carried out once can be again.
            if not record.head["accepted"]:
                raise DamagedLog(f"step {seq} cannot be carried out again: {error}") from error
            self._ledger.settle(replace(kept, error=refusal(error)), 0.0, noted=False)
            return
        seconds = time.monotonic() - begun
        if answered:
            media, answer = encode_answer(result.document, seq, step.accept)
            kept = replace(kept, media=media, body=answer, file=result.file)
        self._ledger.take_up(kept, seconds)
