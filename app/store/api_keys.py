"""Keys of the interface in the database, without their secrets."""

from datetime import datetime

from sqlalchemy import bindparam, delete, func, insert, select, update

from app.domain.access import ApiKeyRecord
from app.store.pages import Page, PageRequest, fetch_page
from app.store.repository import Repository
from app.store.rows import existing, read_row, read_rows, row_reader
from app.store.tables import api_keys, values_of

_GET = select(api_keys).where(api_keys.c.id == bindparam("wanted"))
_NOT_REVOKED = select(api_keys).where(api_keys.c.revoked_at.is_(None)).order_by(api_keys.c.id)
_COUNT = select(func.count()).select_from(api_keys)
_CHANGE = update(api_keys).where(api_keys.c.id == bindparam("wanted"))
_REVOKE = _CHANGE.where(api_keys.c.revoked_at.is_(None)).values(revoked_at=bindparam("moment"))
_USE = _CHANGE.values(used_at=bindparam("moment"))


class ApiKeys(Repository):
    """The keys, within one unit of work."""

    def add(self, key: ApiKeyRecord) -> None:
        """Store a new key."""
        self._connection.execute(insert(api_keys), values_of(key))

    def get(self, key_id: str) -> ApiKeyRecord:
        """Return the key; NotFound if there is none."""
        row = self._connection.execute(_GET, {"wanted": key_id}).first()
        return read_row(ApiKeyRecord, existing(row, "key", key_id))

    def list(self, page: PageRequest) -> Page[ApiKeyRecord]:
        """Return a page of keys, those that were revoked too."""
        return fetch_page(self._connection, select(api_keys), api_keys.c.id, page, row_reader(ApiKeyRecord))

    def not_revoked(self) -> tuple[ApiKeyRecord, ...]:
        """Return the keys that were not revoked, oldest first; some may have expired."""
        return read_rows(ApiKeyRecord, self._connection.execute(_NOT_REVOKED))

    def count(self) -> int:
        """Return how many keys were ever made, since they were cleared."""
        return self._connection.execute(_COUNT).scalar_one()

    def revoke(self, key_id: str, moment: datetime) -> None:
        """Let the key end at `moment`, unless it has been revoked before."""
        self._connection.execute(_REVOKE, {"wanted": key_id, "moment": moment})

    def clear(self) -> None:
        """Delete all keys, as if none had ever been made."""
        self._connection.execute(delete(api_keys))

    def use(self, key_id: str, moment: datetime) -> None:
        """Note when the key was last used."""
        self._connection.execute(_USE, {"wanted": key_id, "moment": moment})
