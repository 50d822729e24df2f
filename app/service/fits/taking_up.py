"""Taking a fit up again that has stopped: it queues, to go on from its last checkpoint."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial

from app.domain.errors import Conflict, NotFound
from app.domain.fit import FitRecord, FitState
from app.domain.sweep import terms_of
from app.service.fits.event_log import record_reopening, record_state
from app.service.fits.fit_terms import FitTerms
from app.service.fits.time_limits import expired
from app.service.resources.wakes import Wakes
from app.service.resources.workforce import Workforce
from app.store.unit_of_work import UnitOfWork


class TakingUp:
    """Queues fits again."""

    def __init__(self, wakes: Wakes, workforce: Workforce, terms: FitTerms) -> None:
        """Queue for the `workforce`; tell watchers by `wakes`."""
        self._wakes = wakes
        self._workforce = workforce
        self._terms = terms

    def queue(self, work: UnitOfWork, fit: FitRecord, variants: Iterable[FitRecord] = ()) -> FitRecord:
        """Queue a paused or ended fit, and `variants` of it that have ended; each keeps at which step it had ended.

        Their journals go on: what said that nothing follows says from now on that they were taken up again. Conflict
        if the fit's time is up or what it works with is gone, QueueFull.
        """
        check_startable(work, fit)
        self._terms.check_queue(work)
        if fit.terminal and fit.sweep is not None:
            # What its processes died of before is forgotten with its end.
            fit = replace(fit, sweep=asdict(replace(terms_of(fit), progressed_in=fit.attempt + 1)))
        queued = self._queue(work, fit)
        for variant in variants:
            self._queue(work, variant)
        work.after_commit(self._workforce.wake)
        return queued

    def _queue(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        if fit.terminal:
            record_reopening(work, fit)
            fit = replace(fit, reopened_at=fit.step, error=None, finished_at=None, stop_reason=None)
        queued = work.fits.update(fit.to(FitState.QUEUED, phase="queued"))
        record_state(work, queued)
        work.after_commit(partial(self._wakes.notify, fit.id))
        return queued


def check_startable(work: UnitOfWork, fit: FitRecord) -> None:
    """Conflict if the fit would fail at once, since its time is up or what it works with is gone."""
    limit = expired(fit, fit.seconds, work.now)
    if limit is not None:
        raise Conflict(f"fit {fit.id} cannot go on: {limit.detail}", code=limit.code)
    try:
        work.graphs.get(fit.graph_id)
        for dataset_id in (*fit.dataset_ids, *fit.validation_ids):
            work.datasets.get(dataset_id)
    except NotFound as error:
        raise Conflict(f"fit {fit.id} cannot go on: {error.detail}", code="input_missing") from error
