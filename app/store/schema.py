"""The revision of a database's schema: an empty database is created at the newest, an older one is migrated.

Alembic takes longer to import than everything else here, so it is imported only to migrate.
"""

from collections.abc import Callable

from sqlalchemy import Connection, inspect

from app.domain.errors import DatabaseUnusable
from app.store.migrations import HEAD
from app.store.tables import metadata

VERSION_TABLE = "alembic_version"
# As Alembic declares it.
_VERSION_COLUMN = f"version_num VARCHAR(32) NOT NULL, CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num)"


def read_revision(connection: Connection) -> str | None:
    """Return the revision stamped into the database, None for an empty one, within the transaction that is open."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    stamped: str | None = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar()  # noqa: S608
    return stamped


def create(connection: Connection) -> None:
    """Create all tables in an empty database, within the transaction that is open, and stamp it with HEAD.

    The result is that of all migrations, at a tenth of the time.
    """
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(f"CREATE TABLE {VERSION_TABLE} ({_VERSION_COLUMN})")
    connection.exec_driver_sql(f"INSERT INTO {VERSION_TABLE} VALUES ('{HEAD}')")  # noqa: S608


def migrate(connection: Connection, present: str | None, finish: Callable[[Connection], None]) -> None:
    """Run the migrations that follow `present`, all or none; DatabaseUnusable if a newer server wrote the database.

    `finish` is called in their transaction, after the last of them.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection, "finish": finish})
    config.set_main_option("script_location", "app.store:migrations")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if present is not None and present not in known:
        raise DatabaseUnusable(
            f"the database is at revision {present}, which is newer than this server; "
            "run the newer version, or restore a backup"
        )
    command.upgrade(config, "head")
