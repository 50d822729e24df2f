"""What server and child say to each other: one line of JSON each way."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.ingest.columns import IngestedColumn, column_path
from app.ingest.errors import IngestError
from app.ingest.formats import IngestResult
from app.ingest.limits import IngestLimits
from app.ingest.options import IngestOptions


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """To the child: read the file at `path` into the folder `target`. Both are absolute, and chosen by the server."""

    path: Path
    format: str
    target: Path
    options: IngestOptions
    limits: IngestLimits


def encode_request(request: IngestRequest) -> bytes:
    """One line of JSON."""
    return json.dumps(asdict(request), default=str).encode() + b"\n"


def decode_request(line: bytes) -> IngestRequest:
    """The reverse of `encode_request`."""
    fields: dict[str, Any] = json.loads(line)
    return IngestRequest(
        path=Path(fields["path"]),
        format=fields["format"],
        target=Path(fields["target"]),
        options=IngestOptions(**fields["options"]),
        limits=IngestLimits(**fields["limits"]),
    )


def encode_verdict(verdict: IngestResult | IngestError) -> bytes:
    """One line of JSON: the columns, or the error."""
    if isinstance(verdict, IngestError):
        error = {"code": verdict.code, "pointer": verdict.pointer, "detail": verdict.detail, "limit": verdict.limit}
        return json.dumps({"error": error}).encode() + b"\n"
    return json.dumps({"result": asdict(verdict)}, default=str, allow_nan=False).encode() + b"\n"


def decode_verdict(line: bytes, target: Path) -> IngestResult | IngestError:
    """The reverse of `encode_verdict`; ValueError if the line is no verdict, as a dying child may leave it.

    Paths are made anew from `target`: a child that a file has taken over must not name files to its server.
    """
    try:
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            return IngestError(**message["error"])
        result = message["result"]
        columns = tuple(_column(fields, column_path(target, k)) for k, fields in enumerate(result["columns"]))
        return IngestResult(result["name"], result["rows"], columns)
    except (LookupError, TypeError) as error:
        msg = "the line is JSON and no verdict"
        raise ValueError(msg) from error


def _column(fields: dict[str, Any], path: Path) -> IngestedColumn:
    classes = fields["classes"]
    told = {"path": path, "shape": tuple(fields["shape"]), "classes": None if classes is None else tuple(classes)}
    return IngestedColumn(**fields | told)
