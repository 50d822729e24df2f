"""Captured gradients on their way from a worker's files to blobs."""

from pathlib import Path

from app.blobs.store import BlobStore
from app.domain.errors import NotFound, StorageFailed
from app.domain.gradient import GradientRecord
from app.domain.messages import GradientWritten
from app.service.attempt_progress import Progress
from app.service.unkept_files import lost


def adopt_gradients(blobs: BlobStore, fit_id: str, progress: Progress) -> None:
    """Make blobs of the files that were captured; one that cannot be kept is dropped, with an entry in the journal.

    Each that is done leaves the list, so that this can be called again should it raise StorageFull.
    """
    while progress.captured:
        written = progress.captured[0]
        try:
            progress.gradients.append(_adopted(blobs, fit_id, written))
        except (NotFound, StorageFailed) as error:
            progress.logs.append(lost(written, error.detail))
        del progress.captured[0]


def _adopted(blobs: BlobStore, fit_id: str, written: GradientWritten) -> GradientRecord:
    blob = blobs.adopt(Path(written.path))
    if blob.digest != written.digest:
        raise NotFound("its file was damaged on the way")
    return GradientRecord(fit_id, written.step, written.parameter, written.dtype, written.shape, blob.digest, blob.size)
