"""Checkpoints that were written and cannot be kept: because there is no room, or because the disk failed."""

from app.domain.errors import StorageFull
from app.domain.fit import FitState
from app.domain.messages import Log
from app.service.attempt_journal import record_log
from app.service.attempt_progress import Progress
from app.store.unit_of_work import UnitOfWork


def lost(step: int, detail: str) -> Log:
    """Return what is told of a checkpoint that was dropped. The fit goes on and makes another one."""
    return Log("error", f"the checkpoint of step {step} could not be kept: {detail}", "checkpoint_lost")


def waits_for_room(work: UnitOfWork, fit_id: str, worked_on: str, progress: Progress, error: StorageFull) -> bool:
    """Whether the fit waits until there is room for its checkpoints: its journal is told so, the first time.

    One that is to stop for good does not: it goes without what it has written. Of a variant, `worked_on` is the sweep.
    """
    step = progress.written[0].step
    if work.fits.get(worked_on).state is FitState.CANCELLING:
        progress.logs.extend(lost(written.step, error.detail) for written in progress.written)
        progress.written.clear()
        return False
    if not progress.waits_for_room:
        text = f"the fit waits until there is room for its checkpoint of step {step}: {error.detail}"
        record_log(work, fit_id, Log("warning", text, "storage_full"))
    return True
