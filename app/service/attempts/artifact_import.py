"""Import of the files that an attempt wrote to its spool directory: they become blobs with records."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.domain.clock import Clock
from app.domain.errors import NotFound, StorageFailed, StorageFull, storage_faults
from app.domain.fit import WAITS_FOR_STORAGE, FitState
from app.domain.ids import new_id
from app.domain.messages import CheckpointWritten, GradientWritten, Log
from app.domain.records import CheckpointRecord, GradientRecord
from app.service.attempts.apply_report import retained
from app.service.attempts.progress import Claim, Progress
from app.service.fits.event_log import record_log
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store, UnitOfWork
from app.system.durable import Durable

_logger = logging.getLogger(__name__)


class Staging:
    """The folders of attempts. What is in one counts once the server has moved it out."""

    def __init__(self, folder: Path, durable: Durable) -> None:
        """Keep them in `folder`, which is on the file system of the blobs."""
        self._folder = folder
        self._durable = durable

    def make(self, token: str) -> Path:
        """Make the folder of the attempt with this token; StorageFull or StorageFailed if it cannot be."""
        made = self._folder / token
        with storage_faults("the folder of this attempt"):
            made.mkdir(mode=0o700, parents=True)
        return made

    def clear(self, path: Path) -> None:
        """Delete a file or folder of an attempt; if that fails, the next start does it."""
        try:
            self._durable.remove_tree(path) if path.is_dir() else self._durable.unlink(path)
        except OSError:
            _logger.exception("a file of an attempt stays until the next start")

    def clear_attempt(self, token: str) -> None:
        """Delete the folder of an attempt, whose process is gone or has nothing more to write."""
        self.clear(self._folder / token)

    def clear_all(self, tokens: Collection[str]) -> int:
        """Delete the folders of all attempts with these tokens, and return how many there were."""
        found = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        folders = [folder for folder in found if folder.name in tokens]
        for folder in folders:
            self.clear(folder)
        return len(folders)


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


def adopt_gradients(blobs: BlobStore, fit_id: str, progress: Progress) -> None:
    """Make blobs of the files that were captured; one that cannot be kept is dropped, with an entry in the journal.

    Each that is done leaves the list, so that this can be called again should it raise StorageFull.
    """
    while progress.captured:
        written = progress.captured[0]
        try:
            gradient = _adopted(blobs, fit_id, written)
        except StorageFailed as error:
            progress.logs.append(lost(written, error.detail))
        else:
            if gradient is None:
                progress.logs.append(lost(written, DAMAGED))
            else:
                progress.gradients.append(gradient)
        del progress.captured[0]


def _adopted(blobs: BlobStore, fit_id: str, written: GradientWritten) -> GradientRecord | None:
    try:
        blob = blobs.adopt(Path(written.path))
    except NotFound:
        return None
    if blob.digest != written.digest:
        return None
    return GradientRecord(fit_id, written.step, written.parameter, written.dtype, written.shape, blob.digest, blob.size)


class Adoption:
    """Makes blobs of what attempts have written. Each file that is done leaves the news, so it can be gone on with."""

    def __init__(
        self, store: Store, blobs: BlobStore, staging: Staging, notify: Callable[[str], None], clock: Clock
    ) -> None:
        """Move files from `staging` to `blobs`; call `notify` with a fit's id when its journal tells of trouble."""
        self._store = store
        self._blobs = blobs
        self._staging = staging
        self._notify = notify
        self._clock = clock

    def adopt(self, claim: Claim, progress: Progress) -> None:
        """Make blobs of all files that the news tell of; StorageFull if the fit is to wait until there is room."""
        for fit_id, news in ((claim.fit.id, progress), *progress.variants.items()):
            try:
                self._adopt(claim, fit_id, news)
            except StorageFull as error:
                self._hold_up(claim, fit_id, news, error)

    def _adopt(self, claim: Claim, fit_id: str, progress: Progress) -> None:
        """Make blobs of captured gradients and of the checkpoint files that are worth keeping, and drop the others."""
        adopt_gradients(self._blobs, fit_id, progress)
        if not progress.written:
            return
        worth = retained(progress.written, claim.policy)
        while progress.written:
            written = progress.written[0]
            record = self._adopted(claim, fit_id, written, progress) if written in worth else None
            self._staging.clear(Path(written.path))
            if record is not None:
                progress.checkpoints.append(record)
            del progress.written[0]

    def _adopted(
        self, claim: Claim, fit_id: str, written: CheckpointWritten, progress: Progress
    ) -> CheckpointRecord | None:
        blob = None
        try:
            blob = self._blobs.adopt(Path(written.path))
        except NotFound:
            pass
        except StorageFailed as error:
            progress.logs.append(lost(written, error.detail))
            return None
        if blob is None or blob.digest != written.digest:
            progress.logs.append(lost(written, DAMAGED))
            return None
        return CheckpointRecord(
            id=new_id("ckpt"),
            fit_id=fit_id,
            graph_id=claim.fit.graph_id,
            step=written.step,
            epoch=written.epoch,
            digest=blob.digest,
            size_bytes=blob.size,
            metrics=written.metrics,
            created_at=self._clock.now(),
            is_best=written.is_best,
            deleted=False,
            tenant=claim.fit.tenant,
        )

    def _hold_up(self, claim: Claim, fit_id: str, progress: Progress, error: StorageFull) -> None:
        """Raise `error` again if the fit is to wait for room, of which its journal tells."""
        try:
            with self._store.begin() as work:
                work.attempts.guard(claim.fit.id, claim.token)
                waits = waits_for_room(work, fit_id, claim.fit.id, progress, error)
                work.after_commit(partial(self._notify, fit_id))
        except StorageFull:
            # The database is on the same disk: what there is to be told is written down with all else, later.
            if not progress.waits_for_room:
                progress.logs.append(waiting(error))
            progress.waits_for_room = True
            raise
        progress.waits_for_room = waits
        if waits:
            raise error
