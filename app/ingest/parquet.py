"""Reading of Parquet files: the uncompressed size of every page is checked before any of it is allocated.

pyarrow (extra `parquet`) decodes the values, in the confined child process only, page by page, with the re-encoded
footer.
"""

import errno
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest import thrift
from app.ingest.classes import looks_like_number
from app.ingest.columns import CHUNK_BYTES, ColumnSet, ColumnWriter
from app.ingest.limits import KIB, MIB, IngestError, IngestOptions, too_large
from app.ingest.parquet_footer import Chunk, Footer, read_footer
from app.ingest.parquet_schema import Leaf
from app.ingest.thrift import Struct, ThriftReader, malformed, required
from app.ingest.values import CLASS, CONSECUTIVE, ColumnPlan, ValueColumn, precision_lost

_HEADER_BYTES_MAX = 64 * KIB
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}


def check_pages(file: BufferedReader, chunk: Chunk, page_bytes_max: int) -> None:
    """Check the page headers of a chunk: its pages fill it and hold its values.

    A page of more than `page_bytes_max` uncompressed bytes is an error, and a dictionary with more entries than bytes.
    """
    position, values = chunk.start, 0
    while position < chunk.end:
        file.seek(position)
        reader = ThriftReader(file.read(min(_HEADER_BYTES_MAX, chunk.end - position)))
        header = reader.struct()
        unpacked, packed = required(header, 2, thrift.I32), required(header, 3, thrift.I32)
        position += reader.position + packed
        if packed < 0 or unpacked < 0 or position > chunk.end:
            raise IngestError("bad_offsets", chunk.leaf.pointer, "a page does not lie within its column")
        if unpacked > page_bytes_max:
            raise too_large("page_too_large", chunk.leaf.pointer, "bytes in a page once unpacked", page_bytes_max)
        values += _values(header, unpacked, first=values == 0)
    if values != chunk.values:
        raise malformed("counts other values than its pages have")


def _values(header: Struct, unpacked: int, *, first: bool) -> int:
    """Return how many values of the column a page has."""
    kind = required(header, 1, thrift.I32)
    if kind == _INDEX:
        return 0
    if kind not in _HEADER_OF:
        raise malformed("has a page of a kind that is not known")
    count: int = required(required(header, _HEADER_OF[kind], thrift.STRUCT), 1, thrift.I32)
    if count < 0:
        raise malformed("has a page of less than no values")
    if kind != _DICTIONARY:
        return count
    if not first or count > unpacked:
        raise malformed("has a dictionary that is not its column's, or longer than it can be")
    return 0


_FLOATS = {size: np.dtype(np.float32) for size in (1, 2)}
"""For each size of an integer type in bytes, the float type that represents all its values; float64 is checked."""
_ZERO = (0, False)
_PAGES_PER_MEMORY = 8
"""Divisor of the memory limit for one page, which is in memory compressed, uncompressed, and as values."""
_TEXT_BYTES = 64
_BUFFER_BYTES = MIB
_CODE_BYTES = 8


@cache
def load() -> Any:
    """Load pyarrow, and return its reader of Parquet; None if the extra is not installed."""
    if find_spec("pyarrow") is None:
        return None
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    arrow.set_cpu_count(1)
    arrow.set_io_thread_count(1)
    return parquet


def read_parquet(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read every column under its own name."""
    if load() is None:
        detail = "the server has no reader of Parquet: install adjoint-server[parquet] there, or send .npz or CSV"
        raise IngestError("extra_missing", "", detail)
    footer = read_footer(file, size_bytes, columns.limits, columns.check_name)
    widths = {leaf.name: _width(leaf, footer) for leaf in footer.leaves}
    for leaf in footer.leaves:
        shape = (footer.rows, widths[leaf.name]) if leaf.in_list else (footer.rows,)
        columns.check_shape(leaf.name, leaf.dtype or np.dtype(np.int64), shape)
    for chunk in footer.chunks:
        check_pages(file, chunk, columns.limits.memory_bytes // _PAGES_PER_MEMORY)
    columns.reserve([leaf.name for leaf in footer.leaves])
    takers = [_taker(leaf, widths[leaf.name], columns) for leaf in footer.leaves]
    row_bytes = sum(widths[leaf.name] * (leaf.dtype.itemsize if leaf.dtype else _TEXT_BYTES) for leaf in footer.leaves)
    row = 0
    for batch in _batches(file, footer, max(1, CHUNK_BYTES // row_bytes)):
        for taker, array in zip(takers, batch, strict=True):
            taker.take(array, row)
        row += len(batch[0])
    if row != footer.rows:
        raise _unreadable()
    for taker in takers:
        taker.finish()


def _width(leaf: Leaf, footer: Footer) -> int:
    """Return the number of values of a column in each row; an error if it cannot be the same in all rows."""
    values = sum(chunk.values for chunk in footer.chunks if chunk.leaf is leaf)
    if values % footer.rows:
        raise _ragged(leaf)
    return values // footer.rows


class _Numbers:
    """Writes a column of numbers or truth values.

    Whole numbers and truth values become floats, exactly, where one is missing: NaN.
    """

    def __init__(self, leaf: Leaf, width: int, writer: ColumnWriter) -> None:
        self._leaf, self._width, self._writer = leaf, width, writer

    def take(self, array: Any, row: int) -> None:
        if self._leaf.in_list:
            if array.null_count:
                raise _missing(self._leaf, row)
            if (np.diff(array.offsets.to_numpy()) != self._width).any():
                raise _ragged(self._leaf)
            array = array.flatten()
        if array.null_count and self._writer.dtype.kind != "f":
            wanted = _FLOATS.get(self._writer.dtype.itemsize, np.dtype(np.float64))
            self._writer.convert(wanted, lambda values: self._as_floats(values, wanted, row))
        dtype = self._writer.dtype
        if self._leaf.dtype is None or self._leaf.dtype.kind == "f" or dtype.kind != "f":
            self._writer.append(array.to_numpy(zero_copy_only=False))
            return
        missing = array.is_null().to_numpy(zero_copy_only=False)
        whole = array.fill_null(_ZERO[self._leaf.dtype.kind == "b"]).to_numpy(zero_copy_only=False)
        values = self._as_floats(whole, dtype, row)
        values[missing] = np.nan
        self._writer.append(values)

    def _as_floats(self, values: NDArray[Any], dtype: np.dtype[Any], row: int) -> NDArray[Any]:
        if values.dtype.itemsize == _CODE_BYTES and ((values > CONSECUTIVE) | (values < -CONSECUTIVE)).any():
            raise precision_lost(self._leaf.pointer, f"up to the batch of row {row + 1}")
        return values.astype(dtype)

    def finish(self) -> None:
        """Do nothing; a number column is complete."""


class _Texts:
    """Writes a column of class codes."""

    def __init__(self, leaf: Leaf, column: ValueColumn) -> None:
        self._leaf, self._column = leaf, column

    def take(self, array: Any, row: int) -> None:
        """Append the texts of a batch that begins at `row`."""
        codes = array.indices.fill_null(-1).to_numpy().astype(np.int64)
        self._column.add_dictionary(array.dictionary.to_pylist(), codes, lambda index: f"row {row + index + 1}")

    def finish(self) -> None:
        """Assign codes in the order of the class names, which must not all be numbers."""
        if all(map(looks_like_number, self._column.finish())):
            detail = "all texts of the column are numbers, or look like them; store the column as numbers"
            raise IngestError("bad_number", self._leaf.pointer, detail)


def _taker(leaf: Leaf, width: int, columns: ColumnSet) -> _Numbers | _Texts:
    if leaf.dtype is None:
        return _Texts(leaf, ValueColumn(ColumnPlan(leaf.name, CLASS), columns))
    return _Numbers(leaf, width, columns.open(leaf.name, leaf.dtype, (width,) if leaf.in_list else ()))


def _batches(file: BufferedReader, footer: Footer, rows: int) -> Iterator[list[Any]]:
    """Yield the columns of a limited number of rows at a time, in the order of the schema."""
    arrow = import_module("pyarrow")
    try:
        source = load().ParquetFile(
            BufferedReader(_Rewritten(file, footer), _BUFFER_BYTES),
            read_dictionary=[".".join(leaf.path) for leaf in footer.leaves if leaf.dtype is None],
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,
            memory_map=False,
        )
        for batch in source.iter_batches(rows, use_threads=False):
            batch.validate(full=True)  # reading checks neither that texts are UTF-8 nor that codes have one
            yield batch.columns
    except MemoryError:
        raise
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise _unreadable() from None


class _Rewritten(RawIOBase):
    """The file with its footer replaced by the re-encoded one."""

    def __init__(self, file: BufferedReader, footer: Footer) -> None:
        super().__init__()
        self._file, self._start, self._footer = file, footer.start, footer.encoded
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        base = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: self._start + len(self._footer)}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        """Read some bytes of one of the two parts."""
        view = memoryview(buffer).cast("B")
        if self._position < self._start:
            self._file.seek(self._position)
            count = self._file.readinto(view[: self._start - self._position])
        else:
            part = self._footer[self._position - self._start :][: len(view)]
            view[: len(part)] = part
            count = len(part)
        self._position += count
        return count


def _unreadable() -> IngestError:
    return IngestError("bad_data", "", "the values of the file are not as its metadata says; write the file again")


def _missing(leaf: Leaf, row: int) -> IngestError:
    detail = f"in the batch of row {row + 1}: a value is missing, which only float columns can hold"
    return IngestError("missing_value", leaf.pointer, detail)


def _ragged(leaf: Leaf) -> IngestError:
    return IngestError("ragged", leaf.pointer, "the lists of a column differ in length; a tensor is rectangular")
