"""The servers of the database and their leader, within one unit of work. Only PostgreSQL has more than one server."""

from sqlalchemy import BigInteger, column, delete, func, insert, literal_column, select, table, type_coerce

from app.domain.errors import Superseded
from app.domain.servers import ServerRecord, ServerStatus, Term, application_name
from app.store.repository import Repository
from app.store.tables import leadership, servers

# The clock of the database: those of the servers need not agree.
NOW = literal_column("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint", BigInteger)
_AGE = (NOW - type_coerce(servers.c.heartbeat_at, BigInteger)).label("age")
_GUARD = select(leadership.c.epoch).with_for_update(read=True)

_CONNECTIONS = table("pg_stat_activity", column("pid"), column("application_name"))


class Servers(Repository):
    """The servers that have registered, and which of them runs fits."""

    def register(self, server: ServerRecord) -> None:
        """Add a server, with a heartbeat."""
        row = {"id": server.id, "url": server.url, "version": server.version, "terms": dict(server.terms)}
        self._connection.execute(insert(servers).values(**row, started_at=NOW, heartbeat_at=NOW))

    def terms(self) -> tuple[ServerRecord, ...]:
        """Return the servers that are alive, with their settings."""
        rows = self._connection.execute(select(servers.c.id, servers.c.url, servers.c.version, servers.c.terms))
        alive = {status.id for status in self.list() if status.is_alive}
        return tuple(ServerRecord(*row) for row in rows if row.id in alive)

    def list(self) -> tuple[ServerStatus, ...]:
        """Return all servers, the oldest first."""
        term = self.term()
        columns = (servers.c.id, servers.c.url, servers.c.version, _AGE)
        rows = self._connection.execute(select(*columns).order_by(servers.c.started_at, servers.c.id))
        return tuple(
            ServerStatus(row.id, row.url, row.version, row.age / 1e6, term is not None and term.server == row.id)
            for row in rows
        )

    def forget_gone(self, seconds: float) -> None:
        """Remove the servers whose last heartbeat is so long ago."""
        self._connection.execute(delete(servers).where(_AGE.element > int(seconds * 1e6)))

    def disconnect(self, server_id: str) -> None:
        """Close the connections of a server that is gone: what it has locked is free, and not changed by it later."""
        own = _CONNECTIONS.c.application_name == application_name(server_id)
        self._connection.execute(select(func.pg_terminate_backend(_CONNECTIONS.c.pid)).where(own))

    def term(self) -> Term | None:
        """Return the present term; None before the first."""
        row = self._connection.execute(select(leadership.c.epoch, leadership.c.server, leadership.c.since)).first()
        return None if row is None else Term(*row)

    def guard(self, epoch: int) -> None:
        """Superseded unless `epoch` is the newest; none newer begins before this unit of work has ended."""
        if self._connection.execute(_GUARD).scalar() != epoch:
            raise Superseded("another server runs the fits by now")
