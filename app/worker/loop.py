"""Fitting, step by step, until it is done or should stop."""

import errno
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

import engine
from app.domain.messages import Assignment, Failed, Finished, Log, Outcome, Phase
from app.worker.control import Control
from app.worker.recorder import Recorder

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
OUTCOMES: Mapping[Literal["cancel", "drain"], Outcome] = MappingProxyType({"cancel": "cancelled", "drain": "drained"})


_logger = logging.getLogger(__name__)


def work(assignment: Assignment, recorder: Recorder, control: Control) -> Finished | Failed:
    """Carry out `assignment` and return the verdict; rows and checkpoints go through `recorder` on the way.

    Never raises. What a client may not see (paths, our own code) goes to the server's log.
    """
    try:
        return _fit(assignment, recorder, control)
    except engine.EngineError as error:
        return Failed(error.code, str(error))
    except MemoryError:
        _logger.exception("fit %s: attempt %s failed", assignment.fit_id, assignment.attempt)
        return Failed("out_of_memory", "the fit needs more memory than it was given; try a smaller batch_size")
    except OSError as error:
        _logger.exception("fit %s: attempt %s failed", assignment.fit_id, assignment.attempt)
        if error.errno in NO_SPACE:
            return Failed("storage_full", "the disk has no room for a checkpoint; free some space, then run it again")
        return Failed("internal_error", type(error).__name__)
    except Exception as error:
        _logger.exception("fit %s: attempt %s failed", assignment.fit_id, assignment.attempt)
        return Failed("internal_error", type(error).__name__)


def _fit(assignment: Assignment, recorder: Recorder, control: Control) -> Finished:
    fit = _prepared(assignment)
    if assignment.resume_from is not None:
        _resume(fit, Path(assignment.resume_from), recorder)
    recorder.send(Phase("training"))
    staging = Path(assignment.staging)
    saved = fit.step
    while not fit.done and control.wanted is None:
        recorder.add(fit, fit.advance())
        if fit.checkpoint_due:
            recorder.checkpoint(fit, staging)
            saved = fit.step
    if fit.step != saved:
        recorder.checkpoint(fit, staging)
    wanted = control.wanted
    return Finished("succeeded" if fit.done or wanted is None else OUTCOMES[wanted])


def _prepared(assignment: Assignment) -> engine.Fit:
    definition = engine.parse_graph(assignment.definition)
    recipe = engine.read_recipe(assignment.request)
    fed = {recipe.feeds.get(name, name) for name in definition.inputs}
    validation = assignment.validation_columns
    return engine.Fit(
        definition,
        recipe,
        _mapped(assignment.columns, fed),
        None if validation is None else _mapped(validation, fed),
    )


def _mapped(columns: Mapping[str, str], wanted: Iterable[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Map the wanted columns' files into memory: processes that read the same share it."""
    return {name: np.load(columns[name], mmap_mode="r", allow_pickle=False) for name in wanted if name in columns}


def _resume(fit: engine.Fit, path: Path, recorder: Recorder) -> None:
    checkpoint = engine.Checkpoint.load(path)
    fit.restore(checkpoint)
    before, now = checkpoint.meta.get("fingerprint"), engine.fingerprint()
    if before != now:
        text = f"numerics_changed: the checkpoint was computed with {before}, this goes on with {now}"
        recorder.send(Log("warning", f"{text}; the numbers may differ in the last bits"))
