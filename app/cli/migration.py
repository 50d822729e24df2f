"""From a data directory to PostgreSQL and object storage: copied, compared, and only then renamed."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from app.config.blobs import BlobSettings
from app.config.database import DatabaseSettings
from app.domain.clock import SystemClock
from app.domain.errors import ApiError
from app.store.data_directory import data_directory_lock
from app.store.database import FILE_NAME, Database
from app.store.locations import DatabaseLocation, PostgresLocation, SqliteLocation, location_of
from app.store.snapshot import check_database, check_tables
from app.store.transfer import transfer
from app.system.durable import Durable

MOVED = f"{FILE_NAME}.moved"
"""What the file is called after the move: without it a server refuses to start beside the stored files."""


class NotMigrated(Exception):  # noqa: N818 (named as what happened)
    """The database stays where it is; the message says why."""


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move has moved: the rows of each table, and how many blobs of how many bytes; None for what stays."""

    rows: Mapping[str, int] | None
    blobs: tuple[int, int] | None


def move(data_dir: Path, on_blob: Callable[[int, int], object] = lambda _count, _size: None) -> MoveReport:
    """Move the blobs, then the database, to where the settings say; NotMigrated if that cannot be done.

    `on_blob` is called with the number of blobs and of bytes that are moved so far.
    """
    try:
        location, url = location_of(DatabaseSettings()), BlobSettings().blob_url
    except ValidationError as error:
        raise NotMigrated("; ".join(str(fault["msg"]) for fault in error.errors(include_input=False))) from None
    if location is None and url is None:
        raise NotMigrated(
            "set ADJOINT_DATABASE_URL to the PostgreSQL database to move to, ADJOINT_BLOB_URL to the object storage, "
            "or both"
        )
    blobs = None if url is None else _move_blobs(data_dir, location, url.get_secret_value(), on_blob)
    is_left = (data_dir / FILE_NAME).is_file() or blobs is None
    rows = _move_database(data_dir, location) if isinstance(location, PostgresLocation) and is_left else None
    return MoveReport(rows, blobs)


def _move_blobs(
    data_dir: Path, location: DatabaseLocation | None, url: str, on_blob: Callable[[int, int], object]
) -> tuple[int, int]:
    """Move the blobs, and return how many there are, and how many bytes they have."""
    from app.store.objects.address import read_address
    from app.store.objects.client import ObjectClient
    from app.store.objects.marker import write_marker
    from app.store.objects.transfer import give_up_folder, transfer_blobs

    source = SqliteLocation(data_dir) if location is None or (data_dir / FILE_NAME).is_file() else location
    count = size = 0
    try:
        with data_directory_lock(data_dir):
            with source.open(SystemClock(), Durable()) as store, store.read() as work:
                own = work.identity.get()
            if own is None:
                raise NotMigrated("the database has no identity yet; start its server once, then repeat the command")
            client = ObjectClient(read_address(url))
            for count, size in transfer_blobs(data_dir, client, own):
                on_blob(count, size)
            # In this order: a start between the two refuses, and the command goes on.
            write_marker(data_dir, client.name, Durable())
            if count:
                give_up_folder(data_dir, Durable())
    except ApiError as error:
        raise NotMigrated(error.detail) from error
    except OSError as error:
        raise NotMigrated(f"cannot use the data directory {data_dir} ({error.strerror or error})") from error
    return count, size


def _move_database(data_dir: Path, location: PostgresLocation) -> dict[str, int]:
    """Move the database, and return how many rows each table has."""
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
