"""The training loop of a worker: step by step, until the fit is done or should stop."""

import logging
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import engine
from app.domain.column_labels import labelled, labels_of
from app.domain.errors import BadMessage, Corrupt, StorageFailed, StorageFull, storage_faults
from app.domain.messages import (
    OUT_OF_MEMORY,
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
from app.worker.checkpoint_scheduler import CheckpointScheduler
from app.worker.columns import BackgroundVerifier, MappedColumns
from app.worker.control import Control, StopRequest, VariantControl, agree_on_stop
from app.worker.reporter import CompilationReport, Reporter, StorageRetry, removed_on_error
from app.worker.resources import select_executor

OUTCOMES: Mapping[Literal["cancel", "drain"], Outcome] = MappingProxyType({"cancel": "cancelled", "drain": "drained"})


ROUNDED_WARNING_SHARE = 0.01
"""Share of a column's distinct values lost to rounding from which on that is a warning."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rung:
    """Where a variant of a sweep is compared with the others: at a step, by the latest value of a metric."""

    step: int
    monitor: str


@dataclass(frozen=True, slots=True)
class RungReached:
    """A variant has reached its rung; it can resume from the checkpoint at `resume_from`."""

    reached: Reached
    resume_from: str


def run_fit(
    assignment: Assignment,
    reporter: Reporter,
    control: Control | VariantControl,
    collective: engine.Collective,
    rung: Rung | None = None,
) -> Finished | Failed | RungReached:
    """Run `assignment` and return the verdict; rows and checkpoints are reported through `reporter`.

    With a `rung` it stops there, unless it ends before. Raises RankLost if another rank is lost, and nothing else.
    Details that a client must not see (paths, our own code) go to the server's log.
    """
    try:
        return _run_rank_zero(assignment, reporter, control, collective, rung)
    except engine.RankLost:
        raise
    except engine.RankAborted as error:
        return _decode_verdict(error.reason)
    except Exception as error:  # noqa: BLE001 - the server gets a verdict for every error
        return to_verdict(error, assignment)


def run_rank(assignment: Assignment, collective: engine.Collective, *, verifies: bool = False) -> Failed | None:
    """Run `assignment` as another rank than 0; it reports to rank 0 only. Return with what it has failed, if it has.

    It `verifies` its files if they are not those of rank 0. Raises CollectiveError if the others are lost.
    """
    try:
        runtime = select_executor(Runtime.from_json(assignment.runtime), collective)
        check = BackgroundVerifier()
        with closing(_prepare_fit(assignment, runtime, collective, check)) as fit:
            # No step runs without rank 0, which verifies the files that it shares with this one.
            if verifies:
                check.finish()
            else:
                check.close()
            while not fit.done and agree_on_stop(collective, None) is None:
                fit.advance()
    except engine.CollectiveError:
        raise
    except Exception as error:  # noqa: BLE001 - the server gets a verdict for every error
        verdict = to_verdict(error, assignment)
        collective.abort(encode(verdict))
        return verdict
    return None


def _run_rank_zero(
    assignment: Assignment,
    reporter: Reporter,
    control: Control | VariantControl,
    collective: engine.Collective,
    rung: Rung | None,
) -> Finished | Failed | RungReached:
    runtime = select_executor(Runtime.from_json(assignment.runtime), collective, reporter.send)
    check = BackgroundVerifier()
    compiling = engine.report_compilation(CompilationReport(reporter).update)
    with compiling, closing(_prepare_fit(assignment, runtime, collective, check, reporter)) as fit:
        check.finish()
        fit.bind()
        reporter.send(Phase("training", fit.total_steps, runtime.to_json()))
        if assignment.attempt == 1 and (assignment.resume_from is None or assignment.fork is not None):
            _report_rounding(fit, reporter)
            labels = labels_of(assignment.request.get("columns"))
            for finding in fit.data_findings():
                reporter.send(Log("warning", labelled(finding.detail, labels), finding.code))
        staging = Path(assignment.staging)
        storage = StorageRetry(reporter, lambda: control.stop_requested is not None)
        checkpoints = _schedule_checkpoints(fit, assignment, reporter, storage)
        stop_requested = None
        try:
            while (
                not _has_reached(fit, rung)
                and (stop_requested := agree_on_stop(collective, control.stop_requested)) is None
            ):
                reporter.report_step(fit, fit.advance_chunk(None if rung is None else rung.step))
                reporter.write_gradients(fit, staging, storage.run)
                checkpoints.after_step(fit)
            _save_final_checkpoint(fit, checkpoints, reporter, stop_requested)
            if rung is not None and not fit.done and stop_requested is None:
                return storage.run(partial(_save_at_rung, fit, rung, staging))
        except StorageFull as error:
            # It has to stop and could not write its checkpoint: it will resume from an earlier one.
            stop_requested = control.stop_requested
            if stop_requested is None:
                raise
            _report_lost(fit, reporter, error)
            return Finished(OUTCOMES[stop_requested])
    if fit.failure is not None:
        return Failed(fit.failure.code, str(fit.failure))
    if fit.stopped is not None:
        reporter.send(Log("info", fit.stopped, "stopped_early"))
    return Finished("succeeded" if fit.done or stop_requested is None else OUTCOMES[stop_requested], fit.stopped)


def _schedule_checkpoints(
    fit: engine.Fit, assignment: Assignment, reporter: Reporter, storage: StorageRetry
) -> CheckpointScheduler:
    """Return the scheduler of the fit's checkpoints; requested ones wait for disk space."""
    write_once = partial(reporter.write_checkpoint, Path(assignment.staging))
    asked = assignment.request.get("checkpoint") or {}
    return CheckpointScheduler(
        fit,
        lambda taken: storage.run(partial(write_once, taken)),
        assignment.checkpoint_seconds,
        epochs_requested="every_epochs" in asked,
        write_by_clock=write_once,
    )


def _report_rounding(fit: engine.Fit, reporter: Reporter) -> None:
    """Report the columns with values that become equal in the precision of the fit."""
    for rounded in fit.rounded_inputs():
        level = "warning" if rounded.lost >= ROUNDED_WARNING_SHARE * rounded.distinct else "info"
        reporter.send(Log(level, str(rounded), "precision_lost"))


def _has_reached(fit: engine.Fit, rung: Rung | None) -> bool:
    return fit.done or (rung is not None and fit.step >= rung.step)


def _save_final_checkpoint(
    fit: engine.Fit, checkpoints: CheckpointScheduler, reporter: Reporter, stop_requested: StopRequest | None
) -> None:
    """Write the last checkpoint. A fit that is stopping can do without, since it resumes from an earlier one."""
    try:
        checkpoints.finish(fit)
    except (StorageFull, StorageFailed) as error:
        if stop_requested is None or fit.done:
            raise
        _report_lost(fit, reporter, error)


def _report_lost(fit: engine.Fit, reporter: Reporter, error: StorageFull | StorageFailed) -> None:
    text = f"the fit stops without a checkpoint of step {fit.step}: {error.detail}"
    reporter.send(Log("error", text, "checkpoint_lost"))


def _save_at_rung(fit: engine.Fit, rung: Rung, staging: Path) -> RungReached:
    """Save the fit at a rung. The file is not reported, so the server does not import it; the worker resumes from
    it.
    """
    path = staging / f"rung-{fit.step}.safetensors"
    with storage_faults("the checkpoint"), removed_on_error(path):
        fit.snapshot().save(path)
    return RungReached(Reached(fit.step, engine.sweep.ranking_value(rung.monitor, fit.best, fit.latest)), str(path))


def _decode_verdict(reason: bytes) -> Failed:
    try:
        verdict = decode(reason)
    except BadMessage:
        verdict = None
    return verdict if isinstance(verdict, Failed) else Failed("internal_error", "a rank gave up without a reason")


def to_verdict(error: Exception, assignment: Assignment) -> Failed:
    """Convert an error to a verdict."""
    if isinstance(error, engine.EngineError):
        return Failed(error.code, str(error))
    if isinstance(error, Corrupt):
        # For a damaged file the traceback does not matter.
        _logger.error("fit %s: attempt %s failed: %s", assignment.fit_id, assignment.attempt, error.detail)
        return Failed(error.code, error.detail, error.blob)
    _logger.error("fit %s: attempt %s failed", assignment.fit_id, assignment.attempt, exc_info=error)
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, StorageFull | StorageFailed):
        return Failed(error.code, error.detail)
    return Failed("internal_error", type(error).__name__)


def _prepare_fit(
    assignment: Assignment,
    runtime: Runtime,
    collective: engine.Collective,
    check: BackgroundVerifier,
    reporter: Reporter | None = None,
) -> engine.Fit:
    """Return the fit, new or restored from a checkpoint. The files of its data are passed to `check`.

    Corrupt if it cannot be prepared because a file is damaged.
    """
    validation = assignment.validation_columns
    try:
        fit = engine.Fit(
            engine.read_checked_graph(assignment.definition),
            engine.read_recipe(assignment.request),
            MappedColumns(assignment.columns, check.add, assignment.recodings, assignment.texts),
            None
            if validation is None
            else MappedColumns(validation, check.add, assignment.validation_recodings, assignment.validation_texts),
            execution=engine.Execution(runtime.executor, runtime.threads, collective),
        )
        if assignment.resume_from is not None:
            _resume(fit, Path(assignment.resume_from), assignment, runtime, reporter)
    except (engine.CollectiveError, MemoryError):
        raise
    except Exception:
        # A damaged file may be the cause of any error.
        check.finish()
        raise
    return fit


def _resume(fit: engine.Fit, path: Path, assignment: Assignment, runtime: Runtime, reporter: Reporter | None) -> None:
    """Restore the fit from the checkpoint at `path`: its own, one from before it was reopened, or another fit's."""
    checkpoint = engine.Checkpoint.load(path)
    if assignment.fork is not None:
        fit.fork(checkpoint, restore=assignment.fork)
    else:
        reopened_at = assignment.reopened_at
        fit.restore(checkpoint, reopened=reopened_at is not None and checkpoint.cursor.get("step", 0) <= reopened_at)
    before, now = checkpoint.meta.get("fingerprint") or {}, runtime.fingerprint
    # Parameters alone are as good as those that are drawn at random: nothing was computed yet.
    if before != now and assignment.fork != "parameters" and reporter is not None:
        reporter.send(NumericsChanged(before, dict(now)))
