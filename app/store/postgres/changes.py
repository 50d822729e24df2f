"""Which fits and sessions have changed, from server to server, by LISTEN and NOTIFY.

A notification only saves latency: waiting requests read the tables at intervals too. So they are sent after the
commit, by a thread that gathers them: PostgreSQL would have transactions that notify commit one after the other.
"""

import logging
import queue
import random
import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app.domain.errors import DatabaseUnusable
from app.store.postgres.faults import reason_of

CHANNEL = "adjoint_changes"
SERVING = 0x41444A02
"""The advisory lock of the server that uses the database, or of those that share it."""

TAKE_OVER_SECONDS = 5.0
"""How long a server that was killed may go on to hold its lock."""

POLL_SECONDS = 0.25
BATCH_IDS = 100
"""Largest number of ids in a notification, whose text may have 8000 bytes."""

_LOCK = "SELECT pg_try_advisory_lock(%s)"
_SHARE = "SELECT pg_try_advisory_lock_shared(%s)"
_NOTIFY = "SELECT pg_notify(%s, text) FROM unnest(%s::text[]) AS announced (text)"

_logger = logging.getLogger(__name__)


class Changes:
    """A server's own connection to the database: with the server's lock, notified of changes; and a sender."""

    def __init__(self, engine: Engine, *, shared: bool = False) -> None:
        """Let servers that share the database use it too, if it is `shared`."""
        self._engine = engine
        self._take_lock = _SHARE if shared else _LOCK
        self._sender = secrets.token_hex(8)
        self._closing = threading.Event()
        self._connection: psycopg.Connection[Any] | None = None
        self._announced: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def occupy(self) -> None:
        """Take the server's lock; DatabaseUnusable while another server has it."""
        waited = 0.0
        self._connection = self._connected()
        while not self._locked(self._connection):
            if waited >= TAKE_OVER_SECONDS:
                self._connection.close()
                raise DatabaseUnusable(
                    "another server is using the database; stop it, or name another database in ADJOINT_DATABASE_URL; "
                    "servers that are to share a database need one ADJOINT_CLUSTER_SECRET"
                )
            waited += 0.25
            self._closing.wait(0.25)

    def listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        """Start the threads."""
        for name, work in (("listen", lambda: self._listen(on_change, on_gap)), ("announce", self._announce)):
            thread = threading.Thread(target=work, name=f"database-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def announce(self, changed: Collection[str]) -> None:
        """Have ids sent to the other servers, soon."""
        if self._threads:
            for name in changed:
                self._announced.put(name)

    def close(self) -> None:
        """End the threads and the connection, and give up the lock with it."""
        self._closing.set()
        self._announced.put(None)
        for thread in self._threads:
            thread.join()
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> psycopg.Connection[Any]:
        arguments, options = self._engine.dialect.create_connect_args(self._engine.url)
        return psycopg.connect(*arguments, autocommit=True, **options)

    def _locked(self, connection: psycopg.Connection[Any]) -> bool:
        # A session may take its lock again; it is released as a whole when the session ends.
        row = connection.execute(self._take_lock, (SERVING,)).fetchone()
        return row is not None and bool(row[0])

    def _listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        had_lock, warned = self._connection is not None, False
        while not self._closing.is_set():
            try:
                connection = self._connection = self._connection or self._connected()
                if had_lock and not self._locked(connection):
                    _logger.error("another server has taken the database over; stop this one")
                connection.execute(f"LISTEN {CHANNEL}")
                if warned:
                    _logger.info("the database sends notifications again")
                warned = False
                on_gap()
                while not self._closing.is_set():
                    for notification in connection.notifies(timeout=POLL_SECONDS):
                        self._heard(notification.payload, on_change)
                        if self._closing.is_set():
                            break
            except psycopg.Error as error:
                level = logging.DEBUG if warned else logging.WARNING  # once for an outage, however long it lasts
                _logger.log(level, "notifications of the database are interrupted: %s", reason_of(error))
                warned = True
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                self._closing.wait(random.uniform(0.1, 0.5))  # noqa: S311 (so that not all come back at once)

    def _heard(self, text: str, on_change: Callable[[str], object]) -> None:
        names = text.split()  # of any form: other programs may use the channel
        if names[:1] != [self._sender]:
            for name in names[1:]:
                on_change(name)

    def _announce(self) -> None:
        while (first := self._announced.get()) is not None:
            changed = sorted({first, *self._gathered()})
            batches = (changed[start : start + BATCH_IDS] for start in range(0, len(changed), BATCH_IDS))
            texts = [" ".join((self._sender, *batch)) for batch in batches]
            with suppress(SQLAlchemyError), self._engine.connect() as connection, connection.begin():
                connection.exec_driver_sql(_NOTIFY, (CHANNEL, texts))

    def _gathered(self) -> Iterator[str]:
        """Yield what is announced already."""
        with suppress(queue.Empty):
            while True:
                name = self._announced.get_nowait()
                if name is None:
                    self._announced.put(None)
                    return
                yield name
