"""Where the next attempt at a fit begins: at the furthest checkpoint whose file is what it was."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from app.domain.checkpoint import CheckpointRecord
from app.domain.errors import CheckpointCorrupt, Corrupt
from app.domain.fit import FitRecord, Origin
from app.domain.messages import Log
from app.service.fits.event_log import record_log
from app.service.resources.integrity import Integrity
from app.store.unit_of_work import Store

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The file to go on from, and how to begin with it if the fit was forked from it; no file: from the start."""

    resume_from: str | None = None
    fork: Literal["all", "parameters"] | None = None


class Resumption:
    """Finds sound checkpoints; those that are damaged are passed over, and stay to be put right."""

    def __init__(self, store: Store, integrity: Integrity, notify: Callable[[str], None]) -> None:
        """Open by `integrity` the files of the checkpoints in `store`."""
        self._store = store
        self._integrity = integrity
        self._notify = notify

    def beginning(self, fit: FitRecord, checkpoints: Iterable[CheckpointRecord]) -> Beginning:
        """Choose among the fit's `checkpoints`, the furthest first; its journal tells of those that are damaged.

        Corrupt for a fork whose checkpoints are all damaged: it cannot begin anywhere else.
        """
        damage: Corrupt | None = None
        for checkpoint in checkpoints:
            try:
                path = self._integrity.checkpoint(checkpoint)
            except Corrupt as error:
                damage = error
                self._pass_over(fit.id, checkpoint, error)
            else:
                return Beginning(str(path), _fork(fit, checkpoint))
        if fit.origin is not None:
            origin = Origin(**fit.origin)
            detail = (
                f"no checkpoint of the fit is whole, and it was forked from checkpoint {origin.checkpoint}, without "
                "which it cannot begin; upload the bytes of that again and resume the fit, or fork it from another one"
            )
            problem = "is missing" if damage is None else damage.problem
            raise CheckpointCorrupt(detail, blob=origin.digest, problem=problem)
        return Beginning()

    def _pass_over(self, fit_id: str, checkpoint: CheckpointRecord, error: Corrupt) -> None:
        which = f"checkpoint {checkpoint.id} of step {checkpoint.step}"
        text = f"the fit does not go on from {which}: its file {error.problem}"
        _logger.error("fit %s: %s", fit_id, text)
        with self._store.begin() as work:
            record_log(work, fit_id, Log("error", text, CheckpointCorrupt.code))
            work.after_commit(partial(self._notify, fit_id))


def _fork(fit: FitRecord, checkpoint: CheckpointRecord) -> Literal["all", "parameters"] | None:
    """Return how to begin with the checkpoint, if it is not one of the fit's making."""
    origin = None if fit.origin is None else Origin(**fit.origin)
    return origin.restore if origin is not None and origin.copy == checkpoint.id else None
