"""Import of the checkpoints and gradients in the spool directory of an attempt: they become blobs with records."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.domain.clock import Clock
from app.domain.errors import NotFound, StorageFailed, StorageFull, StorageUnavailable, storage_faults
from app.domain.fit import WAITS_FOR_STORAGE, FitState
from app.domain.ids import new_id
from app.domain.messages import CheckpointWritten, GradientWritten, Log
from app.domain.records import CheckpointRecord, GradientRecord
from app.service.attempts.apply_report import select_retained
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.event_log import record_log
from app.store.blobs.store import Blob, BlobStore
from app.store.unit_of_work import Store, UnitOfWork
from app.system.durable import Durable

_logger = logging.getLogger(__name__)


class SpoolDirs:
    """The spool directories of attempts. A file counts once the server has moved it out."""

    def __init__(self, folder: Path, durable: Durable) -> None:
        """Keep them in `folder`, which is on the file system of the blobs."""
        self._folder = folder
        self._durable = durable

    def create(self, token: str) -> Path:
        """Make the folder of the attempt with this token; StorageFull or StorageFailed if it cannot be."""
        directory = self._folder / token
        with storage_faults("the folder of this attempt"):
            directory.mkdir(mode=0o700, parents=True)
        return directory

    def remove(self, path: Path) -> None:
        """Delete a file or folder of an attempt; if that fails, the next start does it."""
        try:
            self._durable.remove_tree(path) if path.is_dir() else self._durable.unlink(path)
        except OSError:
            _logger.exception("cannot delete a file of an attempt; retrying at the next start")

    def remove_attempt(self, token: str) -> None:
        """Delete the folder of an attempt, whose process is gone or has nothing more to write."""
        self.remove(self._folder / token)

    def remove_all(self, tokens: Collection[str]) -> int:
        """Delete the folders of all attempts with these tokens, and return how many there were."""
        found = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        folders = [folder for folder in found if folder.name in tokens]
        for folder in folders:
            self.remove(folder)
        return len(folders)


DAMAGED = "its file was damaged on the way"


def lost_artifact_log(written: CheckpointWritten | GradientWritten, detail: str) -> Log:
    """Return the log entry for a checkpoint or gradient that was dropped. The fit continues."""
    if isinstance(written, CheckpointWritten):
        return Log("error", f"the checkpoint of step {written.step} could not be kept: {detail}", "checkpoint_lost")
    what = f"the gradient of {written.parameter} at step {written.step}"
    return Log("error", f"{what} could not be kept: {detail}", "gradient_lost")


NoStorage = StorageFull | StorageUnavailable
"""What a fit waits for the end of."""


def waits_for_storage(work: UnitOfWork, fit_id: str, worked_on: str, report: AttemptReport, error: NoStorage) -> bool:
    """Whether the fit waits until its files can be stored; the first time this is logged.

    A fit that is being cancelled does not wait: its files are dropped. Of a variant, `worked_on` is the sweep.
    """
    fit = work.fits.get(fit_id)
    if work.fits.get(worked_on).state is FitState.CANCELLING:
        report.logs.extend(lost_artifact_log(written, error.detail) for written in report.captured)
        report.logs.extend(lost_artifact_log(written, error.detail) for written in report.written)
        report.captured.clear()
        report.written.clear()
        return False
    if not report.waits_for_storage:
        record_log(work, fit_id, waiting_log(error))
    if fit.state is FitState.RUNNING and fit.phase != WAITS_FOR_STORAGE:
        work.fits.update(replace(fit, phase=WAITS_FOR_STORAGE))
    return True


def waiting_log(error: NoStorage | StorageFailed) -> Log:
    """Return the log entry for a fit that waits for disk space, or for the object storage."""
    what = "disk space" if isinstance(error, StorageFull) else "its storage"
    return Log("warning", f"the fit is waiting for {what}: {error.detail}", error.code)


def import_gradients(blobs: BlobStore, fit_id: str, report: AttemptReport) -> None:
    """Import captured gradients as blobs; one that cannot be imported is dropped, with a log entry.

    Each imported file is removed from the report, so that this can be repeated after StorageFull, StorageUnavailable or
    TransferPending.
    """
    while report.captured:
        written = report.captured[0]
        try:
            gradient = _import_gradient(blobs, fit_id, written)
        except StorageFailed as error:
            report.logs.append(lost_artifact_log(written, error.detail))
        else:
            if gradient is None:
                report.logs.append(lost_artifact_log(written, DAMAGED))
            else:
                report.gradients.append(gradient)
        del report.captured[0]


def _import_gradient(blobs: BlobStore, fit_id: str, written: GradientWritten) -> GradientRecord | None:
    blob = _adopt(blobs, written)
    if blob is None:
        return None
    return GradientRecord(fit_id, written.step, written.parameter, written.dtype, written.shape, blob.digest, blob.size)


def _adopt(blobs: BlobStore, written: CheckpointWritten | GradientWritten) -> Blob | None:
    """Make a file a blob; None if it is missing, or does not hold what was written. This can be repeated."""
    try:
        blob = blobs.adopt_soon(Path(written.path))
    except NotFound:
        return blobs.find_adopted(written.digest)
    return blob if blob.digest == written.digest else None


class CheckpointImport:
    """Imports the files of attempts as blobs. Each imported file is removed from the report, so that it can be
    retried.
    """

    def __init__(
        self, store: Store, blobs: BlobStore, spool: SpoolDirs, notify: Callable[[str], None], clock: Clock
    ) -> None:
        """Move files from `spool` to `blobs`; call `notify` with the id of a fit if a problem was logged."""
        self._store = store
        self._blobs = blobs
        self._spool = spool
        self._notify = notify
        self._clock = clock

    def run(self, claim: Claim, report: AttemptReport) -> None:
        """Import all files of a report; StorageFull or StorageUnavailable if the fit has to wait until it can be.

        TransferPending while a file is being transferred.
        """
        for fit_id, each in ((claim.fit.id, report), *report.variants.items()):
            try:
                self._import_files(claim, fit_id, each)
            except (StorageFull, StorageUnavailable) as error:
                self._wait_for_storage(claim, fit_id, each, error)

    def _import_files(self, claim: Claim, fit_id: str, report: AttemptReport) -> None:
        """Make blobs of captured gradients and of the checkpoint files that are worth keeping, and drop the others."""
        retained = select_retained(report.written, claim.policy) if report.written else ()
        self._blobs.send_ahead(Path(written.path) for written in (*report.captured, *retained))
        import_gradients(self._blobs, fit_id, report)
        while report.written:
            written = report.written[0]
            record = self._import_checkpoint(claim, fit_id, written, report) if written in retained else None
            self._spool.remove(Path(written.path))
            if record is not None:
                report.checkpoints.append(record)
            del report.written[0]

    def _import_checkpoint(
        self, claim: Claim, fit_id: str, written: CheckpointWritten, report: AttemptReport
    ) -> CheckpointRecord | None:
        try:
            blob = _adopt(self._blobs, written)
        except StorageFailed as error:
            report.logs.append(lost_artifact_log(written, error.detail))
            return None
        if blob is None:
            report.logs.append(lost_artifact_log(written, DAMAGED))
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

    def _wait_for_storage(self, claim: Claim, fit_id: str, report: AttemptReport, error: NoStorage) -> None:
        """Log that the fit waits, and raise `error` again, if it has to wait."""
        try:
            with self._store.begin() as work:
                work.attempts.guard(claim.fit.id, claim.token)
                is_waiting = waits_for_storage(work, fit_id, claim.fit.id, report, error)
                work.after_commit(partial(self._notify, fit_id))
        except StorageFull:
            # The database is on the same disk: the log entry is stored with the report, later.
            if not report.waits_for_storage:
                report.logs.append(waiting_log(error))
            report.waits_for_storage = True
            raise
        report.waits_for_storage = is_waiting
        if is_waiting:
            raise error
