"""What the reports of an attempt, or its crash, change: the fit's record, event log and checkpoints."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

from app.domain.documents import finite_part
from app.domain.fit import WAITS_FOR_STORAGE, Attempt, FitRecord, FitState, sweep_config_of
from app.domain.messages import (
    OUT_OF_MEMORY,
    Died,
    Expired,
    Failed,
    Finished,
    Log,
    MetricRows,
    NumericsChanged,
    Verdict,
)
from app.domain.records import CheckpointRecord, GradientRecord
from app.domain.runtime import Comparison, Replay, changed_numerics
from app.service.fits.event_log import REOPENED, record_log, record_state
from app.store.unit_of_work import UnitOfWork

_LESS_MEMORY = "give it less to hold: a smaller batch_size or model, fewer workers, or a machine with more memory"

CRASHES: Mapping[str, str] = MappingProxyType(
    {
        "killed": "find out who kills it (see the kernel's log), then {again}",
        "out_of_memory": _LESS_MEMORY,
        "blas_abort": _LESS_MEMORY,
        "stalled": "find out what holds it up (a disk, a paused process, an overloaded machine), then {again}",
        "fork_server": "put that right (the server's log has the whole of it), then {again}",
        "error": "the server's log says where it died; once that is put right, {again}",
        "copy_damaged": "check the disk and the size of the cache (ADJOINT_BLOB_CACHE_BYTES), then {again}",
        "not_started": "see that the server may start processes (its log says what the system refused), then {again}",
    }
)
"""Reasons that count as a crash, each with advice; that the server went down, or stopped it, does not."""

FOR_MEMORY = frozenset({"out_of_memory", "blas_abort"})
"""The reasons that mean a lack of memory."""

_LOOP = "{losses} processes in a row died without making progress; the last one ({reason}): {detail}; {advice}"


def advice(reason: str, again: str) -> str:
    """Return advice for a crash; `again` is what to do afterwards."""
    return CRASHES[reason].format(again=again)


def crash_loop(losses: int, reason: str, detail: str) -> dict[str, str]:
    """Return the error of a fit that fails after too many crashes in a row."""
    text = _LOOP.format(losses=losses, reason=reason, detail=detail, advice=advice(reason, "resume it"))
    return {"code": OUT_OF_MEMORY.code if reason in FOR_MEMORY else "crash_loop", "detail": text}


DIVERGED = (
    "metric row {seq} came out differently when the fit went on from its last checkpoint; a row that was read never "
    "changes, so the fit ends here: submit it again"
)
NUMERICS_CHANGED = (
    "the fit goes on under other numerics than its checkpoint was computed with ({changes}); its numbers may differ in "
    "the last bits from here on"
)
GRADIENT_DIVERGED = (
    "the gradient of {parameter} at step {step} came out differently when the fit went on from its last checkpoint; "
    "what was read never changes, so the fit ends here: submit it again"
)
EVENTS_MAX = 10_000
OUTCOMES = MappingProxyType({"succeeded": FitState.SUCCEEDED, "cancelled": FitState.CANCELLED})


_SEQ_FIRST = re.compile(r'\{"seq":(\d{1,18})[,}]')


def read_metric_seq(row: str) -> int:
    """Return the `seq` of a metric row (JSON text): by far the quickest where it comes first, as fits write it."""
    first = _SEQ_FIRST.match(row)
    return int(first[1]) if first else int(json.loads(row)["seq"])


class AttemptRecorder:
    """The changes of one attempt. They are committed with the unit of work; `save` comes last."""

    def __init__(self, work: UnitOfWork, attempt: Attempt) -> None:
        """Record for `attempt`, whose token was checked in this unit of work."""
        self._work = work
        self._attempt = attempt
        self.fit: FitRecord = work.fits.get(attempt.fit_id)
        self.ended = False

    def save(self) -> FitRecord:
        """Store the fit as it is now."""
        self.fit = self._work.fits.update(self.fit)
        return self.fit

    def record_start(self, pid: int) -> None:
        """Record the process; the fit is running, unless it is to stop already."""
        self._work.attempts.set_pid(self.fit.id, self._attempt.number, pid)
        if self.fit.state is FitState.STARTING:
            self._set_state(FitState.RUNNING, phase="loading")

    def clear_storage_wait(self) -> None:
        """Record that the fit no longer waits for disk space, or for the object storage."""
        if self.fit.state is FitState.RUNNING and self.fit.phase == WAITS_FOR_STORAGE:
            self.fit = replace(self.fit, phase="training")

    def record_seconds(self, seconds: float) -> None:
        """Record how long the fit has run, over all attempts."""
        self.fit = replace(self.fit, seconds=max(self.fit.seconds, seconds))

    def record_numerics_change(self, change: NumericsChanged) -> None:
        """Record that the numbers may differ from those of an uninterrupted fit from here on."""
        self.fit = replace(self.fit, bit_exact=False)
        entry = Log("warning", NUMERICS_CHANGED.format(changes=_format_changes(change)), "numerics_changed")
        record_log(self._work, self.fit.id, entry)

    def phase(self, phase: str, total_steps: int | None, runtime: dict[str, Any] | None) -> None:
        """Record the phase, and the number of steps and the runtime once known."""
        if self.fit.state is FitState.RUNNING:
            self.fit = replace(self.fit, phase=phase)
        if total_steps is not None:
            self.fit = replace(self.fit, total_steps=total_steps)
        if runtime is not None:
            self.fit = replace(self.fit, runtime=runtime)

    def append_rows(self, metric_rows: MetricRows) -> None:
        """Append metric rows. Rows that a resumed fit repeats must be equal, else the fit fails.

        With changed numerics they may differ, and are dropped: a row that a client has read never changes.
        """
        rows = [(read_metric_seq(row), row) for row in metric_rows.rows]
        last = self._work.events.last_metric_seq(self.fit.id)
        repeated = {seq: row for seq, row in rows if seq <= last}
        clear_storage_wait = self._work.events.metric_bodies(self.fit.id, repeated) if repeated else {}
        different = [seq for seq, row in repeated.items() if clear_storage_wait.get(seq) != row]
        if different and self.fit.bit_exact:
            self.end(Failed("numerics_diverged", DIVERGED.format(seq=different[0])))
            return
        self._work.events.append_metrics(self.fit.id, rows[len(repeated) :])
        # While rows are repeated, the fit is further than its process.
        if len(repeated) < len(rows) or (not rows and metric_rows.step >= self.fit.step):
            self.fit = replace(
                self.fit,
                step=metric_rows.step,
                epoch=metric_rows.epoch,
                latest=metric_rows.latest,
                best=metric_rows.best,
            )

    def gradients(self, captured: Sequence[GradientRecord]) -> None:
        """Store captured gradients, whose blobs must be durable.

        Those that a resumed fit captures again must be equal, else the fit fails. The first one is kept where a
        difference is no error: with changed numerics, and after a rollback.
        """
        for gradient in () if self.ended else captured:
            clear_storage_wait = self._work.gradients.add(gradient)
            if (
                clear_storage_wait is not None
                and clear_storage_wait.digest != gradient.digest
                and self.fit.bit_exact
                and not self._rolls_back
            ):
                detail = GRADIENT_DIVERGED.format(parameter=gradient.parameter, step=gradient.step)
                self.end(Failed("numerics_diverged", detail))

    @property
    def _rolls_back(self) -> bool:
        return (self.fit.request.get("divergence") or {}).get("action") == "roll_back"

    def checkpoint(self, checkpoint: CheckpointRecord) -> None:
        """Store a checkpoint, whose blob must be durable."""
        self._work.checkpoints.add(checkpoint)
        metrics, nonfinite = finite_part(checkpoint.metrics)
        body = {
            "id": checkpoint.id,
            "step": checkpoint.step,
            "epoch": checkpoint.epoch,
            "digest": checkpoint.digest,
            "size_bytes": checkpoint.size_bytes,
            "is_best": checkpoint.is_best,
            "metrics": metrics,
            "nonfinite": nonfinite,
        }
        self._work.events.append(self.fit.id, "checkpoint", _to_json(body))

    def record_rungs(self, values: Sequence[float | None]) -> None:
        """Record the metric at the rungs that a variant has reached."""
        if values and self.fit.variant is not None:
            before = self.fit.variant["reached"]
            self.fit = replace(self.fit, variant={**self.fit.variant, "reached": [*before, *values]})

    def end(self, verdict: Verdict, comparison: Comparison | None = None) -> None:
        """End the attempt, and set the state of the fit; of a replay, store the comparison."""
        self.ended = True
        if comparison is not None:
            self._record_comparison(comparison)
        match verdict:
            case Finished(outcome, stop_reason):
                self._end_attempt(outcome)
                self._stop(OUTCOMES.get(outcome) or self._state_after_stop(), stop_reason=stop_reason)
            case Failed(code, detail, blob):
                if blob is not None:
                    self._work.damaged_blobs.mark(blob, detail)
                self._end_attempt(code)
                self._stop(FitState.FAILED, {"code": code, "detail": detail})
            case Expired(code, detail):
                self._end_attempt(code)
                self._on_expired({"code": code, "detail": detail})
            case Died(reason, detail):
                self._end_attempt(reason)
                self._on_process_lost(reason, detail)

    def count_losses(self) -> int:
        """Return how many attempts, including this one, crashed since the last progress of the fit."""
        first = self._first_attempt_since_progress()
        attempts = self._work.attempts.for_fit(self.fit.id)
        return sum(attempt.outcome in CRASHES for attempt in attempts if attempt.number >= first)

    def _record_comparison(self, comparison: Comparison) -> None:
        """Store how a replay compares with the original, and the numerics that it really ran with."""
        assert self.fit.replay is not None
        replay = Replay(**self.fit.replay)
        now = (self.fit.runtime or {}).get("fingerprint") or {}
        numerics = changed_numerics(replay.expected["fingerprint"], now)
        self.fit = replace(self.fit, replay=asdict(replace(replay, numerics=numerics, verdict=asdict(comparison))))
        if comparison.bit_exact:
            entry = Log("info", f"all came out as in {replay.of}, bit for bit", "replayed")
        else:
            others = ", ".join(comparison.differences)
            entry = Log("warning", f"not all came out as in {replay.of}; others are: {others}", "replay_differs")
        record_log(self._work, self.fit.id, entry)

    def _on_expired(self, error: Mapping[str, Any]) -> None:
        if self.fit.state is FitState.CANCELLING:
            self._stop(FitState.CANCELLED)
        else:
            self._stop(FitState.FAILED, error)

    def _on_process_lost(self, reason: str, detail: str) -> None:
        state = self._state_after_stop()
        count_losses = self.count_losses() if reason in CRASHES else 0
        if state is FitState.INTERRUPTED and count_losses >= self.fit.attempts_max:
            self._stop(FitState.FAILED, crash_loop(count_losses, reason, detail))
        else:
            record_log(self._work, self.fit.id, Log("warning", f"attempt {self._attempt.number}: {detail}", reason))
            self._stop(state)

    def _state_after_stop(self) -> FitState:
        """Return the state of a fit whose process stopped early: the requested one, if any."""
        asked = {FitState.CANCELLING: FitState.CANCELLED, FitState.PAUSING: FitState.PAUSED}
        return asked.get(self.fit.state, FitState.INTERRUPTED)

    def _stop(self, state: FitState, error: Mapping[str, Any] | None = None, stop_reason: str | None = None) -> None:
        moved = self.fit.to(state, phase=state.value)
        self.fit = replace(
            moved,
            error=None if error is None else dict(error),
            stop_reason=stop_reason,
            finished_at=self._work.now if moved.terminal else None,
        )
        record_state(self._work, self.fit)

    def _set_state(self, state: FitState, **changes: Any) -> None:
        self.fit = self.fit.to(state, **changes)
        record_state(self._work, self.fit)

    def _end_attempt(self, outcome: str) -> None:
        self._work.attempts.end(self.fit.id, self._attempt.number, outcome)

    def _first_attempt_since_progress(self) -> int:
        """Return the attempt that made the last row or checkpoint, by the order of the event log: clocks may jump.

        Attempts before the fit was reopened do not count.
        """
        if self.fit.sweep is not None:
            return sweep_config_of(self.fit).progressed_in
        events = self._work.events
        last = events.metrics(self.fit.id, events.last_metric_seq(self.fit.id) - 1, 1)
        first: int | None = None
        for event in events.after(self.fit.id, last[0].seq if last else 0, EVENTS_MAX):
            body = json.loads(event.body)
            if event.kind == "checkpoint" or body.get("code") == REOPENED:
                first = None
            elif event.kind == "state" and first is None:
                # In the queue a fit has no process: the next attempt is the first.
                first = body["attempt"] + (body["state"] == FitState.QUEUED)
        return self._attempt.number if first is None else first


def _format_changes(change: NumericsChanged) -> str:
    """Name the entries of the fingerprints that differ."""
    names = sorted(change.before.keys() | change.now.keys())
    pairs = [(name, change.before.get(name), change.now.get(name)) for name in names]
    return ", ".join(f"{name}: {old} -> {new}" for name, old, new in pairs if old != new)


def _to_json(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), allow_nan=False)
