"""Limits of fits: queue length, priority, run time and deadline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import engine
from app.domain.clock import read_rfc3339, rfc3339
from app.domain.errors import Finding, QueueFull
from app.domain.fit import FitRecord, FitState
from app.domain.messages import Expired
from app.service.fits.event_log import record_state
from app.service.fits.sweeps import close_variants
from app.service.resources.engine_documents import GRAPH_LIMITS, invalid
from app.store.unit_of_work import UnitOfWork

PRIORITIES: Mapping[str, int] = {"low": -1, "normal": 0, "high": 1}
LABELS_MAX = 64

SUBMITTED_AT_ONCE = 128
"""More submissions than are ever concurrent between counting the queue and adding to it."""


@dataclass(frozen=True, slots=True)
class FitLimits:
    """Limits on fits: queue length, attempts that may be lost, size of inline graphs; and the label of fair sharing."""

    max_queue: int
    attempts_max: int
    fair_share_label: str
    graph: engine.GraphLimits = GRAPH_LIMITS
    max_queue_per_tenant: int | None = None

    def check_queue(self, work: UnitOfWork) -> None:
        """Raise QueueFull if the queue of all tenants, or of this one, has reached its limit."""
        most = self.max_queue_per_tenant
        queued = work.fits.count([FitState.QUEUED])
        if queued + SUBMITTED_AT_ONCE > min(self.max_queue, most or self.max_queue):
            work.lock("queue")  # near the limit, submissions are serialized
            queued = work.fits.count([FitState.QUEUED])
        if queued >= self.max_queue:
            raise QueueFull(f"queue limit reached: {self.max_queue} fits are queued (ADJOINT_MAX_QUEUE)")
        if most is not None and work.fits.count_own([FitState.QUEUED]) >= most:
            raise QueueFull(f"queue limit reached: your tenant has {most} queued fits (ADJOINT_TENANT_QUEUE)")

    def share(self, labels: Mapping[str, str]) -> str:
        """Return the fair-share group of a fit with these labels."""
        return labels.get(self.fair_share_label, "")


def read_priority(request: Mapping[str, Any]) -> int:
    """Return the priority of a fit request; higher ones are claimed first."""
    return PRIORITIES[_resources(request).get("priority") or "normal"]


def read_deadline(request: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return the deadline of the request, if any; raise Invalid if it has passed."""
    text = _resources(request).get("deadline")
    deadline = None if text is None else read_rfc3339(text)
    if deadline is not None and deadline <= now:
        detail = "the deadline has passed; give a later one, or null for none"
        raise invalid([Finding("/resources/deadline", "out_of_range", detail)])
    return deadline


def _resources(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return request.get("resources") or {}


TIMEOUT = (
    "the fit has run for {limit:g} seconds, all that resources.timeout_seconds lets it; its last checkpoint is kept: "
    "raise the limit and resume it"
)
DEADLINE = (
    "the fit was not done by {moment}, its resources.deadline; what checkpoints it has are kept: set a later one and "
    "resume it"
)


def timeout_seconds(fit: FitRecord) -> float | None:
    """Return the maximum run time of the fit over all attempts, None without a limit."""
    seconds: float | None = (fit.request.get("resources") or {}).get("timeout_seconds")
    return seconds


def check_expired(fit: FitRecord, seconds: float, now: datetime) -> Expired | None:
    """Return the limit that a fit has reached after running for `seconds`, if any."""
    limit = timeout_seconds(fit)
    if limit is not None and seconds >= limit:
        return Expired("timeout", TIMEOUT.format(limit=limit))
    if fit.deadline_at is not None and now >= fit.deadline_at:
        return Expired("deadline_exceeded", DEADLINE.format(moment=rfc3339(fit.deadline_at)))
    return None


def fail_overdue(work: UnitOfWork, notify: Callable[[str], None]) -> datetime | None:
    """Fail the fits that wait for a worker or a client beyond their deadline; return the next deadline."""
    for fit in work.fits.overdue():
        verdict = check_expired(fit, fit.seconds, work.now)
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
