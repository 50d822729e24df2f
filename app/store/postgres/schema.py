"""The schema in PostgreSQL: the same migrations, under a lock, since several servers may start at once."""

import logging

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.domain.errors import DatabaseUnusable
from app.store.migrations import HEAD
from app.store.postgres.faults import reason_of
from app.store.schema import migrate, read_revision
from app.store.tables import metadata

VERSION_MIN = (14, 0)
MIGRATING = 0x41444A01
"""The advisory lock of who changes the schema."""
TRIES = 10
"""How often migrations are begun that end in a deadlock, after a second each."""

_logger = logging.getLogger(__name__)

# Text sorts by its bytes in every locale, as SQLite sorts it and cursors of pages expect it;
# integers have 64 bits, as SQLite's have.
_NORMALIZED = """
SELECT format('ALTER TABLE %I ALTER COLUMN %I TYPE %s', c.relname, a.attname,
  CASE WHEN a.atttypid = 'int4'::regtype THEN 'bigint'
    ELSE format_type(a.atttypid, a.atttypmod) || ' COLLATE "C"' END)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
  AND (a.atttypid = 'int4'::regtype
    OR (a.attcollation <> 0 AND a.attcollation <> (SELECT oid FROM pg_collation
      WHERE collname = 'C' AND collnamespace = 'pg_catalog'::regnamespace LIMIT 1)))
ORDER BY c.relname, a.attnum
"""

_WITHOUT_RIGHTS = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = ANY(%s::text[])
  AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
    AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
ORDER BY c.relname
"""


def has_schema(engine: Engine) -> bool:
    """Whether a server has made its tables in the database."""
    with engine.begin() as connection:
        return read_revision(connection) is not None


def bring_up_to_date(engine: Engine, *, allowed: bool = True) -> None:
    """Run the migrations that are missing, all or none.

    DatabaseUnusable if the database cannot hold the schema, a newer server wrote it, migrations are missing and are
    not `allowed`, by the setting or to the role, or the role may not read and write the tables.

    Other servers may be at work, whose transactions lock tables in another order: after a deadlock it is tried again.
    """
    for left in reversed(range(TRIES)):
        try:
            _bring_up_to_date(engine, allowed=allowed)
        except OperationalError as error:
            if not left or not isinstance(error.orig, psycopg.errors.DeadlockDetected):
                raise
            _logger.warning("the migrations and another server waited for each other; trying again")
        else:
            return


def _bring_up_to_date(engine: Engine, *, allowed: bool) -> None:
    with engine.connect() as connection:
        _check_server(connection)
        # Held to the end of the transaction, in which Alembic works; who waits for it finds nothing left to do.
        with connection.begin():
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATING})
            present = read_revision(connection)
            if present == HEAD:
                _check_rights(connection)
                return
            if not allowed:
                raise DatabaseUnusable(
                    f"the schema of the database is at revision {present or 'none'}, and this server needs {HEAD}; "
                    "start one server with ADJOINT_DATABASE_MIGRATE=true, which brings it up to date"
                )
            _migrate(connection, present)


def _check_rights(connection: Connection) -> None:
    without = connection.exec_driver_sql(_WITHOUT_RIGHTS, ([*metadata.tables],)).scalars().all()
    if without:
        raise DatabaseUnusable(
            f"the user of ADJOINT_DATABASE_URL may not read and write the tables {', '.join(without)}; grant it "
            "SELECT, INSERT, UPDATE and DELETE on all tables"
        )


def _migrate(connection: Connection, present: str | None) -> None:
    try:
        migrate(connection, present, _normalize)
    except ProgrammingError as error:
        raise DatabaseUnusable(
            f"the schema of the database is at revision {present or 'none'}, this server needs {HEAD}, and it cannot "
            f"be brought up to date: {reason_of(error.orig)}; start one server as the user who owns the schema"
        ) from error


def _normalize(connection: Connection) -> None:
    for statement in connection.execute(text(_NORMALIZED)).scalars().all():
        connection.exec_driver_sql(statement)


def _check_server(connection: Connection) -> None:
    version = connection.dialect.server_version_info or ()
    if version < VERSION_MIN:
        raise DatabaseUnusable(
            f"PostgreSQL {'.'.join(map(str, version))} is too old; {VERSION_MIN[0]} or later is needed"
        )
    with connection.begin():
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise DatabaseUnusable(
            f"the database has the encoding {encoding}; create one with UTF8, as `CREATE DATABASE adjoint ENCODING "
            "'UTF8' TEMPLATE template0`"
        )
