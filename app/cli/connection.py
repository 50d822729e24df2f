"""Where the server is and with which key: the options that all client commands share."""

from typing import Annotated

import typer

from adjoint_client import Client

UrlOption = Annotated[str, typer.Option("--url", envvar="ADJOINT_URL", help="Address of the server.")]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", envvar="ADJOINT_API_KEY", show_envvar=True, help="Key of the server, if it has one."),
]

DEFAULT_URL = "http://127.0.0.1:8000"


def connect(url: str, key: str | None) -> Client:
    """A client of the server at `url`; to be used as a context."""
    return Client(url, api_key=key or None)
