"""A fit as it is shown: its record, and what belongs to it."""

from dataclasses import dataclass

import engine
from app.domain.fit import Attempt, FitRecord, FitState, VariantState
from app.store.unit_of_work import UnitOfWork

SMALL_CHARACTERS = 32 * 1024
"""Longest encoding of what counts as small, in characters."""


@dataclass(frozen=True, slots=True)
class FitView:
    """A fit with the processes that worked on it, and the seconds it will presumably still take."""

    fit: FitRecord
    attempts: tuple[Attempt, ...]
    eta_seconds: float | None = None
    standings: tuple[VariantState, ...] = ()

    @property
    def small(self) -> bool:
        """Whether many of its like can be kept in memory."""
        return len(repr(self.fit.request)) + len(repr(self.standings)) <= SMALL_CHARACTERS

    @property
    def record_every_steps(self) -> int:
        """The steps from one training row to the next."""
        return record_every_steps(self.fit)


def build_view(work: UnitOfWork, fit: FitRecord) -> FitView:
    """Look up what belongs to a fit."""
    attempts = work.attempts.for_fit(fit.id) if fit.attempt else ()
    standings = work.fits.standings(fit.id) if fit.sweep is not None else ()
    return FitView(fit, attempts, _eta_seconds(fit), standings)


def record_every_steps(fit: FitRecord) -> int:
    """Return the steps from one training row of a fit to the next."""
    record = fit.request.get("record") or {}
    return engine.Record(every_steps=record.get("every_steps")).every(fit.total_steps)


def _eta_seconds(fit: FitRecord) -> float | None:
    """Return the time that the steps left take at the pace so far; unknown unless the fit is running."""
    done = fit.step - (0 if fit.origin is None else fit.origin["step"])
    if fit.state is not FitState.RUNNING or done <= 0 or fit.seconds <= 0:
        return None
    return round(fit.seconds * (fit.total_steps - fit.step) / done, 3)
