"""The limited process that profiles a dataset: `python -m app.ingest.profile_child`, JSON in on stdin, JSON out."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.ingest.child import confine, die_with_parent
from app.ingest.exchange import ChildError
from app.ingest.ingest import run_child
from app.ingest.limits import IngestLimits
from app.ingest.profile import ProfiledColumn, columns_of, profile_columns

_COMMAND = (sys.executable, "-P", "-m", "app.ingest.profile_child")


def compute_profile(
    columns: Sequence[ProfiledColumn], target: str | None, limits: IngestLimits, folder: Path
) -> dict[str, Any]:
    """Return `profile_columns` of columns, computed in a process of its own; ChildError if that ends without one.

    `folder` is where it runs. Blocks for as long as `limits` allow for the bytes of the columns.
    """
    size = sum(Path(column.path).stat().st_size for column in columns)
    request = {"columns": [asdict(column) for column in columns], "target": target, "limits": asdict(limits)}
    answer = run_child(_COMMAND, json.dumps(request).encode() + b"\n", limits.wall_budget(size), folder)
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise ChildError("the process that profiles wrote no JSON") from error
    return found


def main() -> None:
    """Serve one request."""
    die_with_parent()
    request = json.loads(sys.stdin.buffer.readline())
    columns = columns_of(request["columns"])
    confine(IngestLimits(**request["limits"]), sum(Path(column.path).stat().st_size for column in columns))
    profile = profile_columns(columns, request["target"])
    sys.stdout.buffer.write(json.dumps(profile, allow_nan=False).encode() + b"\n")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
