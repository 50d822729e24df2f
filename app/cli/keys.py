"""`adjoint keys`: make, list, revoke and reset the keys of a server, whether it runs or not."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.administration import (
    DEFAULT_DATA_DIR,
    Administration,
    DataOption,
    ServerOption,
    administration,
    is_open,
    offline,
)
from app.cli.connection import KeyFileOption
from app.cli.output import confirm

keys = typer.Typer(
    help="Make, list and revoke keys: at a running server (--url), or in the data directory of one that does not run.",
    no_args_is_help=True,
)

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask before the server is closed or opened.")]


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Option("--name", help="For whom, or for what.")],
    scopes: Annotated[
        str, typer.Option("--scopes", help="What it may be used for, with commas: read, train, admin.")
    ] = "train",
    expires: Annotated[
        str | None, typer.Option("--expires", help="When it ends, as 2027-01-31T12:00:00Z; by default never.")
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option("--tenant", help="Tenant of the key; by default that of the key that creates it."),
    ] = None,
    url: ServerOption = None,
    key_file: KeyFileOption = None,
    data_dir: DataOption = DEFAULT_DATA_DIR,
    yes: YesOption = False,
) -> None:
    """Make a key, and print what clients send; it cannot be recovered later.

    The scope train includes read, and admin both. The first key needs admin, for from then on no request is answered
    without a key; you are asked before that, unless --yes is given. Standard error says
    which server or data directory it is for.
    """
    place = _place(url, data_dir)
    with administration(url, key_file, data_dir) as office:
        if "admin" in scopes and not yes and _is_open(office, url):
            confirm(f"the first key closes {place}: from then on every request needs one")
        made = office.create_key(name, [scope.strip() for scope in scopes.split(",")], expires, tenant)
    sys.stdout.write(f"{made['key']}\n")
    sys.stderr.write(f"{made['id']}: a key of {place}; keep it, it is shown this once\n")


@keys.command("list")
def list_keys(
    url: ServerOption = None, key_file: KeyFileOption = None, data_dir: DataOption = DEFAULT_DATA_DIR
) -> None:
    """List keys, the newest first, those that have ended too."""
    with administration(url, key_file, data_dir) as office:
        for known in office.list_keys():
            sys.stdout.write(f"{_line(known)}\n")


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Id of a key, key_...")],
    url: ServerOption = None,
    key_file: KeyFileOption = None,
    data_dir: DataOption = DEFAULT_DATA_DIR,
) -> None:
    """End a key at once."""
    with administration(url, key_file, data_dir) as office:
        office.revoke_key(key_id)
    sys.stdout.write(f"{key_id} is revoked\n")


@keys.command("reset")
def reset_keys(data_dir: DataOption = DEFAULT_DATA_DIR, yes: YesOption = False) -> None:
    """Delete all keys in the data directory of a server that does not run: for whom the last admin key is lost.

    The server then answers requests without a key again, on loopback, unless ADJOINT_API_KEY is set.
    """
    with offline(data_dir) as office:
        if not yes:
            confirm("all keys end, and no request needs one until the next is made")
        count = office.reset_keys()
    sys.stdout.write(f"{count} keys deleted; the server is open on loopback until one is made\n")


def _place(url: str | None, data_dir: Path) -> str:
    """Return which server is administered, in words."""
    return f"the server at {url}" if url else f"the server of the data directory {data_dir.absolute()}"


def _is_open(office: Administration, url: str | None) -> bool:
    return is_open(url) if url else not office.list_keys()


def _line(key: dict[str, Any]) -> str:
    facts = {"expires": key["expires_at"], "revoked": key["revoked_at"], "last used": key["used_at"]}
    dates = "".join(f", {name} {moment}" for name, moment in facts.items() if moment is not None)
    return (
        f"{key['id']}  {key['tenant']}  {','.join(key['scopes']):<16}  {key['name']} (made {key['created_at']}{dates})"
    )
