"""`adjoint watch`: follow a fit that is running on the server."""

from typing import Annotated

import typer
from rich.console import Console

from adjoint_client import FitHandle
from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.terminal.progress import shown

STOPPED_WATCHING = 130
"""Exit status after Ctrl-C, as shells expect it."""


def watch(
    fit: Annotated[str, typer.Argument(help="Id of the fit, fit_...")],
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Follow a fit until it ends."""
    with connect(url, key_file) as client:
        follow(client.get_fit(fit), Console())


def follow(handle: FitHandle, console: Console) -> None:
    """Show the progress of a fit until it ends; Ctrl-C stops only the watching, and says so.

    Raises:
        FitFailed: it ended badly.
    """
    try:
        with shown(console, handle.id) as show:
            result = handle.wait(progress=show)
    except KeyboardInterrupt:
        console.print(
            f"{handle.id} goes on; see it again with: adjoint watch {handle.id}", highlight=False, soft_wrap=True
        )
        raise typer.Exit(STOPPED_WATCHING) from None
    why = f": {result.stop_reason}" if result.stop_reason else ""
    console.print(f"{handle.id} {result.state} after {result.step} steps{why}", highlight=False, soft_wrap=True)
