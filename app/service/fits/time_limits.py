"""How long a fit may run, and until when it may take at all."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from app.domain.clock import rfc3339
from app.domain.fit import FitRecord, FitState
from app.domain.verdict import Expired
from app.service.fits.event_log import record_state
from app.service.fits.sweeps import close_variants
from app.store.unit_of_work import UnitOfWork

TIMEOUT = (
    "the fit has run for {limit:g} seconds, all that resources.timeout_seconds lets it; its last checkpoint is kept: "
    "raise the limit and resume it"
)
DEADLINE = (
    "the fit was not done by {moment}, its resources.deadline; what checkpoints it has are kept: set a later one and "
    "resume it"
)


def timeout_seconds(fit: FitRecord) -> float | None:
    """Return how long the fit may run, over all attempts; None if that is not limited."""
    seconds: float | None = (fit.request.get("resources") or {}).get("timeout_seconds")
    return seconds


def expired(fit: FitRecord, seconds: float, now: datetime) -> Expired | None:
    """Say which limit the fit has come to, if any, having run for `seconds`."""
    limit = timeout_seconds(fit)
    if limit is not None and seconds >= limit:
        return Expired("timeout", TIMEOUT.format(limit=limit))
    if fit.deadline_at is not None and now >= fit.deadline_at:
        return Expired("deadline_exceeded", DEADLINE.format(moment=rfc3339(fit.deadline_at)))
    return None


def fail_overdue(work: UnitOfWork, notify: Callable[[str], None]) -> datetime | None:
    """Have the fits fail that wait for a worker or a client, and whose deadline is over; return the next deadline."""
    for fit in work.fits.overdue():
        verdict = expired(fit, fit.seconds, work.now)
        assert verdict is not None
        failed = work.fits.update(
            replace(
                fit.to(FitState.FAILED, phase=FitState.FAILED.value),
                error={"code": verdict.code, "detail": verdict.detail},
                finished_at=work.now,
            )
        )
        record_state(work, failed)
        work.after_commit(partial(notify, fit.id))
        close_variants(work, failed, notify)
    return work.fits.next_deadline()
