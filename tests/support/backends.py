"""The databases that tests of the store and of its use cases run on: SQLite, and PostgreSQL where it is installed."""

import atexit
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.domain.clock import Clock
from app.store.tables import metadata
from app.store.unit_of_work import Store
from tests.extent import FULL
from tests.support import postgres
from tests.support.schedule import ON_BOTH

_POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.slow)
"""Left out of `make check`: starting the server alone takes seconds."""


@contextmanager
def sqlite_store(template: Path, folder: Path, clock: Clock) -> Iterator[Store]:
    """Open a copy of a file, which is quicker than to migrate a new one."""
    shutil.copy(template, folder)
    with Store.open(folder, clock) as opened:
        yield opened


@contextmanager
def postgres_store(clock: Clock) -> Iterator[Store]:
    """Open the database of this process, and empty it in the end, which takes a fifth of the time of a new one."""
    from app.store.postgres.database import PostgresDatabase

    # Not closed: that would close the connections of all.
    yield Store(PostgresDatabase(_engine()), clock)
    shared_server().check_deadlocks()
    with _engine().begin() as connection:
        # Quicker than TRUNCATE, which makes every file of every table and index anew.
        connection.exec_driver_sql(";".join(f"DELETE FROM {name}" for name in metadata.tables))


@contextmanager
def postgres_database() -> Iterator[str]:
    """Make a database with all tables for the length of the block."""
    url = shared_server().create_database(_template())
    try:
        yield url
        shared_server().check_deadlocks()
    finally:
        shared_server().drop_database(url)


@cache
def _engine() -> Engine:
    """Return the engine of the database of this process; it keeps its connections and the statements it compiled."""
    from app.store.postgres.database import PostgresOptions, connect

    made = connect(PostgresOptions(shared_server().create_database(_template())))
    atexit.register(made.dispose)  # before the server is stopped
    return made


@contextmanager
def open_postgres(url: str, clock: Clock) -> Iterator[Store]:
    from app.store.postgres.database import PostgresDatabase, PostgresOptions

    with Store(PostgresDatabase.open(PostgresOptions(url)), clock) as opened:
        yield opened


@cache
def shared_server() -> postgres.PostgresServer:
    """Start the one server of this process; it is stopped when that ends."""
    server = postgres.PostgresServer()
    atexit.register(server.close)
    return server


@cache
def _template() -> str:
    from app.store.postgres.database import PostgresDatabase, PostgresOptions

    url = shared_server().create_database()
    PostgresDatabase.open(PostgresOptions(url)).close()
    return url.rpartition("/")[2]


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Have a test that uses a store run on each kind of database that it is for."""
    if "backend_name" not in metafunc.fixturenames:
        return
    module = metafunc.module.__name__.rpartition(".")[2]
    sqlite_only = metafunc.definition.get_closest_marker("sqlite") is not None
    both = postgres.AVAILABLE and not sqlite_only and (FULL or module in ON_BOTH)
    metafunc.parametrize("backend_name", ["sqlite", _POSTGRESQL] if both else ["sqlite"])
