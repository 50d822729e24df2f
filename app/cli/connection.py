"""Where the server is and with which key: the options that all client commands share.

A key is never an argument: every user of the machine can read those of every process.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from adjoint_client import Client
from adjoint_client.address import DEFAULT_URL, KEY_FILE_VARIABLE, KEY_VARIABLE, URL_VARIABLE, read_key, read_key_file

__all__ = ["DEFAULT_URL", "STANDARD_INPUT", "KeyFileOption", "UrlOption", "connect"]

STANDARD_INPUT = "-"

UrlOption = Annotated[str, typer.Option("--url", envvar=URL_VARIABLE, help="Address of the server.")]
KeyFileOption = Annotated[
    str | None,
    typer.Option(
        "--key-file",
        envvar=KEY_FILE_VARIABLE,
        help=f"File with the key of the server, {STANDARD_INPUT} for standard input; else it is taken from "
        f"{KEY_VARIABLE}, if there is one.",
    ),
]


def connect(url: str, key_file: str | None) -> Client:
    """A client of the server at `url`; to be used as a context.

    Raises:
        typer.BadParameter: the address or the key cannot be used.
    """
    try:
        return Client(url, api_key=None if key_file is None else _read_key(key_file))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _read_key(key_file: str) -> str:
    return read_key(sys.stdin, "standard input") if key_file == STANDARD_INPUT else read_key_file(Path(key_file))
