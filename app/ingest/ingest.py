"""Reads an upload in a limited child process: a file in, columns or an error out; the table of formats."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType

from app.ingest.arrow_columns import load_arrow
from app.ingest.arrow_ipc import read_arrow
from app.ingest.column_ranges import ColumnRange, decode_range, is_range
from app.ingest.columns import ColumnSet
from app.ingest.csv import ARROW_BYTES, read_csv
from app.ingest.derived import DERIVED, read_derived
from app.ingest.exchange import KEPT_BYTES, ChildError, Process, ask_reader, end_process
from app.ingest.image_zip import read_image_zip
from app.ingest.images import load_pillow
from app.ingest.json_columns import read_json, read_ndjson
from app.ingest.limits import IngestError, IngestLimits, IngestOptions, domain_error
from app.ingest.npy import read_npy
from app.ingest.npz import read_npz
from app.ingest.packed import PACKING_BYTES, load_packing, packing, unpack
from app.ingest.parquet import read_parquet
from app.ingest.safetensors import read_safetensors
from app.ingest.sources import open_upload
from app.ingest.verdict import IngestRequest, IngestResult, decode_verdict, encode_request

ZIP = "zip"
WITH_IMAGES = frozenset({ZIP, "parquet", "arrow"})
"""Formats of files that may hold images."""
_IMAGE_OPTIONS = ("image_size", "image_mode", "image_dtype")
_IMAGE_FILES = "zip files of images, and for Parquet and Arrow with images as bytes"
Reader = Callable[[BufferedReader, int, ColumnSet, IngestOptions], None]

OnRange = Callable[[ColumnRange], object]
"""Takes a column that is bytes of the upload."""

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "arrow": read_arrow,
        "csv": read_csv,
        "json": read_json,
        "ndjson": read_ndjson,
        "npy": read_npy,
        "npz": read_npz,
        "parquet": read_parquet,
        "safetensors": read_safetensors,
        ZIP: read_image_zip,
    }
)


def prepare(path: Path, format: str) -> None:
    """Load what a file needs beside this module, before the memory for files is counted."""
    if format in ("arrow", "parquet"):
        load_arrow()
    if format == ZIP:
        load_pillow()
    with open_upload(path) as file:
        name = packing(file.peek(PACKING_BYTES))
        load_packing(name)
        if format == "csv" and (name is not None or os.fstat(file.fileno()).st_size >= ARROW_BYTES):
            load_arrow()


def read_file(
    path: Path,
    format: str,
    target: Path,
    options: IngestOptions,
    limits: IngestLimits,
    on_range: OnRange | None = None,
) -> IngestResult:
    """Read the file at `path` into the empty folder `target`; any fault in it is an `IngestError`.

    With `on_range`, columns that the file holds as they are stored are not written, see `ColumnSet`.

    Trusts its own code with hostile bytes; a server calls `app.ingest.ingest.ingest` instead, which adds a process.
    """
    reader = read_derived if format == DERIVED else READERS.get(format)
    if reader is None:
        raise IngestError("unknown_format", "", f"the format is not known; use one of {', '.join(READERS)}")
    _check_options(format, options)
    with open_upload(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes == 0:
            raise IngestError("empty", "", "the upload has no bytes")
        name = packing(file.peek(PACKING_BYTES))
        columns = ColumnSet(target, limits, path if name is None else None, on_range)
        if options.content_encoding not in (None, name):
            detail = f"Content-Encoding says {options.content_encoding}, and the body is not compressed so"
            raise IngestError("bad_data", "", detail)
        try:
            if name is None:
                reader(file, size_bytes, columns, options)
            else:
                with unpack(file, size_bytes, name, target, limits) as unpacked:
                    _read_unpacked(unpacked, reader, columns, options)
        except MemoryError:
            detail = f"reading this takes more than {limits.memory_bytes} bytes of memory; send .npy instead"
            raise IngestError("too_much_memory", "", detail, limit=limits.memory_bytes) from None
    rows, finished = columns.finish()
    asked = next((name for name in _IMAGE_OPTIONS if getattr(options, name) is not None), None)
    if asked is not None and not any(column.images for column in finished):
        detail = f"the {asked} option is for images, and no column of the file holds any as bytes; leave it out"
        raise IngestError("conflict", f"/{asked}", detail)
    return IngestResult(columns.dataset_name, rows, finished)


def _read_unpacked(file: BufferedReader, reader: Reader, columns: ColumnSet, options: IngestOptions) -> None:
    size_bytes = os.fstat(file.fileno()).st_size
    if size_bytes == 0:
        raise IngestError("empty", "", "the compressed file holds no bytes")
    if packing(file.peek(PACKING_BYTES)) is not None:
        raise IngestError("bad_data", "", "the file is compressed twice; compress it once")
    reader(file, size_bytes, columns, options)


def time_bytes(path: Path, format: str, limits: IngestLimits) -> int:
    """Return the bytes of a file for which time is allowed: of a compressed one, or of images, more than it has."""
    with open_upload(path) as file:
        packed = format in WITH_IMAGES or packing(file.peek(PACKING_BYTES)) is not None
        return os.fstat(file.fileno()).st_size * (limits.usual_ratio if packed else 1)


def _check_options(format: str, options: IngestOptions) -> None:
    if options.columns_spec is not None and format != "csv":
        raise IngestError("bad_columns", "/columns", f"the columns option is for CSV files, and this is {format}")
    if options.header != "auto" and format != "csv":
        raise IngestError("conflict", "/header", f"the header option is for CSV files, and this is {format}")
    usual = IngestOptions()
    for name in ("delimiter", "decimal", "encoding", "missing"):
        # A zip file may hold a CSV file.
        if getattr(options, name) != getattr(usual, name) and format not in ("csv", ZIP):
            raise IngestError("conflict", f"/{name}", f"the {name} option is for CSV files, and this is {format}")
    for name in _IMAGE_OPTIONS:
        if getattr(options, name) is not None and format not in WITH_IMAGES:
            raise IngestError("conflict", f"/{name}", f"the {name} option is for {_IMAGE_FILES}, not {format}")
    if options.column is not None and format != "npy":
        raise IngestError("conflict", "/column", f"the column option is for .npy files, and this is {format}")


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
    "MALLOC_ARENA_MAX": "1",  # each further one reserves address space, which is limited
}


def start_reader() -> Process:
    """Start a process that waits for requests to read uploads."""
    return start_child(_COMMAND, _IMPORT_ROOT)


@contextmanager
def run_reader() -> Iterator[Process]:
    """Run such a process within the block."""
    process = start_reader()
    try:
        yield process
    finally:
        end_process(process)


def ingest(
    path: Path,
    format: str,
    target: Path,
    options: IngestOptions,
    limits: IngestLimits,
    take: Callable[[], AbstractContextManager[Process]] = run_reader,
    on_range: OnRange | None = None,
) -> IngestResult:
    """Read the upload at `path`, of one of `FORMATS`, into the existing empty folder `target`, one `.npy` a column.

    With `on_range`, columns that the upload holds as they are stored are not written: it is called with each as soon as
    that is known, before the values and the rest of the upload are.

    Blocks until the child is done, at most `limits.wall_budget` seconds. Raises `Invalid` (the finding holds the code
    and the pointer; `unreadable` if the child died), `TooLarge` or `StorageFull`, and then leaves `target` empty.
    `take` provides the process.
    """
    request = IngestRequest(path.absolute(), format, target.absolute(), options, limits, on_range is not None)
    try:
        verdict = _run(request, take, on_range)
    except ChildError as death:
        _empty(target)
        detail = "the file could not be read: its reader was stopped; check that it is whole and of the stated format"
        raise domain_error(IngestError("unreadable", "", detail)) from death
    if isinstance(verdict, IngestError):
        _empty(target)
        raise domain_error(verdict) from verdict
    return verdict


def _run(
    request: IngestRequest, take: Callable[[], AbstractContextManager[Process]], on_range: OnRange | None
) -> IngestResult | IngestError:
    try:
        size_bytes = request.path.stat().st_size
        timeout = request.limits.wall_budget(time_bytes(request.path, request.format, request.limits))
    except (OSError, ValueError) as error:
        msg = f"the file cannot be opened: {error}"
        raise ChildError(msg) from error
    line, ranges = b"", list[ColumnRange]()
    with take() as process:
        try:
            for line in ask_reader(process, encode_request(request), timeout):
                if on_range is not None and is_range(line):
                    ranges.append(decode_range(line, ranges[-1].end if ranges else 0, size_bytes))
                    on_range(ranges[-1])
            return decode_verdict(line, request, ranges)
        except ValueError as error:
            raise ChildError(str(error)) from error


def run_child(command: Sequence[str], request: bytes, timeout: float, folder: Path) -> bytes:
    """Return what a command writes to stdout for a request on stdin, in a process of its own that runs in `folder`.

    Raises:
        ChildError: it took more than `timeout` seconds, or ended with another status than 0.
    """
    with start_child(command, folder) as process:
        try:
            answer, noise = process.communicate(request, timeout)
        except subprocess.TimeoutExpired as error:
            msg = f"no verdict within {timeout:.0f} s"
            raise ChildError(msg) from error
        finally:
            process.kill()
    if process.returncode != 0:
        msg = f"exit status {process.returncode}: {noise[-KEPT_BYTES:].decode(errors='replace')}"
        raise ChildError(msg)
    return answer


def start_child(command: Sequence[str], folder: Path) -> Process:
    """Start a command in `folder`, which waits for requests on stdin."""
    return subprocess.Popen(  # noqa: S603 (the command is fixed)
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        cwd=folder,
        start_new_session=True,  # Ctrl-C is for the server, which decides what becomes of the request
    )


def _empty(target: Path) -> None:
    for rest in target.iterdir():
        rest.unlink()
