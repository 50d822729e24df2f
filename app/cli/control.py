"""`adjoint cancel`, `pause`, `resume` and `extend`: change what fits and sessions do."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from adjoint_client import AdjointError, Client
from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.output import FAILED, JsonOption, print_json, print_lines
from app.cli.resources import FITS, SESSIONS
from app.cli.terminal.table import Document

FitsArgument = Annotated[list[str], typer.Argument(metavar="FIT...", help=f"Ids, {FITS.prefix}...")]
BothArgument = Annotated[
    list[str],
    typer.Argument(metavar="FIT_OR_SESSION...", help=f"Ids, {FITS.prefix}... or {SESSIONS.prefix}..."),
]


def cancel(
    fits: FitsArgument,
    *,
    kill: Annotated[bool, typer.Option("--kill", help="Stop at once, without a checkpoint.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Stop fits: each writes a checkpoint first, from which it can be resumed."""
    with connect(url, key_file) as client:
        act_on_each(fits, lambda each: _act(client, each, "kill" if kill else "cancel"), as_json)


def pause(
    names: BothArgument,
    *,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Pause fits or sessions: each saves its state and leaves its process to others."""
    with connect(url, key_file) as client:
        act_on_each(names, lambda each: _act(client, each, "pause"), as_json)


def resume(
    names: BothArgument,
    *,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Resume fits that are paused, failed or cancelled, from their last checkpoints; or sessions that are paused."""
    with connect(url, key_file) as client:
        act_on_each(names, lambda each: _act(client, each, "resume"), as_json)


def extend(
    fits: FitsArgument,
    *,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs to add.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps to add.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Continue fits that have ended, for more epochs or steps."""
    if (epochs is None) == (steps is None):
        raise typer.BadParameter("give --epochs or --steps, and not both")
    more = {"steps": steps} if epochs is None else {"epochs": epochs}
    with connect(url, key_file) as client:
        act_on_each(fits, lambda each: client.call("extend_fit", more, fit_id=each), as_json)


def _act(client: Client, identifier: str, action: str) -> Document:
    resource = SESSIONS if identifier.startswith(SESSIONS.prefix) else FITS
    document: Document = client.call(f"{action}_{resource.singular}", **{f"{resource.singular}_id": identifier})
    return document


def act_on_each(identifiers: Sequence[str], act: Callable[[str], Document], as_json: bool) -> None:
    """Act on every one, also after a refusal, and print the states of the documents that this returns.

    Raises:
        typer.Exit: with status 1, something was refused.
    """
    done: list[Any] = []
    for identifier in identifiers:
        try:
            done.append(act(identifier))
        except AdjointError as error:
            sys.stderr.write(f"adjoint: {identifier}: {error}\n")
        else:
            if not as_json:
                print_lines([f"{identifier} {done[-1]['state']}"])
    if as_json:
        print_json(done)
    if len(done) < len(identifiers):
        raise typer.Exit(FAILED)
