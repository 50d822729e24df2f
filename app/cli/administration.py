"""Where administrators work: at a running server, or, while none runs, in its data directory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from adjoint_client import Client, ServerError
from app.cli.connection import connect
from app.cli.output import refused

if TYPE_CHECKING:
    from app.cli.data_directory import DataDirectory

UNAUTHORIZED = 401
ServerOption = Annotated[
    str | None,
    typer.Option("--url", envvar="ADJOINT_URL", help="Address of the running server; without it, --data-dir is used."),
]
DataOption = Annotated[
    Path, typer.Option("--data-dir", envvar="ADJOINT_DATA_DIR", help="Data directory of a server that does not run.")
]
DEFAULT_DATA_DIR = Path("adjoint-data")


class Administration(Protocol):
    """Keys and the audit trail, as documents of the HTTP interface (see `adjoint_client`)."""

    def create_key(
        self, name: str, scopes: Sequence[str], expires_at: str | None = None, tenant: str | None = None
    ) -> dict[str, Any]:
        """Make a key; what clients send is in `key`."""
        ...

    def list_keys(self) -> list[dict[str, Any]]:
        """Return all keys, the newest first."""
        ...

    def revoke_key(self, key_id: str) -> None:
        """End a key."""
        ...

    def audit_entries(self) -> Iterator[dict[str, Any]]:
        """Yield the audit trail from the oldest entry that is at hand."""
        ...


def is_open(url: str) -> bool:
    """Whether the server at `url` answers requests without a key."""
    with Client(url) as nobody:
        try:
            nobody.administration.list_keys()
        except ServerError as error:
            if error.status != UNAUTHORIZED:
                raise
            return False
    return True


@contextmanager
def offline(data_dir: Path) -> Iterator["DataDirectory"]:
    """Administer a data directory that no server is using."""
    # Only now: the database takes a while to load.
    from app.cli.data_directory import opened
    from app.domain.errors import ApiError, DataDirectoryInUse

    try:
        with opened(data_dir) as local:
            yield local
    except ApiError as error:
        hint = "; or give its --url, to speak with that server" if isinstance(error, DataDirectoryInUse) else ""
        raise refused(f"{error.detail}{hint}") from error
    except OSError as error:
        raise refused(f"cannot use the data directory {data_dir} ({error.strerror or error})") from error


@contextmanager
def administration(url: str | None, key_file: str | None, data_dir: Path) -> Iterator[Administration]:
    """Administer the server at `url`, or else a data directory that no server is using."""
    if url:
        with connect(url, key_file) as client:
            yield client.administration
        return
    with offline(data_dir) as local:
        yield local
