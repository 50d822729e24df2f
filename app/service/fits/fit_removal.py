"""Deleting a fit, by whom it may be: a client, or retention."""

from collections.abc import Callable
from functools import partial

from app.domain.errors import Conflict
from app.domain.fit import FitRecord
from app.service.resources.blob_sweeper import BlobSweeper
from app.store.unit_of_work import UnitOfWork


def remove_fit(work: UnitOfWork, fit: FitRecord, sweeper: BlobSweeper, notify: Callable[[str], None]) -> None:
    """Forget a terminal fit with its journal, its checkpoints and its variants; their blobs go after the commit.

    Conflict if it is not terminal, has a pinned checkpoint, or is a variant of a sweep that goes on.
    """
    if not fit.terminal:
        raise Conflict(f"fit {fit.id} is {fit.state}; cancel it and wait until it is terminal", code="not_terminal")
    if fit.parent_id is not None and not work.fits.get(fit.parent_id).terminal:
        raise Conflict(
            f"fit {fit.id} is a variant of {fit.parent_id}, which goes on; delete it when that is terminal",
            code="in_use",
        )
    gone = (fit.id, *(variant.id for variant in work.fits.variants(fit.id)))
    checkpoints = (checkpoint for each in gone for checkpoint in work.checkpoints.kept(each))
    pinned = next((checkpoint.id for checkpoint in checkpoints if checkpoint.pinned), None)
    if pinned is not None:
        raise Conflict(f"fit {fit.id} has the pinned checkpoint {pinned}; unpin it first", code="pinned")
    digests = [digest for each in gone for digest in work.blob_references.of_fit(each)]
    work.fits.delete(fit.id)
    work.after_commit(lambda: sweeper.discard(digests))
    for each in gone:
        work.after_commit(partial(notify, each))
