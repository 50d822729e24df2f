"""What a server asks of fits, and gives them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import engine
from app.domain.clock import read_rfc3339
from app.domain.errors import Finding, QueueFull
from app.domain.fit import FitState
from app.service.resources.definitions import GRAPH_LIMITS
from app.service.resources.engine_faults import invalid
from app.store.unit_of_work import UnitOfWork

PRIORITIES: Mapping[str, int] = {"low": -1, "normal": 0, "high": 1}
LABELS_MAX = 64


@dataclass(frozen=True, slots=True)
class FitTerms:
    """Limits on fits: how many may wait, how many processes each may lose, and how large a graph of its own may be; and
    the label by which they share the workers.
    """

    max_queue: int
    attempts_max: int
    fair_share_label: str
    graph: engine.GraphLimits = GRAPH_LIMITS
    max_queue_per_tenant: int | None = None

    def check_queue(self, work: UnitOfWork) -> None:
        """QueueFull if as many fits wait as may, of all tenants or of this one."""
        if work.fits.count([FitState.QUEUED]) >= self.max_queue:
            raise QueueFull(f"{self.max_queue} fits are waiting, which is as many as this server takes")
        most = self.max_queue_per_tenant
        if most is not None and work.fits.count_own([FitState.QUEUED]) >= most:
            raise QueueFull(f"{most} of your fits are waiting, which is as many as this server takes of one tenant")

    def share(self, labels: Mapping[str, str]) -> str:
        """Return whose turn it is when it is the turn of a fit with these labels."""
        return labels.get(self.fair_share_label, "")


def priority_of(request: Mapping[str, Any]) -> int:
    """Return the priority that a fit request asks for; a higher one is claimed first."""
    return PRIORITIES[_resources(request).get("priority") or "normal"]


def deadline_of(request: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return when the fit is to have ended, if the request says so; Invalid if that has passed."""
    text = _resources(request).get("deadline")
    deadline = None if text is None else read_rfc3339(text)
    if deadline is not None and deadline <= now:
        detail = "the deadline has passed; give a later one, or null for none"
        raise invalid([Finding("/resources/deadline", "out_of_range", detail)])
    return deadline


def _resources(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return request.get("resources") or {}
