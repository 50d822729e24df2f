"""Sessions in the database, and the datasets that they take rows of."""

from collections.abc import Collection

from sqlalchemy import BigInteger, bindparam, func, select, type_coerce, update

from app.domain.session import OPEN, SessionRecord, SessionState
from app.store.expressions import insert_or_ignore
from app.store.lists import ALL, SESSIONS, Filters
from app.store.pages import Page, PageRequest, owned
from app.store.repository import VersionedResources, by_id, versioned_update
from app.store.rows import read_rows, row_reader
from app.store.tables import session_datasets, sessions, to_microseconds

MICROSECONDS = 1_000_000


_OPEN = select(sessions).where(sessions.c.state.in_(OPEN)).order_by(sessions.c.id)
_COUNT_OPEN = select(func.count()).select_from(sessions).where(sessions.c.state.in_(OPEN))
_COUNT_OWN_OPEN = _COUNT_OPEN.where(owned(sessions))
_WITH_FOLDERS = select(sessions.c.id).where(sessions.c.state.in_({*OPEN, SessionState.FAILED}))
_EXPIRES_AT = type_coerce(sessions.c.used_at, BigInteger) + sessions.c.ttl_seconds * MICROSECONDS
_EXPIRED = _OPEN.where(bindparam("now") >= _EXPIRES_AT)
_EXCUSE = update(sessions).where(sessions.c.state.in_(OPEN)).values(used_at=bindparam("now"))
_BEGUN = select(sessions.c.id).where(sessions.c.begun, sessions.c.state.in_(OPEN))
_BEGIN_ANEW = update(sessions).where(sessions.c.id == bindparam("session")).values(begun=False)
_USE = insert_or_ignore(session_datasets)
_DATASETS = (
    select(session_datasets.c.dataset_id)
    .where(session_datasets.c.session_id == bindparam("session"))
    .order_by(session_datasets.c.dataset_id)
)


class Sessions(VersionedResources[SessionRecord]):
    """The sessions of a tenant, or of all, within one unit of work."""

    _table = sessions
    _noun = "session"
    _record = SessionRecord
    _get = by_id(select(sessions), sessions)
    _lock = _get.with_for_update(key_share=True)
    _update = versioned_update(sessions)

    def list(self, page: PageRequest, filters: Filters = ALL) -> Page[SessionRecord]:
        """Return a page of the sessions that meet `filters`."""
        return SESSIONS.fetch(
            self._connection, select(sessions), self._tenant, page, filters, row_reader(SessionRecord)
        )

    def open(self) -> tuple[SessionRecord, ...]:
        """Return every session that can be continued, oldest first."""
        return read_rows(SessionRecord, self._connection.execute(_OPEN))

    def with_folders(self) -> frozenset[str]:
        """Return the sessions whose folders are kept: those that are open, and those that have failed."""
        return frozenset(self._connection.execute(_WITH_FOLDERS).scalars())

    def ids(self) -> frozenset[str]:
        """Return the ids of all sessions, also of those that have ended."""
        return frozenset(self._connection.execute(select(sessions.c.id)).scalars())

    def count_open(self) -> int:
        """Return how many sessions of all tenants can be gone on with."""
        return self._connection.execute(_COUNT_OPEN).scalar_one()

    def count_own_open(self) -> int:
        """Return how many of the tenant's sessions can be gone on with."""
        return self._connection.execute(_COUNT_OWN_OPEN, {"whose": self._tenant}).scalar_one()

    def expired(self) -> tuple[SessionRecord, ...]:
        """Return the open sessions that have not been used for longer than they may be idle, oldest first."""
        found = self._connection.execute(_EXPIRED, {"now": to_microseconds(self._now)})
        return read_rows(SessionRecord, found)

    def excuse(self) -> None:
        """Mark all open sessions as used now: while the server was stopped, they could not be."""
        self._connection.execute(_EXCUSE, {"now": self._now})

    def begin_anew(self, kept: Collection[str]) -> None:
        """Note that there are files of the sessions `kept` only: the others begin as new ones do."""
        begun = self._connection.execute(_BEGUN).scalars().all()
        for session_id in sorted(set(begun) - set(kept)):
            self._connection.execute(_BEGIN_ANEW, {"session": session_id})
            self._changed(session_id)

    def use(self, session_id: str, dataset_id: str) -> None:
        """Note that the session takes rows of the dataset, which is kept while the session is open."""
        self._connection.execute(_USE, {"session_id": session_id, "dataset_id": dataset_id})
        self._changed(session_id)

    def datasets(self, session_id: str) -> tuple[str, ...]:
        """Return the datasets that the session has taken rows of."""
        return tuple(self._connection.execute(_DATASETS, {"session": session_id}).scalars())
