"""Tables as files, block of rows by block, in memory that does not grow with the rows: CSV, JSON, NDJSON, npz, Parquet.

A block has an array [rows, ...] by column: numbers, truth values or texts (dtype U). All blocks have the same columns.
Where a column has more than one value a row, a format of plain cells gets a column for each, named `column.position`,
or by the `labels` of its last axis.
"""

import csv
import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.domain.documents import JSON, NPZ
from app.ingest.encoding import json_body
from app.ingest.npy_header import canonical_header
from app.ingest.parquet_file import write_parquet

Array = NDArray[Any]
Block = Mapping[str, Array]
Labels = Mapping[str, Sequence[str]]
"""Names of the positions along the last axis of a column."""

CSV, NDJSON, PARQUET = "text/csv", "application/x-ndjson", "application/vnd.apache.parquet"
CHUNK = 1 << 20


def table_pieces(
    media: str, blocks: Iterator[Block], labels: Labels, head: Mapping[str, Any], folder: Path
) -> Iterator[bytes]:
    """Encode blocks of rows as a file of one of `TABLE_TYPES`.

    `head` holds fields that stand before the rows of a JSON document; temporary files are below `folder`.
    """
    prepared = ({name: _encodable(array) for name, array in block.items()} for block in blocks)
    if media == JSON:
        return _json_pieces(prepared, labels, head)
    if media == NPZ:
        return _npz_pieces(prepared, folder)
    return _WRITERS[media](prepared, labels)


def _encodable(array: Array) -> Array:
    """Return an array of a type that every format has: float16 and bfloat16 become float32."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind in "fV" else array


def flat_columns(block: Block, labels: Labels) -> dict[str, Array]:
    """Return a block as columns of single values."""
    flat: dict[str, Array] = {}
    for name, array in block.items():
        if array.ndim == 1:
            flat[name] = array
            continue
        ranges: list[Sequence[Any]] = [range(extent) for extent in array.shape[1:]]
        last = labels.get(name)
        if last is not None:
            ranges[-1] = last
        rows = array.reshape(len(array), -1)
        for position, place in enumerate(product(*ranges)):
            flat[".".join((name, *map(str, place)))] = rows[:, position]
    return flat


def csv_pieces(blocks: Iterator[Block], labels: Labels) -> Iterator[bytes]:
    """Encode blocks as a CSV file with a header; NaN and empty texts are empty cells."""
    for number, block in enumerate(blocks):
        flat, text = flat_columns(block, labels), io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if number == 0:
            writer.writerow(flat)
        writer.writerows(zip(*(_cells(column) for column in flat.values()), strict=True))
        yield text.getvalue().encode()


def _cells(column: Array) -> list[Any]:
    """Return cells of a CSV file; numbers read back to the same bits, and NaN is an empty cell."""
    if column.dtype.kind != "f":
        return list(map(str, column.tolist()))
    texts = column.astype(str).tolist()  # the shortest text of a number in its own precision
    return ["" if text == "nan" else text for text in texts]


def _rows(block: Block, labels: Labels) -> Iterator[bytes]:
    """Yield each row as a JSON object."""
    names = [json_body(name) for name in block]
    cells = [[json_body(cell) for cell in _json_cells(array, labels.get(name))] for name, array in block.items()]
    for row in zip(*cells, strict=True):
        yield b"{" + b",".join(map(b":".join, zip(names, row, strict=True))) + b"}"


def _json_cells(array: Array, labels: Sequence[str] | None) -> Iterator[Any]:
    """Yield the value of each row, an array or an object by label where there are several."""
    plain = array.tolist() if array.dtype.kind == "U" or (array.ndim == 1 and array.dtype.kind != "f") else array
    for cell in plain:
        named = labels is not None and isinstance(cell, np.ndarray) and cell.ndim == 1
        yield dict(zip(labels or (), cell, strict=True)) if named else cell


def _ndjson_pieces(blocks: Iterator[Block], labels: Labels) -> Iterator[bytes]:
    for block in blocks:
        yield b"".join(row + b"\n" for row in _rows(block, labels))


def _json_pieces(blocks: Iterator[Block], labels: Labels, head: Mapping[str, Any]) -> Iterator[bytes]:
    yield json_body(head)[:-1] + b',"data":['
    for number, block in enumerate(blocks):
        yield (b"," if number else b"") + b",".join(_rows(block, labels))
    yield b"]}"


def _npz_pieces(blocks: Iterator[Block], folder: Path) -> Iterator[bytes]:
    """Encode columns as the members of an archive: each is gathered in a file of its own first."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        files: dict[str, BinaryIO] = {}
        shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        rows = 0
        try:
            for block in blocks:
                for name, array in block.items():
                    if name not in files:
                        files[name] = (Path(scratch) / str(len(files))).open("w+b")
                        shapes[name] = array.dtype, array.shape[1:]
                    files[name].write(np.ascontiguousarray(array, shapes[name][0]).tobytes())
                rows += len(next(iter(block.values())))
                yield b""  # the reader may stop here
            path = Path(scratch) / "archive"
            with zipfile.ZipFile(path, "w") as archive:
                for name, file in files.items():
                    dtype, shape = shapes[name]
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        member.write(canonical_header(dtype, (rows, *shape)))
                        file.seek(0)
                        shutil.copyfileobj(file, member, CHUNK)
            with path.open("rb") as whole:
                while piece := whole.read(CHUNK):
                    yield piece
        finally:
            for file in files.values():
                file.close()


def _parquet_pieces(blocks: Iterator[Block], labels: Labels) -> Iterator[bytes]:
    return write_parquet(flat_columns(block, labels) for block in blocks)


_WRITERS: Mapping[str, Callable[[Iterator[Block], Labels], Iterator[bytes]]] = MappingProxyType(
    {CSV: csv_pieces, NDJSON: _ndjson_pieces, PARQUET: _parquet_pieces}
)

TABLE_TYPES: Mapping[str, str] = MappingProxyType(
    {"json": JSON, "ndjson": NDJSON, "csv": CSV, "npz": NPZ, "parquet": PARQUET}
)
"""The media type of each format of tables."""
