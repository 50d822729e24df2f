"""Reads an upload in a limited child process: a file in, columns or an error out."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.ingest.columns import IngestedColumn, column_path
from app.ingest.formats import READERS, IngestResult
from app.ingest.limits import IngestError, IngestLimits, IngestOptions, domain_error


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """To the child: read the file at `path` into the folder `target`. Both are absolute, and chosen by the server."""

    path: Path
    format: str
    target: Path
    options: IngestOptions
    limits: IngestLimits


def encode_request(request: IngestRequest) -> bytes:
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
        columns = tuple(_decode_column(fields, column_path(target, k)) for k, fields in enumerate(result["columns"]))
        return IngestResult(result["name"], result["rows"], columns)
    except (LookupError, TypeError) as error:
        msg = "the line is JSON and no verdict"
        raise ValueError(msg) from error


def _decode_column(fields: dict[str, Any], path: Path) -> IngestedColumn:
    classes = fields["classes"]
    told = {"path": path, "shape": tuple(fields["shape"]), "classes": None if classes is None else tuple(classes)}
    return IngestedColumn(**fields | told)


FORMATS = tuple(READERS)
"""Names of the formats that `ingest` reads."""

_COMMAND = (sys.executable, "-P", "-m", "app.ingest.child")
_IMPORT_ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = {
    "PYTHONPATH": str(_IMPORT_ROOT),
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_KEPT_STDERR = 2000


class ChildError(Exception):
    """The child ended without a verdict; the cause of an `Invalid` with the code `unreadable`, for the server's log."""


def ingest(path: Path, format: str, target: Path, options: IngestOptions, limits: IngestLimits) -> IngestResult:
    """Read the upload at `path`, of one of `FORMATS`, into the existing empty folder `target`, one `.npy` a column.

    Blocks until the child is done, at most `limits.wall_budget` seconds. Raises `Invalid` (the finding holds the code
    and the pointer; `unreadable` if the child died), `TooLarge` or `StorageFull`, and then leaves `target` empty.
    """
    request = IngestRequest(path.absolute(), format, target.absolute(), options, limits)
    try:
        verdict = _run(request)
    except ChildError as death:
        _empty(target)
        detail = "the file could not be read: its reader was stopped; check that it is whole and of the stated format"
        raise domain_error(IngestError("unreadable", "", detail)) from death
    if isinstance(verdict, IngestError):
        _empty(target)
        raise domain_error(verdict) from verdict
    return verdict


def _run(request: IngestRequest) -> IngestResult | IngestError:
    timeout = request.limits.wall_budget(request.path.stat().st_size)
    process = subprocess.Popen(  # noqa: S603 (the command is fixed)
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        cwd=request.target,
        start_new_session=True,  # Ctrl-C is for the server, which decides what becomes of the upload
    )
    with process:
        try:
            answer, noise = process.communicate(encode_request(request), timeout)
        except subprocess.TimeoutExpired as error:
            msg = f"no verdict within {timeout:.0f} s"
            raise ChildError(msg) from error
        finally:
            process.kill()
    try:
        return decode_verdict(answer, request.target)
    except ValueError as error:
        msg = f"exit status {process.returncode}: {noise[-_KEPT_STDERR:].decode(errors='replace')}"
        raise ChildError(msg) from error


def _empty(target: Path) -> None:
    for rest in target.iterdir():
        rest.unlink()
