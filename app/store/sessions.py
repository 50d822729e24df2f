"""Sessions in the database, and the datasets that they take rows of."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from sqlalchemy import BigInteger, Connection, bindparam, func, insert, select, type_coerce, update

from app.domain.errors import Conflict
from app.domain.session import OPEN, SessionRecord, SessionState
from app.store.expressions import insert_or_ignore
from app.store.lists import ALL, SESSIONS, Filters
from app.store.pages import Page, PageRequest, assign_tenant, owned
from app.store.rows import existing, read_row, read_rows, row_reader
from app.store.tables import session_datasets, sessions, to_microseconds, values_of

MICROSECONDS = 1_000_000

FIXED = ("id", "tenant")

_GET = select(sessions).where(sessions.c.id == bindparam("session"), owned(sessions))
_LOCK = _GET.with_for_update(key_share=True)
_UPDATE = (
    update(sessions)
    .where(sessions.c.id == bindparam("expected_id"), sessions.c.version == bindparam("expected_version"))
    .values({column: bindparam(column.name) for column in sessions.c if column.name not in FIXED})
)
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


class Sessions:
    """The sessions of a tenant, or of all, within one unit of work.

    `now` is the time it began, `changed` is called with each that is changed.
    """

    def __init__(
        self,
        connection: Connection,
        tenant: str | None,
        now: datetime,
        changed: Callable[[str], None],
        *,
        for_update: bool = False,
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._now = now
        self._changed = changed
        self._get = _LOCK if for_update else _GET

    def add(self, session: SessionRecord) -> None:
        """Store a new session."""
        self._connection.execute(insert(sessions), values_of(assign_tenant(self._tenant, session)))

    def get(self, session_id: str) -> SessionRecord:
        """Return the session; NotFound if there is none."""
        row = self._connection.execute(self._get, {"session": session_id, "whose": self._tenant}).first()
        return read_row(SessionRecord, existing(row, "session", session_id))

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

    def update(self, session: SessionRecord) -> SessionRecord:
        """Store the changed session and return it with its new version.

        Conflict (`stale_version`) if it was changed since `session` was read if there is none.
        """
        stored = replace(session, version=session.version + 1)
        values = {**values_of(stored), "expected_id": session.id, "expected_version": session.version}
        for name in FIXED:
            values.pop(name)
        if self._connection.execute(_UPDATE, values).rowcount == 0:
            present = self.get(session.id).version
            raise Conflict(
                f"session {session.id} has been changed: it is at version {present}, not {session.version}; read "
                "it again",
                code="stale_version",
            )
        self._changed(session.id)
        return stored

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
