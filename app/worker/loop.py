"""Fitting, step by step, until it is done or should stop."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

import engine
from app.domain.errors import BadMessage, StorageFailed, StorageFull
from app.domain.messages import Assignment, Failed, Finished, Log, Outcome, Phase, Reached, decode, encode
from app.domain.runtime import Runtime
from app.domain.storage_faults import storage_faults
from app.worker.control import Control, VariantControl, agreed
from app.worker.recorder import Recorder
from app.worker.runtime import chosen

OUTCOMES: Mapping[Literal["cancel", "drain"], Outcome] = MappingProxyType({"cancel": "cancelled", "drain": "drained"})


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
        runtime = chosen(Runtime.from_json(assignment.runtime))
        with closing(_prepared(assignment, runtime, collective)) as fit:
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
    runtime = chosen(Runtime.from_json(assignment.runtime))
    with closing(_prepared(assignment, runtime, collective, recorder)) as fit:
        recorder.send(Phase("training", fit.total_steps, runtime.to_json()))
        staging = Path(assignment.staging)
        saved, wanted = _place(fit), None
        while not _there(fit, rung) and (wanted := agreed(collective, control.wanted)) is None:
            recorder.add(fit, fit.proceed(None if rung is None else rung.step))
            if fit.checkpoint_due and fit.failure is None:
                recorder.checkpoint(fit, staging)
                saved = _place(fit)
        # None of a failure: a process that is killed before it can tell would let the next one go on behind it.
        if _place(fit) != saved and fit.failure is None:
            recorder.checkpoint(fit, staging)
        if rung is not None and not fit.done and wanted is None:
            return _halfway(fit, rung, staging)
    if fit.failure is not None:
        return Failed("diverged", str(fit.failure))
    if fit.stopped is not None:
        recorder.send(Log("info", f"stopped_early: {fit.stopped}"))
    return Finished("succeeded" if fit.done or wanted is None else OUTCOMES[wanted], fit.stopped)


def _there(fit: engine.Fit, rung: Rung | None) -> bool:
    return fit.done or (rung is not None and fit.step >= rung.step)


def _halfway(fit: engine.Fit, rung: Rung, staging: Path) -> Halfway:
    """Put the fit aside. The server takes the checkpoints that it is told of; this one stays."""
    path = staging / f"rung-{fit.step}.safetensors"
    with storage_faults("the checkpoint"):
        fit.snapshot().save(path)
    return Halfway(Reached(fit.step, engine.sweep.standing(rung.monitor, fit.best, fit.latest)), str(path))


def _place(fit: engine.Fit) -> tuple[int, int]:
    """Tell where a fit stands: not every step makes a row, and one that goes back comes by a step again."""
    return fit.step, fit.seq


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
    _logger.error("fit %s: attempt %s failed", assignment.fit_id, assignment.attempt, exc_info=error)
    if isinstance(error, MemoryError):
        return Failed("out_of_memory", "the fit needs more memory than it was given; try a smaller batch_size")
    if isinstance(error, StorageFull | StorageFailed):
        return Failed(error.code, error.detail)
    return Failed("internal_error", type(error).__name__)


def _prepared(
    assignment: Assignment, runtime: Runtime, collective: engine.Collective, recorder: Recorder | None = None
) -> engine.Fit:
    """Return the fit as it goes on: from the start, or from a checkpoint."""
    validation = assignment.validation_columns
    fit = engine.Fit(
        engine.parse_graph(assignment.definition),
        engine.read_recipe(assignment.request),
        _Mapped(assignment.columns),
        None if validation is None else _Mapped(validation),
        collective=collective,
        executor=runtime.executor,
        threads=runtime.threads,
    )
    if assignment.resume_from is not None:
        _resume(fit, Path(assignment.resume_from), runtime, recorder)
    return fit


class _Mapped(Mapping[str, list[np.ndarray[Any, Any]]]):
    """Columns whose files are mapped into memory when they are asked for, so that processes that read the same share
    it. A column that a fit does not use takes neither a file nor an address.
    """

    def __init__(self, paths: Mapping[str, Sequence[str]]) -> None:
        """Map the files at `paths`, those of each column in their order."""
        self._paths = paths

    def __getitem__(self, name: str) -> list[np.ndarray[Any, Any]]:
        """Map the files of one column."""
        return [np.load(path, mmap_mode="r", allow_pickle=False) for path in self._paths[name]]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column, without mapping it."""
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns."""
        return iter(self._paths)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self._paths)


def _resume(fit: engine.Fit, path: Path, runtime: Runtime, recorder: Recorder | None) -> None:
    checkpoint = engine.Checkpoint.load(path)
    fit.restore(checkpoint)
    before, now = checkpoint.meta.get("fingerprint"), runtime.fingerprint
    if before != now and recorder is not None:
        text = f"numerics_changed: the checkpoint was computed with {before}, this goes on with {now}"
        recorder.send(Log("warning", f"{text}; the numbers may differ in the last bits"))
