"""From the SQLite database of a data directory to PostgreSQL: copied, compared, and only then renamed."""

from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from app.config.database import DatabaseSettings
from app.domain.clock import SystemClock
from app.domain.errors import ApiError
from app.store.data_directory import data_directory_lock
from app.store.database import FILE_NAME, Database
from app.store.locations import PostgresLocation, location_of
from app.store.snapshot import check_database, check_tables
from app.store.transfer import transfer
from app.system.durable import Durable

MOVED = f"{FILE_NAME}.moved"
"""What the file is called after the move: without it a server refuses to start beside the stored files."""


class NotMigrated(Exception):  # noqa: N818 (named as what happened)
    """The database stays where it is; the message says why."""


def move_database(data_dir: Path) -> dict[str, int]:
    """Move the database, and return how many rows each table has; NotMigrated if it cannot be."""
    try:
        location = location_of(DatabaseSettings())
    except ValidationError as error:
        raise NotMigrated("; ".join(str(fault["msg"]) for fault in error.errors(include_input=False))) from None
    if not isinstance(location, PostgresLocation):
        raise NotMigrated("set ADJOINT_DATABASE_URL to the PostgreSQL database to move to")
    source = data_dir / FILE_NAME
    if not source.is_file():
        what = f"it was moved already, and is kept as {MOVED}" if (data_dir / MOVED).exists() else "there is none"
        raise NotMigrated(f"{data_dir} has no {FILE_NAME}: {what}")
    try:
        with data_directory_lock(data_dir):
            counts = _copied(data_dir, location)
            durable = Durable()
            durable.rename(source, data_dir / MOVED)
            durable.sync_folder(data_dir.resolve())
    except ApiError as error:
        raise NotMigrated(error.detail) from error
    except OSError as error:
        raise NotMigrated(f"cannot use the data directory {data_dir} ({error.strerror or error})") from error
    return counts


def _copied(data_dir: Path, location: PostgresLocation) -> dict[str, int]:
    check_tables(data_dir / FILE_NAME)
    with closing(Database.open(data_dir)) as source:
        check_database(data_dir / FILE_NAME)
        with location.open(SystemClock(), Durable()) as target:
            return dict(transfer(source, target.database))
