"""The two lines that the server and the process that reads an upload exchange: a request, and a verdict."""

import json
import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from app.ingest.column_ranges import ColumnRange
from app.ingest.columns import IngestedColumn, column_path
from app.ingest.limits import ImageOptions, IngestError, IngestLimits, IngestOptions
from app.ingest.npy_header import canonical_header
from app.ingest.sources import open_upload


@dataclass(frozen=True, slots=True)
class IngestResult:
    """A data set that was taken: its own name if the file has one, its number of rows, and its columns in order."""

    name: str | None
    rows: int
    columns: tuple[IngestedColumn, ...]


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """To the child: read the file at `path` into the folder `target`. Both are absolute, and chosen by the server.

    With `in_place`, columns that the file holds as they are stored are not written, see `ColumnRange`.
    """

    path: Path
    format: str
    target: Path
    options: IngestOptions
    limits: IngestLimits
    in_place: bool = False


def encode_request(request: IngestRequest) -> bytes:
    return json.dumps(asdict(request), default=str).encode() + b"\n"


def decode_request(line: bytes) -> IngestRequest:
    """The reverse of `encode_request`."""
    fields: dict[str, Any] = json.loads(line)
    return IngestRequest(
        path=Path(fields["path"]),
        format=fields["format"],
        target=Path(fields["target"]),
        options=_decode_options(fields["options"]),
        limits=IngestLimits(**fields["limits"]),
        in_place=fields["in_place"],
    )


def _decode_options(fields: dict[str, Any]) -> IngestOptions:
    images = {name: ImageOptions(**of_column) for name, of_column in fields["images"].items()}
    return IngestOptions(**{**fields, "missing": tuple(fields["missing"]), "images": images})


def encode_verdict(verdict: IngestResult | IngestError) -> bytes:
    """One line of JSON: the columns, or the error."""
    if isinstance(verdict, IngestError):
        error = {"code": verdict.code, "pointer": verdict.pointer, "detail": verdict.detail, "limit": verdict.limit}
        return json.dumps({"error": error}).encode() + b"\n"
    return json.dumps({"result": asdict(verdict)}, default=str, allow_nan=False).encode() + b"\n"


def decode_verdict(
    line: bytes, request: IngestRequest, ranges: Collection[ColumnRange] = ()
) -> IngestResult | IngestError:
    """The reverse of `encode_verdict`; ValueError if the line is no verdict, as a dying child may leave it.

    Columns that are not written are among the `ranges` that the child has named before.

    Paths are made from the request, not read: a child that a file has compromised must not name files to its server.
    """
    try:
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            return IngestError(**message["error"])
        result = message["result"]
        rows, read = result["rows"], enumerate(result["columns"])
        columns = tuple(_decode_column(fields, _column_file(fields, rows, k, request, ranges)) for k, fields in read)
        return IngestResult(result["name"], rows, columns)
    except (LookupError, TypeError) as error:
        msg = "the line is JSON and no verdict"
        raise ValueError(msg) from error


def _column_file(
    fields: dict[str, Any], rows: int, number: int, request: IngestRequest, ranges: Collection[ColumnRange]
) -> Path:
    """Return the file of a column; ValueError if it is said to be the upload, and that is none of its shape."""
    shape = (rows, *fields["shape"])
    if fields["offset"] is not None:
        if ColumnRange(fields["dtype"], shape, fields["offset"]) not in ranges:
            msg = "the column was not named before"
            raise ValueError(msg)
        return request.path
    if fields["path"] != str(request.path):
        return column_path(request.target, number)
    dtype = np.dtype(fields["dtype"]).newbyteorder("<")
    header = canonical_header(dtype, shape)
    with open_upload(request.path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if file.read(len(header)) != header or size_bytes != len(header) + prod(shape) * dtype.itemsize:
            msg = "the upload is not the column that it is said to be"
            raise ValueError(msg)
    return request.path


def _decode_column(fields: dict[str, Any], path: Path) -> IngestedColumn:
    classes = fields["classes"]
    images = None if fields["images"] is None else ImageOptions(**fields["images"])
    read = {"path": path, "shape": tuple(fields["shape"]), "images": images}
    read["classes"] = None if classes is None else tuple(classes)
    return IngestedColumn(**fields | read)
