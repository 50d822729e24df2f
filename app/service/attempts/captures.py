"""Captured gradients on their way from a worker's files to blobs."""

from pathlib import Path

from app.domain.errors import NotFound, StorageFailed
from app.domain.gradient import GradientRecord
from app.domain.messages import GradientWritten
from app.service.attempts.attempt_progress import Progress
from app.service.attempts.unkept import DAMAGED, lost
from app.store.blobs.store import BlobStore


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
