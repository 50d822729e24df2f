"""The view of a fit: its record with related records."""

from dataclasses import dataclass

import engine
from app.domain.fit import Attempt, FitRecord, FitState, VariantState
from app.store.unit_of_work import UnitOfWork

SMALL_CHARACTERS = 32 * 1024
"""Maximum size of the encoding of a small view, in characters."""


@dataclass(frozen=True, slots=True)
class FitView:
    """A fit with its attempts, and the estimated remaining time in seconds."""

    fit: FitRecord
    attempts: tuple[Attempt, ...]
    eta_seconds: float | None = None
    standings: tuple[VariantState, ...] = ()

    @property
    def small(self) -> bool:
        """Whether the view is small enough to be cached."""
        return len(repr(self.fit.request)) + len(repr(self.standings)) <= SMALL_CHARACTERS

    @property
    def record_every_steps(self) -> int:
        """The interval of training rows, in steps."""
        return record_every_steps(self.fit)


def build_view(work: UnitOfWork, fit: FitRecord) -> FitView:
    """Read the records related to a fit."""
    attempts = work.attempts.for_fit(fit.id) if fit.attempt else ()
    standings = work.fits.standings(fit.id) if fit.sweep is not None else ()
    return FitView(fit, attempts, _eta_seconds(fit), standings)


def record_every_steps(fit: FitRecord) -> int:
    """Return the interval of training rows of a fit, in steps."""
    record = fit.request.get("record") or {}
    return engine.Record(every_steps=record.get("every_steps")).every(fit.total_steps)


def _eta_seconds(fit: FitRecord) -> float | None:
    """Return the estimated time of the remaining steps at the average rate; None unless the fit is running."""
    done = fit.step - (0 if fit.origin is None else fit.origin["step"])
    if fit.state is not FitState.RUNNING or done <= 0 or fit.seconds <= 0:
        return None
    return round(fit.seconds * (fit.total_steps - fit.step) / done, 3)
