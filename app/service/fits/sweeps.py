"""Which variant of a sweep is the best so far."""

from collections.abc import Sequence
from dataclasses import dataclass

import engine
from app.domain.fit import FitRecord
from app.domain.sweep import Standing, terms_of


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
