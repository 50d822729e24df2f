"""Parquet: flat columns of numbers, truth values and texts (which become class codes), and lists of one length.

The values are unpacked by pyarrow, of the extra `parquet`: in the limited child only, page after page, and with a
footer of our own making.
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

from app.ingest.classes import looks_like_number
from app.ingest.columns import CHUNK_BYTES, ColumnSet, ColumnWriter
from app.ingest.errors import IngestError
from app.ingest.limits import MIB
from app.ingest.options import IngestOptions
from app.ingest.parquet_footer import Footer, read_footer
from app.ingest.parquet_pages import check_pages
from app.ingest.parquet_schema import Leaf
from app.ingest.values import CLASS, ColumnPlan, ValueColumn

_PAGES_PER_MEMORY = 8
"""A page may take this part of the memory: it is held as it lies in the file, unpacked, and as values."""
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
    """Return how many values of a column are in each row, which the footer tells if they are as many in all."""
    values = sum(chunk.values for chunk in footer.chunks if chunk.leaf is leaf)
    if values % footer.rows:
        raise _ragged(leaf)
    return values // footer.rows


class _Numbers:
    """Writes a column of numbers or truth values."""

    def __init__(self, leaf: Leaf, width: int, writer: ColumnWriter) -> None:
        self._leaf, self._width, self._writer = leaf, width, writer

    def take(self, array: Any, row: int) -> None:
        """Append the values of a batch that begins at `row`."""
        if self._leaf.in_list:
            if array.null_count:
                raise _missing(self._leaf, row)
            if (np.diff(array.offsets.to_numpy()) != self._width).any():
                raise _ragged(self._leaf)
            array = array.flatten()
        if array.null_count and self._writer.dtype.kind != "f":
            raise _missing(self._leaf, row)
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        self._writer.append(values)

    def finish(self) -> None:
        """Nothing is left to do."""


class _Texts:
    """Writes a column of class codes."""

    def __init__(self, leaf: Leaf, column: ValueColumn) -> None:
        self._leaf, self._column = leaf, column

    def take(self, array: Any, row: int) -> None:
        """Append the texts of a batch that begins at `row`."""
        if array.null_count:
            raise _missing(self._leaf, row)
        names = array.dictionary.to_pylist()
        texts = [names[code] for code in array.indices.to_numpy()]
        self._column.add(texts, lambda index: f"row {row + index + 1}")

    def finish(self) -> None:
        """Number the classes in the order of their names, which must not all be numbers."""
        if all(map(looks_like_number, self._column.finish())):
            detail = "all texts of the column are numbers, or look like them; store the column as numbers"
            raise IngestError("bad_number", self._leaf.pointer, detail)


def _taker(leaf: Leaf, width: int, columns: ColumnSet) -> _Numbers | _Texts:
    if leaf.dtype is None:
        return _Texts(leaf, ValueColumn(ColumnPlan(leaf.name, CLASS), columns))
    return _Numbers(leaf, width, columns.open(leaf.name, leaf.dtype, (width,) if leaf.in_list else ()))


def _batches(file: BufferedReader, footer: Footer, rows: int) -> Iterator[list[Any]]:
    """Yield the columns of at most so many rows at a time, in the order of the schema."""
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
    """The file with another footer in the place of its own."""

    def __init__(self, file: BufferedReader, footer: Footer) -> None:
        super().__init__()
        self._file, self._start, self._footer = file, footer.start, footer.encoded
        self._position = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Go to a place."""
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
