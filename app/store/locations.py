"""Where the database of a server is, and how it is opened: a file in the data directory, or PostgreSQL."""

from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.config.database import DatabaseSettings
from app.domain.clock import Clock
from app.domain.errors import DatabaseUnusable
from app.store.database import FILE_NAME
from app.store.snapshot import JOURNALS, check_database, check_tables, copy_database, has_tables
from app.store.unit_of_work import Store
from app.system.durable import Durable

if TYPE_CHECKING:
    from app.store.postgres.database import PostgresOptions


def location_of(settings: DatabaseSettings, server: str | None = None) -> "DatabaseLocation | None":
    """Return where the database is, None if that is the data directory.

    `server` is the id of one of several servers that share it.
    """
    if settings.database_url is None:
        return None
    return PostgresLocation(
        settings.database_url.get_secret_value(), settings.database_connections, settings.database_migrate, server
    )


class DatabaseLocation(Protocol):
    """A place for one database."""

    @property
    def name(self) -> str:
        """What messages call it: no secret."""
        ...

    @property
    def remedy(self) -> str:
        """What to do where it is empty, and should not be."""
        ...

    def is_empty(self) -> bool:
        """Whether no server has made its tables in it yet; DatabaseUnusable if that cannot be found out."""
        ...

    def leftovers(self) -> tuple[Path, ...]:
        """Return the files of a database that was here and is gone, which would confuse a new one."""
        ...

    def open(self, clock: Clock, durable: Durable) -> Store:
        """Open it, made or brought up to date if need be; DatabaseUnusable if it cannot be."""
        ...

    def copy(self, folder: Path) -> None:
        """Copy it to an SQLite database in `folder`, whether or not a server uses it; DatabaseUnusable."""
        ...


@dataclass(frozen=True, slots=True)
class SqliteLocation:
    """The file `adjoint.db` in a data directory."""

    data_dir: Path

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.data_dir / FILE_NAME)

    @property
    def remedy(self) -> str:
        """To put the file back."""
        return "put the database back, or restore a backup to another folder with `adjoint restore`"

    def is_empty(self) -> bool:
        """Whether there is no file, or one without tables."""
        return not has_tables(self.data_dir / FILE_NAME)

    def leftovers(self) -> tuple[Path, ...]:
        """Return the journals of a file that is gone: SQLite deletes them, and the file needs them when it is back."""
        return tuple(self.data_dir / f"{FILE_NAME}{suffix}" for suffix in JOURNALS)

    def open(self, clock: Clock, durable: Durable) -> Store:
        """Open the file. Hold `app.store.data_directory.data_directory_lock` before."""
        return Store.open(self.data_dir, clock, durable)

    def copy(self, folder: Path) -> None:
        """Copy the file, which is checked to be sound."""
        copied = copy_database(self.data_dir, folder)
        check_tables(copied)
        check_database(copied)


@dataclass(frozen=True, slots=True)
class PostgresLocation:
    """A PostgreSQL database, which one server uses at a time, or several that share it, each with an id (`server`).

    Nothing is imported for it before it is asked.
    """

    url: str = field(repr=False)
    connections: int = 20
    migrate: bool = True
    server: str | None = None

    @property
    def options(self) -> "PostgresOptions":
        """Where it is; DatabaseUnusable without the extra `postgres`, or if the URL is none."""
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise DatabaseUnusable(
                "ADJOINT_DATABASE_URL needs the extra `postgres`: pip install 'adjoint-server[postgres]'"
            ) from error
        from app.store.postgres.database import PostgresOptions

        return PostgresOptions(self.url, self.connections, self.migrate, self.server)

    @property
    def name(self) -> str:
        """The host and the name of the database."""
        return self.options.name

    @property
    def remedy(self) -> str:
        """To move the SQLite database there, or to name another one."""
        return (
            "move the SQLite database of the data directory there with `adjoint migrate`, or name the database that "
            "belongs to the data directory in ADJOINT_DATABASE_URL"
        )

    def is_empty(self) -> bool:
        """Whether there are no tables."""
        options = self.options
        from app.store.postgres.database import is_empty

        return is_empty(options)

    def leftovers(self) -> tuple[Path, ...]:
        """Return none: the files of an SQLite database beside it are not its own."""
        return ()

    def open(self, clock: Clock, durable: Durable) -> Store:  # noqa: ARG002 (PostgreSQL writes its files itself)
        """Connect; DatabaseUnusable while another server uses it."""
        options = self.options
        from app.store.postgres.database import PostgresDatabase

        database = PostgresDatabase.open(options)
        try:
            database.occupy()
        except BaseException:
            database.close()
            raise
        return Store(database, clock)

    def copy(self, folder: Path) -> None:
        """Copy all rows as they are at one moment."""
        options = replace(self, migrate=False).options
        from app.store.postgres.database import PostgresDatabase

        with closing(PostgresDatabase.open(options)) as database:
            database.copy(folder / FILE_NAME)
