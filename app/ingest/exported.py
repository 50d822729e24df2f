"""Stored columns as a file that an upload reads back to the same columns: CSV, Parquet, Arrow IPC or npz.

A text column has its texts, a missing value is an empty cell or null (NaN in npz), a tensor is a column for each
element in CSV, lists in Parquet and Arrow, an axis in npz. pyarrow (extra `parquet`) writes Parquet and Arrow. Memory
does not grow with the rows.
"""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.domain.records import Column
from app.ingest.arrow_columns import require_arrow
from app.ingest.limits import IngestError
from app.ingest.npy_header import canonical_header
from app.ingest.table_files import csv_pieces

Array = NDArray[Any]
ExportFormat = Literal["csv", "parquet", "arrow", "npz"]
BLOCK_BYTES = 8 << 20
GROUP_BYTES = 32 << 20
"""A row group of Parquet, or a batch of Arrow, about."""
SPEC_CHARACTERS_MAX = 16384
_LONGEST_SOURCE = 200
_MEMBER_BREAKERS = frozenset("/\\:")


@dataclass(frozen=True)
class ExportedColumn:
    """A column to write: its name and label, the `.npy` file of its values, and the texts of its codes if it has any.

    The file was written or checked by this server.
    """

    name: str
    label: str
    path: str
    shape: tuple[int, ...]
    classes: tuple[str, ...] | None

    @cached_property
    def _layout(self) -> tuple[np.dtype[Any], int]:
        """The dtype of the file, and where its values begin."""
        with Path(self.path).open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            _, _, dtype = read(file)
            return dtype, file.tell()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values, int64 of texts."""
        return self._layout[0]

    @property
    def row_bytes(self) -> int:
        """How many bytes a row has in the file."""
        return prod(self.shape) * self.dtype.itemsize

    @cached_property
    def texts(self) -> Array | None:
        """The texts by code; a missing one, -1, is empty."""
        return None if self.classes is None else np.array([*self.classes, ""])

    def read(self, start: int, stop: int) -> Array:
        """Return the values of rows, of texts their codes."""
        # Opened for each block: there may be more columns than files that this process may hold open.
        dtype, begin = self._layout
        flat = np.fromfile(self.path, dtype, (stop - start) * prod(self.shape), offset=begin + start * self.row_bytes)
        return flat.reshape(stop - start, *self.shape)

    def values(self, start: int, stop: int) -> Array:
        """Return the values of rows, of texts the texts."""
        block = self.read(start, stop)
        return block if self.texts is None else self.texts[block]


def write_export(columns: Sequence[ExportedColumn], rows: int, format: ExportFormat, path: Path) -> None:
    """Write a file of `rows` of the columns.

    Raises:
        IngestError: the format does not have what the columns hold, or pyarrow is not installed.
    """
    _WRITERS[format](columns, rows, path)


def _ranges(columns: Sequence[ExportedColumn], rows: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    step = max(1, size_bytes // max(1, sum(column.row_bytes for column in columns)))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)


def _write_csv(columns: Sequence[ExportedColumn], rows: int, path: Path) -> None:
    blocks = (
        {column.label: column.values(start, stop) for column in columns}
        for start, stop in _ranges(columns, rows, BLOCK_BYTES)
    )
    with path.open("wb") as file:
        file.writelines(csv_pieces(blocks, {}))


def _write_npz(columns: Sequence[ExportedColumn], rows: int, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for column in columns:
            # A member is in no folder.
            named = column.name if _MEMBER_BREAKERS & set(column.label) else column.label
            dtype = column.dtype if column.texts is None else column.texts.dtype
            with archive.open(f"{named}.npy", "w", force_zip64=True) as member:
                member.write(canonical_header(dtype, (rows, *column.shape)))
                for start, stop in _ranges((column,), rows, BLOCK_BYTES):
                    member.write(np.ascontiguousarray(column.values(start, stop)).tobytes())


def _write_arrow(columns: Sequence[ExportedColumn], rows: int, path: Path) -> None:
    arrow = require_arrow("Arrow")
    schema = _schema(arrow, columns)
    with arrow.OSFile(str(path), "wb") as sink, arrow.ipc.new_file(sink, schema) as writer:
        for start, stop in _ranges(columns, rows, GROUP_BYTES):
            writer.write_batch(_batch(arrow, schema, columns, start, stop))


def _write_parquet(columns: Sequence[ExportedColumn], rows: int, path: Path) -> None:
    arrow = require_arrow("Parquet")
    for column in columns:
        if len(column.shape) > 1:
            detail = f"column {column.label!r} holds tensors of {len(column.shape)} axes, and a list has one"
            raise IngestError("bad_shape", "/format", f"{detail}; ask for arrow or npz")
    schema = _schema(arrow, columns)
    with arrow.parquet.ParquetWriter(str(path), schema, compression="zstd") as writer:
        for start, stop in _ranges(columns, rows, GROUP_BYTES):
            writer.write_batch(_batch(arrow, schema, columns, start, stop))


def _schema(arrow: Any, columns: Sequence[ExportedColumn]) -> Any:
    return arrow.schema([arrow.field(column.label, _type(arrow, column)) for column in columns])


def _type(arrow: Any, column: ExportedColumn) -> Any:
    if column.classes is not None:
        return arrow.dictionary(arrow.int32(), arrow.string())
    type_ = arrow.from_numpy_dtype(column.dtype)
    for extent in reversed(column.shape):
        type_ = arrow.list_(type_, extent)
    return type_


def _batch(arrow: Any, schema: Any, columns: Sequence[ExportedColumn], start: int, stop: int) -> Any:
    arrays = [_array(arrow, column, column.read(start, stop)) for column in columns]
    return arrow.record_batch(arrays, schema=schema)


def _array(arrow: Any, column: ExportedColumn, block: Array) -> Any:
    if column.classes is not None:
        codes = arrow.array(block.astype(np.int32), mask=block < 0)
        return arrow.DictionaryArray.from_arrays(codes, arrow.array(column.classes, arrow.string()))
    if not column.shape:
        return arrow.array(block, mask=np.isnan(block) if block.dtype.kind == "f" else None)
    array = arrow.array(block.reshape(-1))
    for extent in reversed(column.shape):
        array = arrow.FixedSizeListArray.from_arrays(array, extent)
    return array


_WRITERS: Mapping[str, Callable[[Sequence[ExportedColumn], int, Path], None]] = MappingProxyType(
    {"csv": _write_csv, "npz": _write_npz, "arrow": _write_arrow, "parquet": _write_parquet}
)


def csv_columns_spec(columns: Sequence[Column]) -> str | None:
    """Return the `columns` option by which an upload reads the CSV file of the columns with the same types.

    None if it would be longer than the option may be.
    """
    parts = []
    for column in columns:
        label, kind = column.label or column.name, "class" if column.classes is not None else column.dtype
        if not column.shape:
            parts.append(f"{_quoted(label)}:{kind}")
            continue
        first = ".".join((label, *("0" for _ in column.shape)))
        last = ".".join((label, *(str(extent - 1) for extent in column.shape)))
        if len(last) > _LONGEST_SOURCE:
            return None
        sizes = ",".join(map(str, column.shape))
        parts.append(f"{_quoted(label)}:{kind}[{sizes}]={_quoted(first)}..{_quoted(last)}")
    spec = ",".join(parts)
    return spec if len(spec) <= SPEC_CHARACTERS_MAX else None


def _quoted(name: str) -> str:
    """Return a name as the option has it."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else '"' + name.replace('"', '""') + '"'
