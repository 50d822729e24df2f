"""Retention: what has been kept long enough is deleted."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from app.domain.clock import Clock
from app.service.fits.fit_removal import remove_fit
from app.service.resources.blob_sweeper import BlobSweeper
from app.service.resources.wakes import Wakes
from app.store.unit_of_work import Store

NAMED_MAX = 100
BATCH = 20

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetentionTerms:
    """How long fits are kept after their end, and how many of them; None for ever, and all."""

    days: float | None
    fits: int | None


class Retention:
    """The use case of deleting terminal fits that are too old or too many. `deleted` counts them from the start on."""

    def __init__(self, store: Store, sweeper: BlobSweeper, wakes: Wakes, terms: RetentionTerms, clock: Clock) -> None:
        """Delete from `store` as `terms` say, until `wakes` are closed since the server stops."""
        self._store = store
        self._sweeper = sweeper
        self._wakes = wakes
        self._terms = terms
        self._clock = clock
        self.deleted = 0

    def enforce(self) -> None:
        """Delete every fit whose time is over, a sweep with all its variants; those that ended first go first."""
        gone: list[str] = []
        while not self._wakes.closed and (some := self._delete_some()):
            gone += some
            self.deleted += len(some)
        if gone:
            _logger.info("retention deleted fits", extra={"count": len(gone), "fits": gone[:NAMED_MAX]})

    def _delete_some(self) -> tuple[str, ...]:
        """Delete a few at a time: each is chosen in the commit that deletes it, and others are served in between."""
        days, newest = self._terms.days, self._terms.fits
        before = None if days is None else self._clock.now() - timedelta(days=days)
        with self._store.begin() as work:
            expired = work.retention.expired(before, newest, BATCH)
            for fit_id in expired:
                remove_fit(work, work.fits.get(fit_id), self._sweeper, self._wakes.notify)
        return expired
