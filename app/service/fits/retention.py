"""Deletion of fits: by a client, or by retention."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from app.domain.clock import Clock
from app.domain.errors import Conflict
from app.domain.fit import FitRecord
from app.service.resources.blobs import BlobSweeper
from app.service.resources.notifier import Notifier
from app.store.unit_of_work import Store, UnitOfWork


def remove_fit(work: UnitOfWork, fit: FitRecord, sweeper: BlobSweeper, notify: Callable[[str], None]) -> None:
    """Delete a terminal fit with its event log, checkpoints and variants; its blobs are deleted after the commit.

    Conflict if it is not terminal, has a pinned checkpoint, or is a variant of a sweep that is not terminal.
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


NAMED_MAX = 100
BATCH = 20

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Maximum age of ended fits in days, and maximum number of them; None: no limit."""

    days: float | None
    fits: int | None


class Retention:
    """The use case of deleting terminal fits beyond the limits. `deleted` counts them since the start."""

    def __init__(
        self, store: Store, sweeper: BlobSweeper, notifier: Notifier, terms: RetentionPolicy, clock: Clock
    ) -> None:
        """Delete from `store` by these `terms`, until `notifier` is closed."""
        self._store = store
        self._sweeper = sweeper
        self._notifier = notifier
        self._terms = terms
        self._clock = clock
        self.deleted = 0

    def enforce(self) -> None:
        """Delete every fit beyond the limits, oldest end first; a sweep with its variants."""
        gone: list[str] = []
        while not self._notifier.closed and (some := self._delete_some()):
            gone += some
            self.deleted += len(some)
        if gone:
            _logger.info("retention deleted fits", extra={"count": len(gone), "fits": gone[:NAMED_MAX]})

    def _delete_some(self) -> tuple[str, ...]:
        """Delete a few fits; each is selected in the commit that deletes it, and other requests run in between."""
        days, newest = self._terms.days, self._terms.fits
        before = None if days is None else self._clock.now() - timedelta(days=days)
        with self._store.begin() as work:
            expired = work.retention.expired(before, newest, BATCH)
            for fit_id in expired:
                remove_fit(work, work.fits.get(fit_id), self._sweeper, self._notifier.notify)
        return expired
