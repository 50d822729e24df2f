"""Captured gradients on their way from a worker's files to blobs."""

from pathlib import Path

from app.blobs.store import BlobStore
from app.domain.errors import NotFound
from app.domain.gradient import GradientRecord
from app.domain.messages import GradientWritten, Log
from app.service.attempt_progress import Progress


def adopt_gradients(blobs: BlobStore, fit_id: str, progress: Progress) -> None:
    """Make blobs of the files that were captured; one that is damaged is dropped, with an entry in the journal.

    Each that is done leaves the list, so that this can be called again should it raise StorageFull.
    """
    while progress.captured:
        written = progress.captured[0]
        gradient = _adopted(blobs, fit_id, written)
        if gradient is not None:
            progress.gradients.append(gradient)
        else:
            text = f"the gradient of {written.parameter} at step {written.step} was damaged and is not kept"
            progress.logs.append(Log("error", text, "gradient_lost"))
        del progress.captured[0]


def _adopted(blobs: BlobStore, fit_id: str, written: GradientWritten) -> GradientRecord | None:
    try:
        blob = blobs.adopt(Path(written.path))
    except NotFound:
        return None
    if blob.digest != written.digest:
        return None
    return GradientRecord(fit_id, written.step, written.parameter, written.dtype, written.shape, blob.digest, blob.size)
