"""Fitting, step by step, until it is done or should stop."""

import logging
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import engine
from app.domain.errors import BadMessage, Corrupt, StorageFailed, StorageFull, storage_faults
from app.domain.messages import (
    Assignment,
    Failed,
    Finished,
    Log,
    NumericsChanged,
    Outcome,
    Phase,
    Reached,
    decode,
    encode,
)
from app.domain.runtime import Runtime
from app.service.attempts.crashes import OUT_OF_MEMORY
from app.worker.checkpoint_scheduler import Keeper
from app.worker.columns import BackgroundCheck, MappedColumns
from app.worker.control import Control, VariantControl, Wish, agreed
from app.worker.reporter import CompilationReport, Recorder, StorageWait, removed_on_error
from app.worker.resources import chosen

OUTCOMES: Mapping[Literal["cancel", "drain"], Outcome] = MappingProxyType({"cancel": "cancelled", "drain": "drained"})


MANY_ROUNDED = 0.01
"""Share of a column's distinct values that become equal to others from which on that is a warning."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rung:
    """Where a variant of a sweep is to be compared with the others: at a step, by the latest of a metric."""

    step: int
    monitor: str


@dataclass(frozen=True, slots=True)
class Halfway:
    """A variant has come to its rung; it can go on from the checkpoint at `resume_from`."""

    reached: Reached
    resume_from: str


def work(
    assignment: Assignment,
    recorder: Recorder,
    control: Control | VariantControl,
    collective: engine.Collective,
    rung: Rung | None = None,
) -> Finished | Failed | Halfway:
    """Carry out `assignment` and return the verdict; rows and checkpoints go through `recorder` on the way.

    With a `rung` it stops there, unless it ends before. Raises RankLost if another rank is gone, nothing else. What a
    client may not see (paths, our own code) goes to the server's log.
    """
    try:
        return _lead(assignment, recorder, control, collective, rung)
    except engine.RankLost:
        raise
    except engine.RankAborted as error:
        return _told(error.reason)
    except Exception as error:  # noqa: BLE001 - whatever it was, the server gets a verdict
        return verdict_of(error, assignment)


def follow(assignment: Assignment, collective: engine.Collective) -> None:
    """Carry out `assignment` as one of the other ranks, which tell nobody but the first.

    Raises CollectiveError if the others are gone.
    """
    try:
        runtime = chosen(Runtime.from_json(assignment.runtime), collective)
        check = BackgroundCheck()
        with closing(_prepared(assignment, runtime, collective, check)) as fit:
            # What they hold is checked by the first rank, without which no step is made.
            check.close()
            while not fit.done and agreed(collective, None) is None:
                fit.advance()
    except engine.CollectiveError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it was, the server gets a verdict
        collective.abort(encode(verdict_of(error, assignment)))


def _lead(
    assignment: Assignment,
    recorder: Recorder,
    control: Control | VariantControl,
    collective: engine.Collective,
    rung: Rung | None,
) -> Finished | Failed | Halfway:
    runtime = chosen(Runtime.from_json(assignment.runtime), collective, recorder.send)
    check = BackgroundCheck()
    compiling = engine.report_compilation(CompilationReport(recorder).update)
    with compiling, closing(_prepared(assignment, runtime, collective, check, recorder)) as fit:
        check.finish()
        recorder.send(Phase("training", fit.total_steps, runtime.to_json()))
        if assignment.attempt == 1 and (assignment.resume_from is None or assignment.fork is not None):
            _report_rounded(fit, recorder)
        staging = Path(assignment.staging)
        storage = StorageWait(recorder, lambda: control.wanted is not None)
        keeper = _keeper(fit, assignment, recorder, storage)
        wanted = None
        try:
            while not _there(fit, rung) and (wanted := agreed(collective, control.wanted)) is None:
                recorder.add(fit, fit.advance_chunk(None if rung is None else rung.step))
                recorder.gradients(fit, staging, storage.run)
                keeper.after(fit)
            _put_aside(fit, keeper, recorder, wanted)
            if rung is not None and not fit.done and wanted is None:
                return storage.run(partial(_halfway, fit, rung, staging))
        except StorageFull as error:
            # It is to stop, and could not write what it had to write before: it goes on from an earlier checkpoint.
            wanted = control.wanted
            if wanted is None:
                raise
            _report_lost(fit, recorder, error)
            return Finished(OUTCOMES[wanted])
    if fit.failure is not None:
        return Failed(fit.failure.code, str(fit.failure))
    if fit.stopped is not None:
        recorder.send(Log("info", fit.stopped, "stopped_early"))
    return Finished("succeeded" if fit.done or wanted is None else OUTCOMES[wanted], fit.stopped)


def _keeper(fit: engine.Fit, assignment: Assignment, recorder: Recorder, storage: StorageWait) -> Keeper:
    """Return what writes the fit's checkpoints, and waits for room for those that were asked for."""
    write_once = partial(recorder.checkpoint, Path(assignment.staging))
    asked = assignment.request.get("checkpoint") or {}
    return Keeper(
        fit,
        lambda taken: storage.run(partial(write_once, taken)),
        assignment.checkpoint_seconds,
        by_epochs="every_epochs" in asked,
        write_by_clock=write_once,
    )


def _report_rounded(fit: engine.Fit, recorder: Recorder) -> None:
    """Report the columns whose distinct values the fit's precision does not tell apart."""
    for rounded in fit.rounded_inputs():
        level = "warning" if rounded.lost >= MANY_ROUNDED * rounded.distinct else "info"
        recorder.send(Log(level, str(rounded), "precision_lost"))


def _there(fit: engine.Fit, rung: Rung | None) -> bool:
    return fit.done or (rung is not None and fit.step >= rung.step)


def _put_aside(fit: engine.Fit, keeper: Keeper, recorder: Recorder, wanted: Wish | None) -> None:
    """Write the last checkpoint. A fit that is to stop, and can go on from an earlier one, does so without it."""
    try:
        keeper.end(fit)
    except (StorageFull, StorageFailed) as error:
        if wanted is None or fit.done:
            raise
        _report_lost(fit, recorder, error)


def _report_lost(fit: engine.Fit, recorder: Recorder, error: StorageFull | StorageFailed) -> None:
    text = f"the fit stops without a checkpoint of step {fit.step}: {error.detail}"
    recorder.send(Log("error", text, "checkpoint_lost"))


def _halfway(fit: engine.Fit, rung: Rung, staging: Path) -> Halfway:
    """Put the fit aside. The server takes the checkpoints that it is told of; this one stays."""
    path = staging / f"rung-{fit.step}.safetensors"
    with storage_faults("the checkpoint"), removed_on_error(path):
        fit.snapshot().save(path)
    return Halfway(Reached(fit.step, engine.sweep.standing(rung.monitor, fit.best, fit.latest)), str(path))


def _told(reason: bytes) -> Failed:
    """Read the verdict of another rank."""
    try:
        verdict = decode(reason)
    except BadMessage:
        verdict = None
    return verdict if isinstance(verdict, Failed) else Failed("internal_error", "a rank gave up without a reason")


def verdict_of(error: Exception, assignment: Assignment) -> Failed:
    """Say what an error means for the fit."""
    if isinstance(error, engine.EngineError):
        return Failed(error.code, str(error))
    if isinstance(error, Corrupt):
        # Where a file is damaged, it does not matter where it was read.
        _logger.error("fit %s: attempt %s failed: %s", assignment.fit_id, assignment.attempt, error.detail)
        return Failed(error.code, error.detail, error.blob)
    _logger.error("fit %s: attempt %s failed", assignment.fit_id, assignment.attempt, exc_info=error)
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, StorageFull | StorageFailed):
        return Failed(error.code, error.detail)
    return Failed("internal_error", type(error).__name__)


def _prepared(
    assignment: Assignment,
    runtime: Runtime,
    collective: engine.Collective,
    check: BackgroundCheck,
    recorder: Recorder | None = None,
) -> engine.Fit:
    """Return the fit as it goes on: from the start, or from a checkpoint. Files of its data are in the `check` by then.

    Corrupt if it cannot be prepared since one of them is damaged.
    """
    validation = assignment.validation_columns
    try:
        fit = engine.Fit(
            engine.parse_graph(assignment.definition),
            engine.read_recipe(assignment.request),
            MappedColumns(assignment.columns, check.add, assignment.recodings),
            None if validation is None else MappedColumns(validation, check.add, assignment.validation_recodings),
            collective=collective,
            executor=runtime.executor,
            threads=runtime.threads,
        )
        if assignment.resume_from is not None:
            _go_on(fit, Path(assignment.resume_from), assignment, runtime, recorder)
    except (engine.CollectiveError, MemoryError):
        raise
    except Exception:
        # Whatever it was, damaged data may be the reason.
        check.finish()
        raise
    return fit


def _go_on(fit: engine.Fit, path: Path, assignment: Assignment, runtime: Runtime, recorder: Recorder | None) -> None:
    """Have the fit begin at the checkpoint at `path`: its own, from before it was taken up again, or another fit's."""
    checkpoint = engine.Checkpoint.load(path)
    if assignment.fork is not None:
        fit.fork(checkpoint, restore=assignment.fork)
    else:
        reopened_at = assignment.reopened_at
        fit.restore(checkpoint, reopened=reopened_at is not None and checkpoint.cursor.get("step", 0) <= reopened_at)
    before, now = checkpoint.meta.get("fingerprint") or {}, runtime.fingerprint
    # Parameters alone are as good as those that are drawn at random: nothing was computed yet.
    if before != now and assignment.fork != "parameters" and recorder is not None:
        recorder.send(NumericsChanged(before, dict(now)))
