"""The answer that is kept for an Idempotency-Key."""

from dataclasses import dataclass
from datetime import datetime

from app.domain.tenancy import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """The first answer to `key` within `scope` (which route and caller it belongs to).

    `body_digest` is the SHA-256 of the request's body; `resource_id` the thing that the request made, if any.
    """

    scope: str
    key: str
    body_digest: str
    status: int
    response_body: str
    resource_id: str | None
    created_at: datetime
    tenant: str = DEFAULT_TENANT
