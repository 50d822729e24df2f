"""First responses, stored by Idempotency-Key in the transaction that created the resource."""

from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from app.domain.access import DEFAULT_TENANT
from app.domain.records import IdempotencyRecord
from app.store.repository import Repository
from app.store.rows import read_optional
from app.store.tables import idempotency_keys, values_of

_FIND = select(idempotency_keys).where(
    idempotency_keys.c.tenant == bindparam("whose"),
    idempotency_keys.c.scope == bindparam("wanted_scope"),
    idempotency_keys.c.key == bindparam("wanted_key"),
)


class Idempotency(Repository):
    """The kept answers of a tenant, within one unit of work; what the server itself adds is the default tenant's."""

    def find(self, key: str, scope: str) -> IdempotencyRecord | None:
        """Return the answer kept for `key` within `scope`, None for a new key."""
        row = self._connection.execute(
            _FIND, {"whose": self._tenant or DEFAULT_TENANT, "wanted_key": key, "wanted_scope": scope}
        ).first()
        return read_optional(IdempotencyRecord, row)

    def add(
        self,
        key: str,
        scope: str,
        *,
        body_digest: str,
        status: int,
        response_body: str,
        resource_id: str | None = None,
    ) -> IdempotencyRecord:
        """Keep the first answer to a new key."""
        record = IdempotencyRecord(
            scope, key, body_digest, status, response_body, resource_id, self._now, self._tenant or DEFAULT_TENANT
        )
        self._connection.execute(insert(idempotency_keys), values_of(record))
        return record

    def forget(self, before: datetime) -> int:
        """Delete the responses of all tenants stored before that moment; return how many."""
        return self._connection.execute(delete(idempotency_keys).where(idempotency_keys.c.created_at < before)).rowcount
