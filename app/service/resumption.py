"""Where the next attempt at a fit begins: at the furthest checkpoint whose file is what it was."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from app.blobs.store import BlobStore
from app.domain.checkpoint import CheckpointRecord
from app.domain.errors import NotFound
from app.domain.fit import FitRecord, Origin
from app.domain.messages import Log
from app.service.attempt_journal import record_log
from app.service.blob_sweeper import BlobSweeper
from app.service.checkpoint_files import intact_file
from app.store.unit_of_work import Store

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The file to go on from, and how to begin with it if the fit was forked from it; no file: from the start."""

    resume_from: str | None = None
    fork: Literal["all", "parameters"] | None = None


class Resumption:
    """Finds sound checkpoints, and gives up those that are damaged."""

    def __init__(self, store: Store, blobs: BlobStore, sweeper: BlobSweeper, notify: Callable[[str], None]) -> None:
        """Look in `blobs` for the files of the checkpoints in `store`."""
        self._store = store
        self._blobs = blobs
        self._sweeper = sweeper
        self._notify = notify

    def beginning(self, fit: FitRecord, checkpoints: Iterable[CheckpointRecord]) -> Beginning:
        """Choose among the fit's `checkpoints`, the furthest first; those that are damaged are deleted.

        NotFound for a fork that has none: it cannot begin anywhere else.
        """
        for checkpoint in checkpoints:
            path = intact_file(self._blobs, checkpoint)
            if path is not None:
                return Beginning(str(path), _fork(fit, checkpoint))
            self._give_up(fit.id, checkpoint)
        if fit.origin is not None:
            origin = Origin(**fit.origin)
            raise NotFound(
                f"the file of checkpoint {origin.checkpoint}, which the fit was forked from, is gone or damaged; fork "
                "it from another one"
            )
        return Beginning()

    def _give_up(self, fit_id: str, checkpoint: CheckpointRecord) -> None:
        _logger.error("fit %s: checkpoint %s is damaged", fit_id, checkpoint.id)
        with self._store.begin() as work:
            work.checkpoints.delete(checkpoint.id)
            text = f"checkpoint {checkpoint.id} of step {checkpoint.step} is damaged and was deleted"
            record_log(work, fit_id, Log("error", text, "checkpoint_corrupt"))
            work.after_commit(partial(self._notify, fit_id))
        self._sweeper.discard([checkpoint.digest])


def _fork(fit: FitRecord, checkpoint: CheckpointRecord) -> Literal["all", "parameters"] | None:
    """Return how to begin with the checkpoint, if it is not one of the fit's making."""
    origin = None if fit.origin is None else Origin(**fit.origin)
    return origin.restore if origin is not None and origin.copy == checkpoint.id else None
