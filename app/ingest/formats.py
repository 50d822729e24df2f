"""The table of formats, and the reading of one file in this very process."""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType

from app.ingest.columns import ColumnSet, IngestedColumn
from app.ingest.csv import read_csv
from app.ingest.json_columns import read_json, read_ndjson
from app.ingest.limits import IngestError, IngestLimits, IngestOptions
from app.ingest.npy import read_npy
from app.ingest.npz import read_npz
from app.ingest.parquet import load, read_parquet
from app.ingest.safetensors import read_safetensors

Reader = Callable[[BufferedReader, int, ColumnSet, IngestOptions], None]

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "csv": read_csv,
        "json": read_json,
        "ndjson": read_ndjson,
        "npy": read_npy,
        "npz": read_npz,
        "parquet": read_parquet,
        "safetensors": read_safetensors,
    }
)


@dataclass(frozen=True, slots=True)
class IngestResult:
    """A data set that was taken: its own name if the file tells one, its number of rows, and its columns in order."""

    name: str | None
    rows: int
    columns: tuple[IngestedColumn, ...]


def prepare(format: str) -> None:
    """Load what a format needs beside this module, before the memory for its files is counted."""
    if format == "parquet":
        load()


def read_file(path: Path, format: str, target: Path, options: IngestOptions, limits: IngestLimits) -> IngestResult:
    """Read the file at `path` into the empty folder `target`; whatever is wrong with it is an `IngestError`.

    Trusts its own code with hostile bytes; a server calls `app.ingest.ingest.ingest` instead, which adds a process.
    """
    if format not in READERS:
        raise IngestError("unknown_format", "", f"the format is not known; use one of {', '.join(READERS)}")
    _check_options(format, options)
    columns = ColumnSet(target, limits)
    with _open(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes == 0:
            raise IngestError("empty", "", "the upload has no bytes")
        try:
            READERS[format](file, size_bytes, columns, options)
        except MemoryError:
            detail = f"reading this takes more than {limits.memory_bytes} bytes of memory; send .npy instead"
            raise IngestError("too_much_memory", "", detail, limit=limits.memory_bytes) from None
    rows, finished = columns.finish()
    return IngestResult(columns.dataset_name, rows, finished)


def _check_options(format: str, options: IngestOptions) -> None:
    if options.columns_spec is not None and format != "csv":
        raise IngestError("bad_columns", "/columns", f"the columns option is for CSV files, and this is {format}")
    if options.header != "auto" and format != "csv":
        raise IngestError("conflict", "/header", f"the header option is for CSV files, and this is {format}")
    if options.column is not None and format != "npy":
        raise IngestError("conflict", "/column", f"the column option is for .npy files, and this is {format}")


def _open(path: Path) -> BufferedReader:
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        msg = "an upload is read from a plain file only"
        raise ValueError(msg)
    return file
