"""`adjoint migrate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from app.cli.output import refused


def migrate(
    data_dir: Annotated[Path, typer.Option(envvar="ADJOINT_DATA_DIR", help="Folder of the server, which is stopped.")],
) -> None:
    """Move a data directory to where the settings say: its SQLite database to PostgreSQL, its files to object storage.

    ADJOINT_DATABASE_URL and ADJOINT_BLOB_URL name the places; what has none stays. All rows and files are copied and
    compared by digests; then the database, and the folder of files, are renamed. A command that was stopped goes on
    where it was when it is repeated.
    """
    # Only now: the other commands do without the database, which takes a while to load.
    from app.cli.migration import NotMigrated, move

    try:
        with Progress(disable=not sys.stderr.isatty(), console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("files", total=None)
            moved = move(data_dir, lambda count, _size: progress.update(task, completed=count))
    except NotMigrated as error:
        raise refused(error) from error
    parts = []
    names = []
    if moved.rows is not None:
        parts += [f"{count} {name}" for name, count in moved.rows.items() if count] or ["no rows"]
        names.append("ADJOINT_DATABASE_URL")
    if moved.blobs is not None:
        count, size = moved.blobs
        parts.append(f"{count} stored files ({size} bytes)")
        names.append("ADJOINT_BLOB_URL")
    Console().print(
        f"{data_dir}: moved {', '.join(parts)}; start the server with the same {' and '.join(names)}",
        highlight=False,
        soft_wrap=True,
    )
