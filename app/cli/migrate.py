"""`adjoint migrate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

REFUSED = 2
"""Exit status where the database stays where it is."""


def migrate(
    data_dir: Annotated[Path, typer.Option(envvar="ADJOINT_DATA_DIR", help="Folder of the server, which is stopped.")],
) -> None:
    """Move the SQLite database of a data directory to the PostgreSQL database that ADJOINT_DATABASE_URL names.

    All rows are copied and compared by digests; then the file is renamed. A command that was stopped goes on where it
    was when it is repeated. Stored files stay in the data directory.
    """
    # Only now: the other commands do without the database, which takes a while to load.
    from app.cli.migration import NotMigrated, move_database

    try:
        counts = move_database(data_dir)
    except NotMigrated as error:
        sys.stderr.write(f"adjoint: {error}\n")
        raise typer.Exit(REFUSED) from error
    rows = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    Console().print(
        f"{data_dir}: moved {rows or 'nothing'}; start the server with the same ADJOINT_DATABASE_URL",
        highlight=False,
        soft_wrap=True,
    )
