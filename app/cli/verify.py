"""`adjoint verify`: whether what a data directory holds is what was stored."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.administration import DEFAULT_DATA_DIR
from app.cli.output import refused

if TYPE_CHECKING:
    from app.cli.verification import Report

DAMAGED = 1
"""Exit status where something is damaged or missing."""

MEGABYTE = 1e6


def verify(
    data_dir: Annotated[
        Path, typer.Option(envvar="ADJOINT_DATA_DIR", help="Data directory, whether a server is using it or not.")
    ] = DEFAULT_DATA_DIR,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
) -> None:
    """Check a data directory: the database, every stored file against its digest, sessions, and the audit trail.

    Nothing is changed, and a server may go on working there. Files are read as a whole. The exit status is 0 if all is
    whole, 1 if something is damaged or missing.
    """
    # Only now: the other commands do without the database, which takes a while to load.
    from app.cli.verification import verify_directory

    try:
        report = verify_directory(data_dir)
    except OSError as error:
        raise refused(f"cannot read the data directory {data_dir} ({error.strerror or error})") from error
    if as_json:
        sys.stdout.write(json.dumps({"ok": not report.findings, **asdict(report)}) + "\n")
    else:
        _print(data_dir, report)
    if report.findings:
        raise typer.Exit(DAMAGED)


def _print(data_dir: Path, report: "Report") -> None:
    for finding in report.findings:
        sys.stdout.write(f"{finding}\n")
    for digest in report.unreferenced_blobs:
        sys.stdout.write(f"nothing refers to blob {digest}; the next start deletes it\n")
    for session_id in report.unreferenced_sessions:
        sys.stdout.write(f"nothing refers to the folder of session {session_id}; the next start deletes it\n")
    verdict = f"{len(report.findings)} damaged or missing" if report.findings else "all whole"
    blobs = f"{report.blobs} blobs ({report.bytes / MEGABYTE:.1f} MB)"
    others = f"{report.sessions} sessions and {report.audit_entries} entries of the audit trail"
    sys.stdout.write(f"{data_dir}: {verdict}; {blobs}, {others} in {report.seconds:.1f} s\n")
