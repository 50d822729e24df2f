"""`adjoint keys`: make, list and revoke the keys of a server, whether it runs or not."""

import sys
from typing import Annotated, Any

import typer

from app.cli.administration import DEFAULT_DATA_DIR, DataOption, ServerOption, administration
from app.cli.connection import KeyFileOption

keys = typer.Typer(
    help="Make, list and revoke keys: at a running server (--url), or in the data directory of one that does not run.",
    no_args_is_help=True,
)


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
        str | None, typer.Option("--tenant", help="Whose things it is for; by default those of whoever makes it.")
    ] = None,
    url: ServerOption = None,
    key_file: KeyFileOption = None,
    data_dir: DataOption = DEFAULT_DATA_DIR,
) -> None:
    """Make a key, and print what clients send; nobody can tell it later.

    The scope train includes read, and admin both. The first key needs admin, for from then on no request is answered
    without a key.
    """
    with administration(url, key_file, data_dir) as office:
        made = office.create_key(name, [scope.strip() for scope in scopes.split(",")], expires, tenant)
    sys.stdout.write(f"{made['key']}\n")
    sys.stderr.write(f"{made['id']}: keep the key above, it is shown this once\n")


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


def _line(key: dict[str, Any]) -> str:
    facts = {"expires": key["expires_at"], "revoked": key["revoked_at"], "last used": key["used_at"]}
    told = "".join(f", {name} {moment}" for name, moment in facts.items() if moment is not None)
    return (
        f"{key['id']}  {key['tenant']}  {','.join(key['scopes']):<16}  {key['name']} (made {key['created_at']}{told})"
    )
