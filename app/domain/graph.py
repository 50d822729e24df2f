"""A graph as the service keeps it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.tenancy import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph definition in its canonical form, and what the engine reported about it.

    `digest` is the engine's digest of the definition: equal digests mean equal graphs.
    """

    id: str
    name: str
    digest: str
    definition: dict[str, Any]
    report: dict[str, Any]
    created_at: datetime
    tenant: str = DEFAULT_TENANT
