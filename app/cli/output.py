"""What commands write: results to standard output, notes and questions to standard error."""

import json
import os
import shutil
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from app.cli.terminal.table import printable

FAILED = 1
"""Exit status where the server refused something."""
REFUSED = 2
"""Exit status where nothing was attempted, as for wrong arguments or a data directory that cannot be used."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def print_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output."""
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)


def print_json(document: Any) -> None:
    """Write a value to standard output as indented JSON."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def note(text: str) -> None:
    """Write what is no part of the result, so that a pipe does not get it."""
    sys.stderr.write(f"{text}\n")


def refused(why: object, status: int = REFUSED) -> typer.Exit:
    """Write why a command does not do what was asked, and return the exit to raise."""
    note(f"adjoint: {why}")
    return typer.Exit(status)


def terminal_width() -> int | None:
    """Return the width that tables must fit, None where the output is no terminal; COLUMNS sets it."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return None
    return shutil.get_terminal_size().columns


def confirm(what: str) -> None:
    """Ask whether to continue; exit if not, or without a terminal to ask on."""
    if not sys.stdin.isatty():
        raise refused(f"{what}; give --yes to agree")
    typer.confirm(f"{what[0].upper()}{what[1:]}. Go on?", abort=True, err=True)
