"""Which variant of a sweep is the best so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import engine
from app.domain.fit import FitRecord, FitState
from app.domain.sweep import Standing, terms_of
from app.service.fits.event_log import record_state
from app.store.unit_of_work import UnitOfWork

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A variant at its place, counted from 1; `value` is the metric that they are ranked by."""

    standing: Standing
    rank: int
    value: float | None


def ranking(sweep: FitRecord, standings: Sequence[Standing]) -> list[Ranked]:
    """Return the variants, the best first: by the best value of the metric if a fit keeps it, else by the latest."""
    terms = terms_of(sweep)
    values = [engine.sweep.standing(terms.monitor, variant.best, variant.latest) for variant in standings]
    order = engine.sweep.ranked(values, terms.mode)
    return [Ranked(standings[place], rank, values[place]) for rank, place in enumerate(order, 1)]


def close_variants(work: UnitOfWork, sweep: FitRecord, notify: Notify) -> None:
    """Have the variants that are left end as the sweep has ended, if it has; no process works on them any more."""
    if not sweep.terminal:
        return
    state = FitState.FAILED if sweep.state is FitState.FAILED else FitState.CANCELLED
    for fit in work.fits.variants(sweep.id):
        if not fit.terminal:
            closed = fit.to(state, phase=state.value, error=sweep.error, finished_at=work.now)
            record_state(work, work.fits.update(closed))
            work.after_commit(partial(notify, fit.id))
