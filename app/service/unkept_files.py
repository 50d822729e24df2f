"""Checkpoints and gradients that were written and cannot be kept: there is no room, or the disk failed."""

from app.domain.errors import StorageFull
from app.domain.fit import FitState
from app.domain.messages import CheckpointWritten, GradientWritten, Log
from app.service.attempt_journal import record_log
from app.service.attempt_progress import Progress
from app.store.unit_of_work import UnitOfWork


def lost(written: CheckpointWritten | GradientWritten, detail: str) -> Log:
    """Return what is told of a file that was dropped. The fit goes on; of checkpoints it makes another one."""
    code = "checkpoint_lost" if isinstance(written, CheckpointWritten) else "gradient_lost"
    return Log("error", f"{_name(written)} could not be kept: {detail}", code)


def waits_for_room(work: UnitOfWork, fit_id: str, worked_on: str, progress: Progress, error: StorageFull) -> bool:
    """Whether the fit waits until there is room for its files: its journal is told so, the first time.

    One that is to stop for good does not: it goes without what it has written. Of a variant, `worked_on` is the sweep.
    """
    pending: list[CheckpointWritten | GradientWritten] = [*progress.captured, *progress.written]
    if work.fits.get(worked_on).state is FitState.CANCELLING:
        progress.logs.extend(lost(written, error.detail) for written in pending)
        progress.captured.clear()
        progress.written.clear()
        return False
    if not progress.waits_for_room:
        text = f"the fit waits until there is room for {_name(pending[0])}: {error.detail}"
        record_log(work, fit_id, Log("warning", text, "storage_full"))
    return True


def _name(written: CheckpointWritten | GradientWritten) -> str:
    what = "checkpoint" if isinstance(written, CheckpointWritten) else f"gradient of {written.parameter}"
    return f"the {what} of step {written.step}"
