"""What a fit has written and the server cannot keep: because there is no room, or because the disk failed."""

from dataclasses import replace

from app.domain.errors import StorageFull
from app.domain.fit import WAITS_FOR_STORAGE, FitState
from app.domain.messages import CheckpointWritten, GradientWritten, Log
from app.service.attempts.attempt_progress import Progress
from app.service.fits.event_log import record_log
from app.store.unit_of_work import UnitOfWork

DAMAGED = "its file was damaged on the way"


def lost(written: CheckpointWritten | GradientWritten, detail: str) -> Log:
    """Return what is told of a checkpoint or gradient that was dropped. The fit goes on, to its next checkpoint."""
    if isinstance(written, CheckpointWritten):
        return Log("error", f"the checkpoint of step {written.step} could not be kept: {detail}", "checkpoint_lost")
    what = f"the gradient of {written.parameter} at step {written.step}"
    return Log("error", f"{what} could not be kept: {detail}", "gradient_lost")


def waits_for_room(work: UnitOfWork, fit_id: str, worked_on: str, progress: Progress, error: StorageFull) -> bool:
    """Whether the fit waits until there is room for what it has written: its journal is told so, the first time.

    One that is to stop for good does not: it goes without what it has written. Of a variant, `worked_on` is the sweep.
    """
    fit = work.fits.get(fit_id)
    if work.fits.get(worked_on).state is FitState.CANCELLING:
        progress.logs.extend(lost(written, error.detail) for written in progress.captured)
        progress.logs.extend(lost(written, error.detail) for written in progress.written)
        progress.captured.clear()
        progress.written.clear()
        return False
    if not progress.waits_for_room:
        record_log(work, fit_id, waiting(error))
    if fit.state is FitState.RUNNING and fit.phase != WAITS_FOR_STORAGE:
        work.fits.update(replace(fit, phase=WAITS_FOR_STORAGE))
    return True


def waiting(error: StorageFull) -> Log:
    """Return what is told of a fit that waits for room."""
    return Log("warning", f"the fit waits until there is room for what it has written: {error.detail}", error.code)
