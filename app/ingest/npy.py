"""`.npy`: one array, which becomes one column."""

import sys
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.columns import CHUNK_BYTES, ColumnSet, ColumnWriter, pointer_to
from app.ingest.limits import IngestError, IngestOptions
from app.ingest.npy_header import NpyHeader, read_header
from app.ingest.sources import Region, Source
from app.ingest.values import CLASS, ColumnPlan, ValueColumn
from app.system.confinement import room_to_map

DEFAULT_COLUMN = "x"
_GATHER_BYTES = 16 << 20


def read_npy(file: BufferedReader, size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read a whole file as the column `options.column`, or `x`.

    What NumPy saves is its own column, which is not written a second time.
    """
    name = DEFAULT_COLUMN if options.column is None else options.column
    read_array(Region(file, 0, size_bytes), name, columns, where="the column", begin=0)


def read_array(source: Source, name: str, columns: ColumnSet, where: str, begin: int | None) -> None:
    """Read the `.npy` content of `source`, to its exact end, as the column `name`.

    `begin` is where that lies in the file: at 0 if it is the whole file, None if it is compressed in there.
    """
    columns.check_name(name, where)
    header = read_header(source, columns.limits.max_npy_header_bytes, texts=True)
    texts = header.dtype.kind == "U"
    columns.check_shape(name, np.dtype(np.int64) if texts else header.dtype, header.shape)
    check_length(prod(header.shape) * header.dtype.itemsize, source.remaining, name)
    if texts:
        _read_texts(source, header, name, columns, where)
        return
    in_order = not header.fortran_order or len(header.shape) == 1
    writer = _open(name, header, columns, where, begin if in_order else None)
    blocks = stream(source, header.dtype) if in_order else _fortran_blocks(source, header, columns.target)
    for block in blocks:
        writer.append(block)


def _open(name: str, header: NpyHeader, columns: ColumnSet, where: str, begin: int | None) -> ColumnWriter:
    if begin == 0 and header.is_canonical:
        return columns.open(name, header.dtype, header.shape[1:], where, stored=columns.upload)
    if begin is None:
        return columns.open(name, header.dtype, header.shape[1:], where)
    return columns.open_range(name, header.dtype, header.shape, begin + len(header.written), where)


def _read_texts(source: Source, header: NpyHeader, name: str, columns: ColumnSet, where: str) -> None:
    """Read the rest of `source` as a column of classes; an empty text is a missing one."""
    if len(header.shape) > 1:
        raise IngestError("bad_shape", pointer_to(name), "text is taken one value a row only, not in tensors")
    column, row = ValueColumn(ColumnPlan(name, CLASS), columns, where), 0
    for block in stream(source, header.dtype):
        if block.view(f"{header.dtype.byteorder}u4").max(initial=0) > sys.maxunicode:
            raise IngestError("bad_unicode", pointer_to(name), "a text holds what is no character; save it again")
        column.add(block.tolist(), partial(_row, row))
        row += len(block)
    column.finish()


def _row(start: int, index: int) -> str:
    return f"row {start + index + 1}"


def check_length(needed: int, given: int, name: str) -> None:
    """Refuse an array whose bytes are not exactly as many as its shape and dtype need."""
    if needed != given:
        code = "truncated" if given < needed else "trailing_bytes"
        detail = f"array {name!r} needs {needed} bytes by its shape and dtype, and {given} follow its header"
        raise IngestError(code, pointer_to(name), detail)


def stream(source: Source, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """The rest of `source` as flat blocks of `dtype`; a block is overwritten by the next one."""
    buffer = np.empty(min(CHUNK_BYTES, source.remaining) // dtype.itemsize, dtype)
    while source.remaining:
        block = buffer[: source.remaining // dtype.itemsize]
        source.read_into(block.view(np.uint8).data)
        yield block


def _fortran_blocks(source: Source, header: NpyHeader, target: Path) -> Iterator[NDArray[Any]]:
    """Blocks in C order of an array stored in Fortran order, by way of a file that can be mapped."""
    spool = target / "fortran.tmp"
    size_bytes = source.remaining
    with spool.open("wb", buffering=0) as file:
        for block in stream(source, np.dtype(np.uint8)):
            file.write(block.data)
    with room_to_map(size_bytes):
        stored = np.memmap(spool, header.dtype, "r", shape=header.shape, order="F")
        yield from _gathered(stored)
        del stored
    spool.unlink()


def _gathered(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """`array` in C order, in blocks of bounded size."""
    if array.nbytes <= _GATHER_BYTES or array.ndim == 0:
        yield np.ascontiguousarray(array)
        return
    row_bytes = array.nbytes // array.shape[0]
    step = _GATHER_BYTES // row_bytes
    if step == 0:
        for row in array:
            yield from _gathered(row)
    else:
        for start in range(0, array.shape[0], step):
            yield np.ascontiguousarray(array[start : start + step])
