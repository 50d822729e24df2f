"""`adjoint audit`: check the audit trail for tampering."""

import sys
from collections.abc import Iterator
from typing import Any

import typer

from app.cli.administration import DEFAULT_DATA_DIR, DataOption, ServerOption, administration
from app.cli.connection import KeyFileOption
from app.cli.output import refused
from app.domain.audit import AuditRecord, TrailBroken, examined
from app.domain.clock import read_rfc3339

BROKEN = 1
"""Exit status where the trail was tampered with."""

audit = typer.Typer(help="Look after the audit trail of a server, whether it runs or not.", no_args_is_help=True)


@audit.callback()
def _audit() -> None:
    # With a callback, a single command keeps its name.
    pass


@audit.command("verify")
def verify(url: ServerOption = None, key_file: KeyFileOption = None, data_dir: DataOption = DEFAULT_DATA_DIR) -> None:
    """Check every entry against the one before it, and print their number and the hash of the last one.

    A running server (--url) shows the entries in its database; older ones are in files of its data directory, which are
    checked with the database when no server is using it (--data-dir).

    Write number and hash down elsewhere to verify later that nothing is missing at the end.
    """
    with administration(url, key_file, data_dir) as office:
        try:
            found = examined(_records(office.audit_entries()))
            if not found.accounted and not url:
                raise TrailBroken(found.first - 1, "it is missing, and no entry says that it was deleted")
        except TrailBroken as error:
            raise refused(f"the audit trail was tampered with: {error}", BROKEN) from error
    sys.stdout.write(f"{found.count} entries, unbroken; the last one is {found.hash}\n")
    if found.first > 1:
        where = "were deleted, as an entry says" if found.accounted else "are in files: see to them with --data-dir"
        sys.stdout.write(f"the first one is {found.first}; those before it {where}\n")


def _records(entries: Iterator[dict[str, Any]]) -> Iterator[AuditRecord]:
    for entry in entries:
        yield AuditRecord(**{**entry, "at": read_rfc3339(entry["at"])})
