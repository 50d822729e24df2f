"""`adjoint bundle`: all that decides about a fit's result, and that result, as a file."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect


def bundle(
    fit: Annotated[str, typer.Argument(help="Id of a fit that has succeeded, fit_...")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Where to put it; by default it is printed.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Write the bundle of a fit, which `adjoint replay` runs again.

    It holds the graph and the request, and digests of the data and of the result.
    """
    with connect(url, key_file) as client:
        text = json.dumps(client.get_fit(fit).bundle(), indent=2) + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot write {output} ({error.strerror or error}); choose another file") from error
