"""Which of several servers on one database runs the process of a session."""

from dataclasses import replace
from typing import Protocol

from app.domain.errors import SessionElsewhere
from app.domain.servers import ServerStatus, SessionPlace
from app.domain.session import SessionRecord
from app.service.sessions.session_storage import SessionStorage
from app.store.unit_of_work import Store, UnitOfWork


class SessionOwnership(Protocol):
    """Decides which sessions this server runs. From any thread."""

    def free(self, store: Store, session_id: str) -> None:
        """Free what a server that is gone has locked of a session, before this one claims it."""
        ...

    def claim(self, work: UnitOfWork, session: SessionRecord) -> SessionRecord:
        """Return the session as this server's; SessionElsewhere if another one runs it, or its files are elsewhere."""
        ...

    def check(self, work: UnitOfWork, session: SessionRecord) -> None:
        """Raise SessionElsewhere if another server runs the session."""
        ...

    def ends(self, session: SessionRecord, servers: tuple[ServerStatus, ...]) -> bool:
        """Whether it is for this server, of these, to end the session when nobody has used it for too long."""
        ...


class SoleOwner:
    """The ownership of a server that has its database for itself."""

    def free(self, store: Store, session_id: str) -> None:
        """Do nothing."""

    def claim(self, work: UnitOfWork, session: SessionRecord) -> SessionRecord:  # noqa: ARG002 (there is no other)
        """Return the session."""
        return session

    def check(self, work: UnitOfWork, session: SessionRecord) -> None:
        """Do nothing."""

    def ends(self, session: SessionRecord, servers: tuple[ServerStatus, ...]) -> bool:  # noqa: ARG002 (likewise)
        """Return True."""
        return True


class SharedOwnership:
    """One server runs a session until it is gone; then another one may take it over, with the session's files."""

    def __init__(self, server_id: str, files: SessionStorage) -> None:
        """Decide for this server, which finds the files of sessions in `files`."""
        self._server_id = server_id
        self._files = files

    def free(self, store: Store, session_id: str) -> None:
        """Close the connections of the server that ran the session, if it is gone: it may hang in a change of it."""
        with store.read() as work:
            session = work.sessions.get(session_id)
            if session.server not in ("", self._server_id) and find_owner(session, work.servers.list()) is None:
                work.servers.disconnect(session.server)

    def claim(self, work: UnitOfWork, session: SessionRecord) -> SessionRecord:
        """Note this server with the session, unless the one that is noted is alive."""
        if session.server == self._server_id:
            return session
        self.check(work, session)
        if session.begun and not self._files.is_within_reach(work, session.id):
            raise SessionElsewhere(
                f"session {session.id} was run by server {session.server}, which is gone and has its files in a data "
                "directory of its own; start that server again"
            )
        return replace(session, server=self._server_id)

    def check(self, work: UnitOfWork, session: SessionRecord) -> None:
        """Raise SessionElsewhere if a server is noted with the session that is another one, and alive."""
        if session.server not in ("", self._server_id) and find_owner(session, work.servers.list()) is not None:
            raise SessionElsewhere(f"session {session.id} is run by server {session.server}; send the request again")

    def ends(self, session: SessionRecord, servers: tuple[ServerStatus, ...]) -> bool:
        """Whether this server runs it, or none does and this one leads."""
        if session.server == self._server_id:
            return True
        leads = any(server.leads and server.id == self._server_id for server in servers)
        return leads and find_owner(session, servers) is None


def find_owner(session: SessionRecord, servers: tuple[ServerStatus, ...]) -> ServerStatus | None:
    """Return the server that runs a session, None if there is none that is alive."""
    return next((server for server in servers if server.id == session.server and server.is_alive), None)


def find_place(store: Store, server_id: str, session_id: str) -> SessionPlace:
    """Return which server runs a session, as the server of this id sees it. NotFound."""
    with store.read() as work:
        session = work.sessions.get(session_id)
        if session.server == server_id:
            return SessionPlace(None, is_settled=True)
        peer = find_owner(session, work.servers.list()) if session.server else None
        return SessionPlace(peer, is_settled=peer is not None)


SOLE_OWNER = SoleOwner()
