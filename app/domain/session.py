"""A session: a model in training whose steps a client takes, and the states it may be in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from app.domain.access import DEFAULT_TENANT

SessionKind = Literal["training", "static"]
"""`training` has the verbs of PyTorch's loop, `static` those of ggml's low-level flow."""


class SessionState(StrEnum):
    """Where a session is in its life. Whether a process works for it now is another matter: an idle one has none."""

    ACTIVE = "active"
    PAUSED = "paused"
    CLOSED = "closed"
    EXPIRED = "expired"
    FAILED = "failed"


OPEN = frozenset({SessionState.ACTIVE, SessionState.PAUSED})
"""The states of a session that can be continued; what it holds is kept on the disk."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: what was asked (`request`), and how it ended.

    `attempt` counts the processes started for it; `runtime` is what the last one ran with (see `app.domain.runtime`);
    `ttl_seconds` how long it may be idle; `used_at` when it was last used, to about a minute; `checkpoint_id` the
    checkpoint that was saved when it expired; `bit_exact` is False once it has gone on under other numerics; `version`
    grows by one with every update; `memory_bytes` is what its process takes before any step (None: the session is from
    before that was kept); `begun`: whether a process had it on the disk, so that its files must be there; `name`
    is what its client calls it, which may be nothing; `server` is the one of several servers that runs its process,
    empty before the first.
    """

    id: str
    kind: SessionKind
    state: SessionState
    graph_id: str
    request: dict[str, Any]
    labels: dict[str, str]
    attempt: int
    ttl_seconds: float
    created_at: datetime
    used_at: datetime
    finished_at: datetime | None = None
    runtime: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    checkpoint_id: str | None = None
    bit_exact: bool = True
    version: int = 1
    memory_bytes: int | None = None
    tenant: str = DEFAULT_TENANT
    begun: bool = False
    name: str = ""
    server: str = ""
