"""A PostgreSQL database: pooled connections, transactions beside one another, and commits whose outcome is known.

Units of work that write run at READ COMMITTED and lock the rows that they read by id, so that nothing they decide on
changes under them; those that only read see one snapshot. A commit whose answer is lost with the connection is looked
up by its transaction id, so that it is neither acknowledged nor repeated by mistake; after a crash of PostgreSQL, which
may give the id to another transaction, it counts as unknown.
"""

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.engine.base import Transaction
from sqlalchemy.exc import ArgumentError, DBAPIError

from app.domain.errors import DatabaseUnavailable, DatabaseUnusable
from app.domain.servers import application_name
from app.store.copying import copy_to_file
from app.store.postgres.changes import Changes
from app.store.postgres.dialect import PostgresDialect
from app.store.postgres.faults import database_faults, is_lost, reason_of
from app.store.postgres.schema import bring_up_to_date, has_schema

CONNECT_SECONDS = 5
CONNECT_AGAIN_SECONDS = 2.0
"""How long a transaction that has not begun yet waits for a database that restarts."""

POOL_SECONDS = 5.0
_PARAMETERS = {
    "application_name": "adjoint",
    "connect_timeout": str(CONNECT_SECONDS),
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "5000",
    "options": "-c statement_timeout=30000 -c lock_timeout=10000 -c idle_in_transaction_session_timeout=60000",
}

_BEGIN = b"BEGIN"
_BEGIN_READING = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_ERA = "SELECT stats_reset::text FROM pg_stat_bgwriter"
"""Changes with a crash of PostgreSQL, and with a failover. Ids of transactions of which nothing was written by then are
given once more."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """How to reach a database.

    Attributes:
        url: as `postgresql+psycopg://user:password@host:port/database?sslmode=...`; never shown.
        connections: the most connections for units of work.
        migrate: whether missing migrations are run when it is opened.
        server: the id of one of several servers that share the database; None for a server that has it for itself.
    """

    url: str = field(repr=False)
    connections: int = 20
    migrate: bool = True
    server: str | None = None

    @property
    def address(self) -> URL:
        """The URL with the defaults of the parameters that it leaves out; DatabaseUnusable if it is none."""
        try:
            url = make_url(self.url)
        except (ArgumentError, ValueError):
            url = None
        # What follows a second @ belongs to the password, and what stands before it must not be taken for the host.
        if url is None or "@" in (url.host or ""):
            raise DatabaseUnusable(
                "ADJOINT_DATABASE_URL is no URL; write it as postgresql+psycopg://user:password@host:5432/database, "
                "with %-escapes in the password (%40 for @)"
            )
        missing = {name: value for name, value in _PARAMETERS.items() if name not in url.query}
        if self.server is not None:
            missing["application_name"] = application_name(self.server)
        return url.set(drivername="postgresql+psycopg").update_query_dict(missing)

    @property
    def name(self) -> str:
        """The address for messages, without the password or the parameters."""
        url = self.address
        host = url.host or url.query.get("host") or "the local socket"
        return f"PostgreSQL at {host}{f':{url.port}' if url.port else ''}, database {url.database or url.username!r}"


class PostgresDatabase:
    """An open database at the newest schema."""

    dialect = PostgresDialect()

    def __init__(self, engine: Engine, *, shared: bool = False) -> None:
        self.engine = engine
        self.is_shared = shared
        self._thread = threading.local()
        self._closing = threading.Event()
        self._is_away = False
        self._changes = Changes(engine, shared=shared)

    @classmethod
    def open(cls, options: PostgresOptions) -> Self:
        """Connect, and bring the schema up to date; DatabaseUnusable if that cannot be."""
        engine = connect(options)
        try:
            with _named_at_start(options):
                bring_up_to_date(engine, allowed=options.migrate)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, shared=options.server is not None)

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Connection]:
        """Commit what the block does, or nothing if it raises or the commit fails; see `database_faults`."""
        if getattr(self._thread, "in_use", False):
            raise RuntimeError("this thread has a unit of work already; pass it on, two cannot commit apart")
        self._thread.in_use = True
        try:
            with database_faults(), self._begun(read_only) as connection:
                transaction = connection.get_transaction()
                assert transaction is not None
                try:
                    yield connection
                except BaseException:
                    transaction.rollback()
                    raise
                if read_only:
                    transaction.rollback()
                else:
                    self._commit(connection, transaction)
        finally:
            self._thread.in_use = False

    def _begun(self, read_only: bool) -> Connection:
        """Return a connection with a transaction; where there is none to be had, try for CONNECT_AGAIN_SECONDS.

        Once that failed, try once only until PostgreSQL is reachable again, so that other requests are not delayed.
        """
        give_up_at = time.monotonic() + (0.0 if self._is_away else CONNECT_AGAIN_SECONDS)
        while True:
            try:
                connection = self.engine.connect()
                if self._begin(connection, _BEGIN_READING if read_only else _BEGIN):
                    self._is_away = False
                    return connection
            except DBAPIError as error:
                if not is_lost(error) or self._closing.is_set():
                    raise
                if time.monotonic() > give_up_at:
                    self._is_away = True
                    raise
                self._pause()

    def _begin(self, connection: Connection, statement: bytes) -> bool:
        """Begin a transaction at once, not with its first statement; False if the pool's connection was lost."""
        # In libpq's words: so it takes no more time than to begin with the first statement, and nothing is done yet.
        connection.begin()
        driver: Any = connection.connection.driver_connection
        try:
            if driver.pgconn.exec_(statement).status == psycopg.pq.ExecStatus.COMMAND_OK:
                return True
        except psycopg.OperationalError:
            pass
        connection.invalidate()
        connection.close()
        return False

    def _commit(self, connection: Connection, transaction: Transaction) -> None:
        # NULL where nothing was written.
        xid = connection.exec_driver_sql("SELECT pg_current_xact_id_if_assigned()::text").scalar()
        era = self._era(connection)
        try:
            transaction.commit()
        except DBAPIError as error:
            if xid is None or not is_lost(error) or not self._has_committed(xid, era):
                raise

    def _era(self, connection: Connection) -> str:
        """Return the present _ERA, which is that of the connection for as long as it lasts."""
        if _ERA not in connection.info:
            connection.info[_ERA] = connection.exec_driver_sql(_ERA).scalar_one()
        era: str = connection.info[_ERA]
        return era

    def _has_committed(self, xid: str, era: str) -> bool:
        """Ask PostgreSQL what became of a transaction of an era, until it can answer.

        DatabaseUnavailable where this is closed before that, or PostgreSQL has crashed: what comes next finds out from
        the tables.
        """
        _logger.warning("the connection was lost during a commit; asking what became of it")
        while not self._closing.is_set():
            try:
                with self.engine.connect() as connection, connection.begin():
                    if self._era(connection) != era:
                        raise DatabaseUnavailable(
                            "PostgreSQL has crashed; it is not known whether the change was stored; look it up"
                        )
                    status = connection.exec_driver_sql("SELECT pg_xact_status(%s::xid8)", (xid,)).scalar()
            except DBAPIError as error:
                if not is_lost(error):
                    raise
            else:
                if status != "in progress":
                    return bool(status == "committed")
            self._pause()
        raise DatabaseUnavailable("the server stops before it is known whether the change was stored; look it up")

    def _pause(self) -> None:
        self._closing.wait(random.uniform(0.05, 0.25))  # noqa: S311 (so that not all come back at once)

    def copy(self, path: Path) -> None:
        """Make `path` an SQLite database with all rows as they are at one moment while this lasts."""
        with self.transaction(read_only=True) as connection:
            copy_to_file(connection, path)

    def occupy(self) -> None:
        """Keep other servers out for as long as this is open, but for those it is shared with; DatabaseUnusable while
        one is there.
        """
        with database_faults():
            self._changes.occupy()

    def announce(self, changed: Collection[str]) -> None:
        """Notify other servers of changes that are committed, soon."""
        self._changes.announce(changed)

    def listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        """Hear of what others announce, in a thread."""
        self._changes.listen(on_change, on_gap)

    def give_up(self) -> None:
        """Wait for the database no longer: the server stops."""
        self._closing.set()

    def close(self) -> None:
        """Close all connections."""
        self._closing.set()
        self._changes.close()
        self.engine.dispose()


def connect(options: PostgresOptions) -> Engine:
    """Return an engine that has no connection yet."""
    return create_engine(
        options.address,
        pool_size=options.connections,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        pool_use_lifo=True,  # so that those that are not needed grow old, and are closed by who is in between
    )


def is_empty(options: PostgresOptions) -> bool:
    """Whether no server has made its tables in the database yet; DatabaseUnusable if it cannot be reached."""
    engine = connect(options)
    try:
        with _named_at_start(options):
            return not has_schema(engine)
    finally:
        engine.dispose()


@contextmanager
def _named_at_start(options: PostgresOptions) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise DatabaseUnusable(f"{options.name} cannot be used: {reason_of(error.orig)}; {_advice(error)}") from None


_ADVICE = (
    (
        re.compile(r"^28|authentication failed|role .* does not exist"),
        "check the user and the password in ADJOINT_DATABASE_URL",
    ),
    (
        re.compile(r"^3D000|database .* does not exist"),
        "create the database, or name another one in ADJOINT_DATABASE_URL",
    ),
    (
        re.compile(r"^42501"),
        "grant its user the rights on all tables, or name the user who owns them in ADJOINT_DATABASE_URL",
    ),
    (re.compile(r"^53300|too many (connections|clients)"), "close other connections, or raise the limit"),
    (re.compile(r"SSL|certificate|sslmode|connection option"), "correct the parameters of ADJOINT_DATABASE_URL"),
)
"""Advice by what PostgreSQL says: its code, which failed connections do not have, and its text."""


def _advice(error: Any) -> str:
    said = f"{getattr(error.orig, 'sqlstate', None) or ''} {error.orig}"
    found = (advice for pattern, advice in _ADVICE if pattern.search(said))
    return next(found, "start it, or correct ADJOINT_DATABASE_URL")
