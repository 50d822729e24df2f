"""The limited process that writes a dataset as a file: `python -m app.ingest.export_child`, JSON in and JSON out."""

import errno
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.ingest.arrow_columns import load_arrow
from app.ingest.child import confine, die_with_parent
from app.ingest.exchange import ChildError
from app.ingest.exported import ExportedColumn, ExportFormat, write_export
from app.ingest.ingest import run_child
from app.ingest.limits import IngestError, IngestLimits, domain_error, too_large

_COMMAND = (sys.executable, "-P", "-m", "app.ingest.export_child")
_SLOWNESS = 4
"""How much longer than to read a file it may take to write one: numbers become texts."""


def export_columns(
    columns: Sequence[ExportedColumn], rows: int, format: ExportFormat, path: Path, limits: IngestLimits
) -> None:
    """Write a file in a process of its own.

    Raises:
        Invalid: the format does not have what the columns hold, or pyarrow is not installed.
        TooLarge: the file would be larger than the limit.
        StorageFull: there is no room on the disk.
    """
    size = _time_bytes(columns)
    request = {
        "columns": [asdict(column) for column in columns],
        "rows": rows,
        "format": format,
        "path": str(path),
        "limits": asdict(limits),
    }
    try:
        answer = run_child(_COMMAND, json.dumps(request).encode() + b"\n", limits.wall_budget(size), path.parent)
        error = json.loads(answer)["error"]
    except (ChildError, ValueError) as death:
        detail = "the file could not be written within the limits of this server; ask for another format, or fewer rows"
        raise domain_error(IngestError("unreadable", "/format", detail)) from death
    if error is not None:
        raise domain_error(IngestError(**error))


def _time_bytes(columns: Sequence[ExportedColumn]) -> int:
    return _SLOWNESS * sum(Path(column.path).stat().st_size for column in columns)


def main() -> None:
    """Serve one request."""
    die_with_parent()
    request = json.loads(sys.stdin.buffer.readline())
    columns = [_column(fields) for fields in request["columns"]]
    limits = IngestLimits(**request["limits"])
    if request["format"] in ("arrow", "parquet"):
        load_arrow()
    confine(limits, _time_bytes(columns))
    error = _write(columns, request["rows"], request["format"], Path(request["path"]), limits)
    fault = None if error is None else {name: getattr(error, name) for name in ("code", "pointer", "detail", "limit")}
    sys.stdout.buffer.write(json.dumps({"error": fault}).encode() + b"\n")


def _column(fields: dict[str, Any]) -> ExportedColumn:
    classes = fields["classes"]
    typed = {"shape": tuple(fields["shape"]), "classes": None if classes is None else tuple(classes)}
    return ExportedColumn(**{**fields, **typed})


def _write(
    columns: Sequence[ExportedColumn], rows: int, format: ExportFormat, path: Path, limits: IngestLimits
) -> IngestError | None:
    """Write the file; return why it cannot be."""
    try:
        write_export(columns, rows, format, path)
    except IngestError as error:
        return error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return IngestError("storage_full", "", "the server's disk has no room for the file")
        if error.errno == errno.EFBIG:
            return too_large("expanded_too_large", "/format", "bytes of the file", limits.max_expanded_bytes)
        raise
    return None


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
