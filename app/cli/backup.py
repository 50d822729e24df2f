"""`adjoint backup`: everything that a server has stored, in one file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect


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
