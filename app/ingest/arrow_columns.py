"""Columns of Arrow arrays, which pyarrow (extra `parquet`) reads from a file in the confined child process only.

Numbers and truth values stay what they are, and become floats where one is missing. Dates, times and durations become
seconds in float64: since 1970 in UTC, since midnight, or of length. Texts become class codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.columns import CHUNK_BYTES, ColumnSet, ColumnWriter, pointer_to
from app.ingest.image_column import BinaryColumn
from app.ingest.limits import IngestError, IngestOptions
from app.ingest.values import CLASS, CONSECUTIVE, FLOAT64, ColumnPlan, ValueColumn, precision_lost

_FLOATS = {size: np.dtype(np.float32) for size in (1, 2)}
"""For each size of an integer type in bytes, the float type that represents all its values; float64 is checked."""
_ZERO = (0, False)
_TEXT_BYTES, _IMAGE_BYTES = 64, 1 << 20
_CODE_BYTES = 8


@cache
def load_arrow() -> Any:
    """Load and return pyarrow; None if the extra is not installed."""
    if find_spec("pyarrow") is None:
        return None
    arrow = import_module("pyarrow")
    for name in ("pyarrow.compute", "pyarrow.parquet"):
        import_module(name)
    arrow.set_cpu_count(1)
    arrow.set_io_thread_count(1)
    return arrow


def require_arrow(what: str) -> Any:
    """Return pyarrow; IngestError if the extra is not installed. `what` names the format."""
    arrow = load_arrow()
    if arrow is None:
        detail = f"the server has no reader of {what}: install adjoint-server[parquet] there, or use npz or CSV"
        raise IngestError("extra_missing", "", detail)
    return arrow


@dataclass(frozen=True, slots=True)
class ArrowField:
    """A column: its dtype, None for text and images; the shape of a row; of dates and times how many units make a
    second; and whether it holds images.
    """

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] = ()
    per_second: float | None = None
    images: bool = False

    @property
    def pointer(self) -> str:
        """JSON pointer to the column."""
        return pointer_to(self.name)

    @property
    def row_bytes(self) -> int:
        """How many bytes a row takes, of a text or an image about."""
        if self.images:
            return _IMAGE_BYTES
        return int(np.prod(self.shape)) * (self.dtype.itemsize if self.dtype else _TEXT_BYTES)


def batch_rows(fields: Sequence[ArrowField]) -> int:
    """Return how many rows are converted at a time."""
    return max(1, 4 * CHUNK_BYTES // max(1, sum(field.row_bytes for field in fields)))


class NumberColumn:
    """Writes a column of numbers or truth values."""

    def __init__(self, field: ArrowField, columns: ColumnSet) -> None:
        assert field.dtype is not None
        self._field, self._source = field, field.dtype
        dtype = self._source if field.per_second is None else FLOAT64
        self._writer: ColumnWriter = columns.open(field.name, dtype, field.shape)

    def take(self, array: Any, row: int) -> None:
        """Append the values of a batch that begins at `row`."""
        for extent in self._field.shape:
            array = self._flattened(array, extent, row)
        if self._field.per_second is not None:
            self._writer.append(_seconds(array, self._field.per_second))
            return
        if array.null_count and self._writer.dtype.kind != "f":
            wanted = _FLOATS.get(self._writer.dtype.itemsize, FLOAT64)
            self._writer.convert(wanted, lambda values: self._as_floats(values, wanted, row))
        dtype = self._writer.dtype
        if self._source.kind == "f" or dtype.kind != "f":
            self._writer.append(array.to_numpy(zero_copy_only=False))
            return
        missing = array.is_null().to_numpy(zero_copy_only=False)
        whole = array.fill_null(_ZERO[self._source.kind == "b"]).to_numpy(zero_copy_only=False)
        values = self._as_floats(whole, dtype, row)
        values[missing] = np.nan
        self._writer.append(values)

    def _flattened(self, array: Any, extent: int, row: int) -> Any:
        """Return the values of lists, which all have `extent` values."""
        if array.null_count:
            raise missing_value(self._field.pointer, row)
        if hasattr(array, "offsets") and (np.diff(array.offsets.to_numpy()) != extent).any():
            raise ragged(self._field.pointer)
        return array.flatten()

    def _as_floats(self, values: NDArray[Any], dtype: np.dtype[Any], row: int) -> NDArray[Any]:
        if values.dtype.itemsize == _CODE_BYTES and ((values > CONSECUTIVE) | (values < -CONSECUTIVE)).any():
            raise precision_lost(self._field.pointer, f"up to the batch of row {row + 1}")
        return values.astype(dtype)

    def finish(self) -> None:
        """Do nothing; a number column is complete."""


def _seconds(array: Any, per_second: float) -> NDArray[np.float64]:
    """Return counts of units as seconds, NaN where they are missing."""
    missing = array.is_null().to_numpy(zero_copy_only=False)
    values: NDArray[np.float64] = array.fill_null(0).to_numpy(zero_copy_only=False) / per_second
    values[missing] = np.nan
    return values


class TextColumn:
    """Writes a column of class codes; a missing or empty text has none."""

    def __init__(self, field: ArrowField, columns: ColumnSet) -> None:
        self._column = ValueColumn(ColumnPlan(field.name, CLASS), columns)

    def take(self, array: Any, row: int) -> None:
        """Append the texts of a batch that begins at `row`: an array of a dictionary."""
        codes = array.indices.cast("int64").fill_null(-1).to_numpy()
        names = [text or "" for text in array.dictionary.to_pylist()]
        self._column.add_dictionary(names, codes, lambda index: f"row {row + index + 1}")

    def finish(self) -> None:
        """Assign codes in the order of the class names."""
        self._column.finish()


AnyColumn = NumberColumn | TextColumn | BinaryColumn


def open_column(field: ArrowField, columns: ColumnSet, options: IngestOptions) -> AnyColumn:
    """Start a column; `options` say how images are read."""
    if field.images:
        return BinaryColumn(field.name, columns, options)
    return TextColumn(field, columns) if field.dtype is None else NumberColumn(field, columns)


def missing_value(pointer: str, row: int) -> IngestError:
    """Return the error of a value that is missing where none can be."""
    detail = f"in the batch of row {row + 1}: a value is missing, which only float columns can hold"
    return IngestError("missing_value", pointer, detail)


def ragged(pointer: str) -> IngestError:
    """Return the error of a column of lists of different lengths."""
    return IngestError("ragged", pointer, "the lists of a column differ in length; a tensor is rectangular")
