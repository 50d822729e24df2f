"""Where the server is and with which key: the options that all client commands share.

A key is never an argument: every user of the machine can read those of every process.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from adjoint_client import Client

KEY_VARIABLE = "ADJOINT_KEY"
STANDARD_INPUT = "-"
KEY_CHARACTERS_MAX = 1024

UrlOption = Annotated[str, typer.Option("--url", envvar="ADJOINT_URL", help="Address of the server.")]
KeyFileOption = Annotated[
    str | None,
    typer.Option(
        "--key-file",
        envvar="ADJOINT_KEY_FILE",
        help=f"File with the key of the server, {STANDARD_INPUT} for standard input; else it is taken from "
        f"{KEY_VARIABLE}, if there is one.",
    ),
]

DEFAULT_URL = "http://127.0.0.1:8000"


def connect(url: str, key_file: str | None) -> Client:
    """A client of the server at `url`; to be used as a context."""
    return Client(url, api_key=_key(key_file) or None)


def _key(key_file: str | None) -> str | None:
    if key_file is None:
        return os.environ.get(KEY_VARIABLE)
    try:
        with sys.stdin if key_file == STANDARD_INPUT else Path(key_file).open(encoding="utf-8") as file:
            key = file.read(KEY_CHARACTERS_MAX + 1).strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise typer.BadParameter(f"cannot read the key from {key_file} ({why})") from error
    if not key or len(key) > KEY_CHARACTERS_MAX or not key.isascii() or not key.isprintable() or " " in key:
        raise typer.BadParameter(f"{key_file} holds no key: that is one line of printable ASCII without spaces")
    return key
