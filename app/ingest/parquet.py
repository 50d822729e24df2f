"""Reading of Parquet files: the uncompressed size of every page is checked before any of it is allocated.

pyarrow (extra `parquet`) decodes the values, in the confined child process only, page by page, with the re-encoded
footer.
"""

import errno
from collections.abc import Iterator
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from typing import Any

import numpy as np

from app.ingest import thrift
from app.ingest.arrow_columns import ArrowField, batch_rows, open_column, ragged, require_arrow
from app.ingest.columns import ColumnSet
from app.ingest.limits import KIB, MIB, IngestError, IngestOptions, too_large
from app.ingest.parquet_footer import Chunk, Footer, read_footer
from app.ingest.parquet_schema import Leaf
from app.ingest.thrift import Struct, ThriftReader, malformed, required

_HEADER_BYTES_MAX = 64 * KIB
_USUAL_HEADER_BYTES = KIB
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}


def check_pages(file: BufferedReader, chunk: Chunk, page_bytes_max: int) -> None:
    """Check the page headers of a chunk: its pages fill it and hold its values.

    A page of more than `page_bytes_max` uncompressed bytes is an error, and a dictionary with more entries than bytes.
    """
    position, values = chunk.start, 0
    while position < chunk.end:
        header, header_bytes = _read_header(file, position, chunk.end)
        unpacked, packed = required(header, 2, thrift.I32), required(header, 3, thrift.I32)
        position += header_bytes + packed
        if packed < 0 or unpacked < 0 or position > chunk.end:
            raise IngestError("bad_offsets", chunk.leaf.pointer, "a page does not lie within its column")
        if unpacked > page_bytes_max:
            what = "bytes in a page once unpacked (pyarrow writes smaller ones with write_batch_size=16)"
            raise too_large("page_too_large", chunk.leaf.pointer, what, page_bytes_max)
        values += _values(header, unpacked, first=values == 0)
    if values != chunk.values:
        raise malformed("counts other values than its pages have")


def _read_header(file: BufferedReader, position: int, end: int) -> tuple[Struct, int]:
    """Return the header of a page, and how many bytes it has; it is longer than usual if it holds long texts."""
    most = min(_HEADER_BYTES_MAX, end - position)
    for size in sorted({min(_USUAL_HEADER_BYTES, most), most}):
        file.seek(position)
        reader = ThriftReader(file.read(size))
        try:
            return reader.struct(), reader.position
        except IngestError:
            if size == most:
                raise
    raise malformed("ends too early")


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


_PAGES_PER_MEMORY = 8
"""Divisor of the memory limit for one page, which is in memory compressed, uncompressed, and as values."""
_IMAGE_PAGES_PER_MEMORY = 4
"""The same for images, which are values a few at a time. Writers put 1,024 rows in a page, whatever their size."""
_BUFFER_BYTES = MIB


def read_parquet(file: BufferedReader, size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read every column under its own name."""
    arrow = require_arrow("Parquet")
    footer = read_footer(file, size_bytes, columns.limits, columns.check_name)
    widths = {leaf.name: _width(leaf, footer) for leaf in footer.leaves}
    for leaf in footer.leaves:
        shape = (footer.rows, widths[leaf.name]) if leaf.in_list else (footer.rows,)
        columns.check_shape(leaf.name, leaf.dtype or np.dtype(np.int64), shape)
    for chunk in footer.chunks:
        pages = _IMAGE_PAGES_PER_MEMORY if chunk.leaf.images else _PAGES_PER_MEMORY
        check_pages(file, chunk, columns.limits.memory_bytes // pages)
    columns.reserve([leaf.name for leaf in footer.leaves])
    fields = [_field(leaf, widths[leaf.name]) for leaf in footer.leaves]
    writers = [open_column(field, columns, options) for field in fields]
    row = 0
    for batch in _batches(arrow, file, footer, batch_rows(fields)):
        for writer, array in zip(writers, batch, strict=True):
            writer.take(array, row)
        row += len(batch[0])
    if row != footer.rows:
        raise _unreadable()
    for writer in writers:
        writer.finish()


def _field(leaf: Leaf, width: int) -> ArrowField:
    return ArrowField(leaf.name, leaf.dtype, (width,) if leaf.in_list else (), leaf.per_second, leaf.images)


def _width(leaf: Leaf, footer: Footer) -> int:
    """Return the number of values of a column in each row; an error if it cannot be the same in all rows."""
    values = sum(chunk.values for chunk in footer.chunks if chunk.leaf is leaf)
    if values % footer.rows:
        raise ragged(leaf.pointer)
    return values // footer.rows


def _batches(arrow: Any, file: BufferedReader, footer: Footer, rows: int) -> Iterator[list[Any]]:
    """Yield the columns of a limited number of rows at a time, in the order of the schema."""
    try:
        source = arrow.parquet.ParquetFile(
            BufferedReader(_Rewritten(file, footer), _BUFFER_BYTES),
            read_dictionary=[".".join(leaf.path) for leaf in footer.leaves if leaf.is_text],
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,
            memory_map=False,
        )
        for batch in source.iter_batches(rows, use_threads=False):
            batch.validate(full=True)  # reading checks neither that texts are UTF-8 nor that codes have one
            # Of a structure, only the bytes of the images are read.
            yield [array.flatten()[0] if arrow.types.is_struct(array.type) else array for array in batch.columns]
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
