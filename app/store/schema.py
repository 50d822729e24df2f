"""Brings a database's schema to the revision that this code is written for.

Alembic takes longer to import than everything else here, so it is imported only if there is something to do.
"""

from collections.abc import Callable

from sqlalchemy import Connection

from app.domain.errors import DatabaseUnusable
from app.store.migrations import HEAD


def revision(connection: Connection) -> str | None:
    """Return the revision stamped into the database, None for an empty one. Leaves no transaction open."""
    with connection.begin():
        named = connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").scalar()
        if named is None:
            return None
        stamped: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        return stamped


def bring_up_to_date(connection: Connection) -> None:
    """Run the migrations that are missing, all or none; DatabaseUnusable if a newer server wrote the database."""
    present = revision(connection)
    if present != HEAD:
        _migrate(connection, present)


def _migrate(connection: Connection, present: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "app.store:migrations")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if present is not None and present not in known:
        raise DatabaseUnusable(
            f"the database is at revision {present}, which this server does not know: a newer one wrote it; "
            "run that one, or restore a backup"
        )
    _without_foreign_keys(connection, lambda: command.upgrade(config, "head"))


def _without_foreign_keys(connection: Connection, run: Callable[[], object]) -> None:
    # A migration may rebuild a table by dropping the old one, which with foreign keys on would delete the rows that
    # refer to it. The switch does nothing inside a transaction, hence around it.
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        run()
    finally:
        driver.execute("PRAGMA foreign_keys=ON")
