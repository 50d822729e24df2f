"""A checkpoint as the service keeps it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.domain.computed import COMPUTED
from app.domain.tenancy import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """A safetensors file with everything a fit or a session needs to go on, or that a client uploaded.

    `fit_id` is None unless a fit wrote it, `session_id` unless a session saved it, with its step `session_seq`.

    `digest` is the file's SHA-256. A `deleted` checkpoint stays on record; its content is gone. One that is `pinned`
    is kept whatever newer ones come. `corrupt` tells that the file was found to be missing or not what its digest says.
    """

    id: str
    fit_id: str | None
    graph_id: str
    step: int
    epoch: int
    digest: str
    size_bytes: int
    metrics: dict[str, Any]
    created_at: datetime
    is_best: bool
    deleted: bool
    pinned: bool = False
    session_id: str | None = None
    session_seq: int | None = None
    tenant: str = DEFAULT_TENANT
    corrupt: bool = field(default=False, metadata=COMPUTED)
