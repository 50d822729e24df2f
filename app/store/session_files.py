"""The files of sessions in the database, in parts; large parts are blobs that the rows refer to."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass

from sqlalchemy import bindparam, delete, exists, insert, select

from app.domain.session import OPEN
from app.store.repository import Repository
from app.store.tables import session_files, sessions

_OF_SESSION = session_files.c.session_id == bindparam("session")
_LATEST = select(sessions.c.id).where(
    sessions.c.id == bindparam("session"), sessions.c.attempt == bindparam("attempt"), sessions.c.state.in_(OPEN)
)
_LOCK = _LATEST.with_for_update(read=True)
_HAS = select(exists().where(_OF_SESSION))
_PARTS = select(session_files).where(_OF_SESSION).order_by(session_files.c.name, session_files.c.start)
_NAMED = session_files.c.name.in_(bindparam("names", expanding=True))
_REMOVE = delete(session_files).where(_OF_SESSION, _NAMED).returning(session_files.c.digest)
_REMOVE_ALL = delete(session_files).where(_OF_SESSION).returning(session_files.c.digest)
_INSERT = insert(session_files)
_SESSIONS = select(session_files.c.session_id).distinct()


@dataclass(frozen=True, slots=True)
class FilePart:
    """What stands from byte `start` of a file on: the bytes themselves, or the `digest` of a blob that holds them."""

    name: str
    start: int
    data: bytes | None = None
    digest: str | None = None


class SessionFiles(Repository):
    """The files of all tenants' sessions, within one unit of work."""

    def is_latest(self, session_id: str, attempt: int) -> bool:
        """Whether an attempt is the latest one of its session, which is open."""
        found = self._connection.execute(_LATEST, {"session": session_id, "attempt": attempt})
        return found.first() is not None

    def lock(self, session_id: str, attempt: int) -> bool:
        """Whether an attempt is the latest one, as above; no later one begins until this unit of work ends."""
        found = self._connection.execute(_LOCK, {"session": session_id, "attempt": attempt})
        return found.first() is not None

    def has(self, session_id: str) -> bool:
        """Whether there are files of a session."""
        return bool(self._connection.execute(_HAS, {"session": session_id}).scalar_one())

    def sessions(self) -> frozenset[str]:
        """Return the sessions that there are files of."""
        return frozenset(self._connection.execute(_SESSIONS).scalars())

    def parts(self, session_id: str) -> Iterator[FilePart]:
        """Yield the parts of the files of a session, file by file, in their order."""
        for row in self._connection.execute(_PARTS, {"session": session_id}):
            yield FilePart(row.name, row.start, row.data, row.digest)

    def add(self, session_id: str, parts: Iterable[FilePart]) -> None:
        """Store parts. Blobs that they refer to must be durable by now."""
        self._connection.execute(_INSERT, [{"session_id": session_id, **asdict(part)} for part in parts])

    def remove(self, session_id: str, names: Collection[str] | None = None) -> frozenset[str]:
        """Remove the files of a session that have these names, or all; return the digests of the blobs they were in."""
        statement = _REMOVE_ALL if names is None else _REMOVE
        found = self._connection.execute(statement, {"session": session_id, "names": [*(names or ())]}).scalars()
        return frozenset(digest for digest in found if digest is not None)
