"""The heartbeat of a server, and the election of the one that runs fits.

The leader holds an advisory lock on this connection, and its epoch stands in the table `leadership`: each transaction
that it writes for processes checks that the epoch is the newest (`Servers.guard`). A leader whose heartbeat stays away
for LEASE_SECONDS loses its connections to another server, which takes the lock and begins a new epoch. How long that
is, each server measures itself, while it is connected: no two clocks are compared, and a restart of PostgreSQL, which
interrupts all heartbeats, changes no leader.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import psycopg
from psycopg.types.json import Json
from sqlalchemy import Engine

from app.domain.errors import DatabaseUnavailable, DatabaseUnusable, Superseded
from app.domain.servers import ServerRecord, application_name
from app.store.postgres.faults import reason_of
from app.store.unit_of_work import UnitOfWork

LEADING = 0x41444A03
"""The advisory lock of the server that runs fits."""

JOINING = 0x41444A04
"""The advisory lock of a server that joins the others."""

JOIN_SECONDS = 60
BEAT_SECONDS = 0.5
LEASE_SECONDS = 3.0
"""How long the heartbeat of a leader may stay away before another server takes over."""

LOCK_TRIES = 20
LOCK_SECONDS = 0.05

_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_BEAT = f"""
WITH beat AS (UPDATE servers SET heartbeat_at = {_NOW}, url = %s WHERE id = %s RETURNING 1)
SELECT (SELECT count(*) FROM beat), coalesce(l.epoch, 0), coalesce(l.server, ''), s.heartbeat_at
FROM (SELECT) AS one LEFT JOIN leadership l ON true LEFT JOIN servers s ON s.id = l.server
"""  # noqa: S608 (constants)
_REGISTER = f"""
INSERT INTO servers (id, url, version, terms, started_at, heartbeat_at)
VALUES (%s, %s, %s, %s::json::text, {_NOW}, {_NOW}) ON CONFLICT DO NOTHING
"""  # noqa: S608 (constants)
_DISCONNECT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid()
"""
_BEGIN_EPOCH = f"""
INSERT INTO leadership (id, epoch, server, since) VALUES (1, %(epoch)s + 1, %(server)s, {_NOW})
ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, server = excluded.server, since = excluded.since
WHERE leadership.epoch = %(epoch)s RETURNING epoch
"""  # noqa: S608 (constants)
_RESIGN = "UPDATE leadership SET server = '' WHERE server = %s"
_LEAVE = "DELETE FROM servers WHERE id = %s"

_logger = logging.getLogger(__name__)


class _Beat(NamedTuple):
    """What a heartbeat has found: whether the server is on record, the newest epoch, and its leader's heartbeat."""

    known: int
    epoch: int
    leader: str
    heartbeat: int | None


class Election:
    """A server's heartbeat, and its candidacy if it `runs_fits`. Implements `Leadership`."""

    def __init__(self, engine: Engine, server: ServerRecord, *, runs_fits: bool) -> None:
        self._engine = engine
        self._server = server
        self._runs_fits = runs_fits
        self._is_standing = False
        self._epoch: int | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self._seen: tuple[_Beat, float] | None = None
        self._is_interrupted = False
        self._on_change: Callable[[], object] = lambda: None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    @property
    def server_id(self) -> str:
        """The id of this server."""
        return self._server.id

    @property
    def epoch(self) -> int | None:
        """The epoch in which this server runs fits; None while another one does."""
        return self._epoch

    def guard(self, work: UnitOfWork) -> None:
        """Superseded unless this server runs the fits when the unit of work is committed."""
        epoch = self._epoch
        if epoch is None:
            raise Superseded("another server runs the fits")
        work.servers.guard(epoch)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have no other server join or leave this block at the same time; DatabaseUnusable if one takes too long."""
        try:
            connection = self._connect()
        except psycopg.Error as error:
            raise DatabaseUnavailable("the connection to the database is lost; start the server again") from error
        with connection:
            try:
                connection.execute(f"SET lock_timeout = {JOIN_SECONDS * 1000}; SET statement_timeout = 0")
                connection.execute("SELECT pg_advisory_lock(%s)", (JOINING,))
            except psycopg.Error as error:
                raise DatabaseUnusable(
                    f"another server has been starting for {JOIN_SECONDS} s; start this one again when it is done"
                ) from error
            yield

    def start(self) -> None:
        """Begin to send heartbeats."""
        self._thread.start()

    def stand(self, url: str, on_change: Callable[[], object]) -> None:
        """Be a candidate from now on: requests are answered at `url`.

        `on_change` is called, in a thread, whenever the `epoch` has changed.
        """
        self._server, self._on_change = replace(self._server, url=url), on_change
        self._is_standing = True

    def close(self) -> None:
        """Leave: another server may lead at once. Nothing of this one may run fits any more."""
        self._closing.set()
        if self._thread.ident is None:
            return
        self._thread.join()
        try:
            with self._connected() as connection:
                connection.execute(_RESIGN, (self._server.id,))
                connection.execute(_LEAVE, (self._server.id,))
        except psycopg.Error as error:
            _logger.warning("the other servers will miss this one's heartbeat: %s", reason_of(error))
        self._connection = None

    def beat(self) -> float:
        """Send a heartbeat, and take over if there is no leader; return after how many seconds to do so again."""
        try:
            self._beat(self._connected())
        except psycopg.Error as error:
            level = logging.DEBUG if self._is_interrupted else logging.WARNING  # once for an outage
            _logger.log(level, "the heartbeat of this server is interrupted: %s", reason_of(error))
            self._is_interrupted = True
            self._disconnect()
            return random.uniform(0.1, 0.3)  # noqa: S311 (so that not all come back at once)
        self._is_interrupted = False
        return BEAT_SECONDS

    def _run(self) -> None:
        while not self._closing.is_set():
            self._closing.wait(self.beat())

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = self._connect()
            self._seen = None
        return self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        arguments, options = self._engine.dialect.create_connect_args(self._engine.url)
        return psycopg.connect(*arguments, autocommit=True, **options)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _beat(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute(_BEAT, (self._server.url, self._server.id)).fetchone()
        assert row is not None
        beat = _Beat(*row)
        if not beat.known:  # it was away for so long that it was removed
            own = self._server
            connection.execute(_REGISTER, (own.id, own.url, own.version, Json(dict(own.terms))))
        if beat.leader == self._server.id and beat.epoch == self._epoch:
            _has_lock(connection)  # taken again after the connection was lost; the epoch counts, with or without it
            return
        if self._epoch is not None:
            _logger.warning("another server runs the fits now: %s", beat.leader or "none")
            self._change(None)
        if self._runs_fits and self._is_standing and not self._closing.is_set() and self._is_vacant(beat):
            self._take_over(connection, beat)

    def _is_vacant(self, beat: _Beat) -> bool:
        """Whether there is no leader, or none that is alive."""
        if beat.heartbeat is None:
            return True
        now = time.monotonic()
        if self._seen is None or self._seen[0] != beat:
            self._seen = beat, now
        return now - self._seen[1] >= LEASE_SECONDS

    def _take_over(self, connection: psycopg.Connection[Any], beat: _Beat) -> None:
        if beat.leader:
            _logger.warning("server %s, which runs the fits, is gone; this one takes over", beat.leader)
            # Also those on which it has a transaction open: its locks would be waited for.
            connection.execute(_DISCONNECT, (application_name(beat.leader),))
        for _ in range(LOCK_TRIES):
            if _has_lock(connection):
                break
            self._closing.wait(LOCK_SECONDS)
        else:
            return
        row = connection.execute(_BEGIN_EPOCH, {"epoch": beat.epoch, "server": self._server.id}).fetchone()
        if row is None:
            connection.execute("SELECT pg_advisory_unlock(%s)", (LEADING,))
            return
        _logger.info("this server runs the fits, in epoch %s", row[0])
        self._change(row[0])

    def _change(self, epoch: int | None) -> None:
        self._epoch = epoch
        self._on_change()


def _has_lock(connection: psycopg.Connection[Any]) -> bool:
    """Take the lock, unless this connection has it; return whether it has it now."""
    held = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = %(key)s "
        "AND objsubid = 1 AND pid = pg_backend_pid() AND granted) OR pg_try_advisory_lock(%(key)s)",
        {"key": LEADING},
    ).fetchone()
    return held is not None and bool(held[0])
