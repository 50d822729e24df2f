"""The database of several simulated servers: one SQLite file, each server's way to it, and advisory locks.

The statements of the election that SQLite does not have are answered here as PostgreSQL does.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Connection

from app.domain.errors import DatabaseUnavailable
from app.domain.servers import application_name
from app.store.database import Database
from app.store.dialect import SqliteDialect
from app.store.postgres import election

START = datetime(2026, 1, 1, tzinfo=UTC)


class TrueTime:
    """The time that passes, of which each server has its own idea."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    @property
    def micros(self) -> int:
        """The clock of the database."""
        return round((START.timestamp() + self.elapsed) * 1e6)


class SharedClock(SqliteDialect):
    """SQLite's dialect, with one clock for all servers, as PostgreSQL has it."""

    def __init__(self, time: TrueTime) -> None:
        self._time = time

    def clock(self, _connection: Connection, _now: datetime) -> datetime:
        """Return the true time."""
        return START + timedelta(seconds=self._time.elapsed)


class Link:
    """The way of one server to the database, which can be cut. Implements `StoreDatabase`."""

    is_shared = True

    def __init__(self, database: Database, time: TrueTime, before: Callable[[], object]) -> None:
        """Call `before` ahead of each transaction that writes: a server may be held up there for any time."""
        self._database = database
        self._before = before
        self.is_cut = False
        self.dialect = SharedClock(time)

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Connection]:
        """Open a transaction; DatabaseUnavailable while the link is cut."""
        if not read_only:
            self._before()
        if self.is_cut:
            raise DatabaseUnavailable("the link is cut")
        with self._database.transaction(read_only=read_only) as connection:
            yield connection

    def copy(self, path: Path) -> None:
        """Copy the database."""
        self._database.copy(path)

    def announce(self, changed: Collection[str]) -> None:
        """Do nothing: every notification is missed, which costs latency only."""

    def listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        """Do nothing."""

    def give_up(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the database is that of all."""


class Answer:
    """What a statement has returned."""

    def __init__(self, *row: Any) -> None:
        self._row = row or None

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the row, if there is one."""
        return self._row


class Elections:
    """What PostgreSQL has for the election: heartbeats, the table of the leader, and the lock."""

    def __init__(self, database: Database, time: TrueTime) -> None:
        self.database = database
        self.time = time
        self.heartbeats: dict[str, int] = {}
        self.lock: ElectionConnection | None = None
        self.connections: list[ElectionConnection] = []
        self.leader = (0, "")
        """The newest epoch, and the server that leads in it, as they are in the table."""

    def connect(self, server_id: str, link: Link) -> "ElectionConnection":
        """Connect a server; OperationalError while its link is cut."""
        if link.is_cut:
            raise psycopg.OperationalError("the link is cut")
        made = ElectionConnection(self, server_id, link)
        self.connections.append(made)
        return made

    def end(self, server_id: str) -> None:
        """End the connections of a server, with the lock that one may have."""
        for each in [each for each in self.connections if each.server_id == server_id]:
            each.close()


class ElectionConnection:
    """A connection of one server's election."""

    def __init__(self, elections: Elections, server_id: str, link: Link) -> None:
        self.server_id = server_id
        self._elections = elections
        self._link = link
        self._is_open = True

    def close(self) -> None:
        """End the session; its lock is free."""
        self._is_open = False
        if self in self._elections.connections:
            self._elections.connections.remove(self)
        if self._elections.lock is self:
            self._elections.lock = None

    def execute(self, statement: str, values: Any = ()) -> Answer:
        """Do what PostgreSQL does with a statement of the election."""
        if not self._is_open or self._link.is_cut:
            raise psycopg.OperationalError("the connection is lost")
        if statement == election._BEAT:
            return self._beat(values[1])
        if statement == election._REGISTER:
            self._elections.heartbeats[values[0]] = self._elections.time.micros
            return Answer()
        if statement == election._DISCONNECT:
            for each in [*self._elections.connections]:
                if application_name(each.server_id) == values[0] and each is not self:
                    each.close()
            return Answer()
        if statement == election._BEGIN_EPOCH:
            return self._begin_epoch(values)
        if "pg_try_advisory_lock" in statement:
            self._elections.lock = self._elections.lock or self
            return Answer(self._elections.lock is self)
        if "pg_advisory_unlock" in statement:
            self._elections.lock = None
            return Answer(True)
        raise AssertionError(f"the election has a statement that is unknown here: {statement}")

    def _beat(self, server_id: str) -> Answer:
        elections = self._elections
        known = server_id in elections.heartbeats
        if known:
            elections.heartbeats[server_id] = elections.time.micros
        epoch, leader = elections.leader
        return Answer(int(known), epoch, leader, elections.heartbeats.get(leader))

    def _begin_epoch(self, values: Mapping[str, Any]) -> Answer:
        statement = election._BEGIN_EPOCH.replace(election._NOW, str(self._elections.time.micros))
        statement = statement.replace("%(epoch)s", ":epoch").replace("%(server)s", ":server")
        with self._elections.database.transaction() as connection:
            row = connection.exec_driver_sql(statement, dict(values)).first()
        if row is None:
            return Answer()
        self._elections.leader = row[0], values["server"]
        return Answer(*row)
