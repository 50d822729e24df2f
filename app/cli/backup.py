"""`adjoint backup` and `adjoint restore`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.output import refused


def backup(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="Where to put it; a file of that name is replaced.")],
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Write all that a server has stored to a file, while it goes on to work.

    The file is there only once it is complete and checked. See `adjoint restore` for the way back.
    """
    try:
        with connect(url, key_file) as client:
            manifest = client.backup(file)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {file} ({error.strerror or error}); choose another file") from error
    counts = ", ".join(f"{count} {name}" for name, count in manifest.counts.items())
    size = manifest.database_bytes + sum(manifest.blobs.values()) + sum(manifest.sessions.values())
    Console().print(f"{file}: {counts}; {size} bytes", highlight=False, soft_wrap=True)


def restore(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="What `backup` wrote.")],
    data_dir: Annotated[
        Path, typer.Option(envvar="ADJOINT_DATA_DIR", help="Folder to make of it; missing or empty so far.")
    ],
) -> None:
    """Make a data directory out of a backup: as a whole, or not at all.

    A server that is started there goes on from the moment of the backup: its fits from their last checkpoints.
    """
    # Only now: the other commands do without the database, which takes a while to load.
    from app.cli.restoration import NotRestored, restored

    try:
        manifest = restored(file, data_dir)
    except NotRestored as error:
        raise refused(error) from error
    Console().print(
        f"{data_dir}: restored as of {manifest.made_at}; start it with: adjoint serve --data-dir {data_dir}",
        highlight=False,
        soft_wrap=True,
    )
