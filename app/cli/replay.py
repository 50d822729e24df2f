"""`adjoint replay`: run a fit again, and see whether the same bits come out."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.fit import read_document
from app.cli.watch import follow

DIFFERS = 1
"""Exit status of a replay that did not come out equal."""


def replay(
    what: Annotated[
        str, typer.Argument(metavar="FIT_OR_BUNDLE_FILE", help="Id of a fit, fit_..., or a file of adjoint bundle.")
    ],
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Run a fit again from its bundle and compare bit for bit: exit status 0 if all is equal, else 1."""
    console = Console()
    path = Path(what)
    with connect(url, key_file) as client:
        handle = client.replay(read_document(path) if path.is_file() else what)
        follow(handle, console)
        verdict = handle.verdict
    if verdict is None:
        told = f"there is no verdict, since the replay has {handle.info.state}"
    elif verdict:
        told = "equal, bit for bit"
    else:
        row = "" if verdict.first_row is None else f"; the first metric row that differs is {verdict.first_row}"
        told = f"not equal: {', '.join(verdict.differences)}{row}"
    console.print(told, highlight=False, soft_wrap=True)
    if not verdict:
        raise typer.Exit(DIFFERS)
