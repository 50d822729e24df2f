"""Reading of Arrow IPC files and streams, by pyarrow (extra `parquet`), in the confined child process only.

The file is mapped: what is not compressed takes no memory. Every batch is validated before a value of it is read.
"""

import mmap
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import numpy as np

from app.ingest.arrow_columns import (
    AnyColumn,
    ArrowField,
    batch_rows,
    missing_value,
    open_column,
    require_arrow,
)
from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.limits import IngestError, IngestOptions
from app.system.confinement import room_to_map

FILE_MAGIC = b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"
_FEATHER_1 = b"FEA1"
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_DAYS = 1 / 86400
_IMAGE_FIELDS = {"bytes", "path"}
"""Of a structure that holds an image, as the library Datasets of Hugging Face writes it."""


def read_arrow(file: BufferedReader, size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read every column under its own name."""
    arrow = require_arrow("Arrow")
    head = file.peek(len(FILE_MAGIC))
    if head.startswith(_FEATHER_1):
        raise IngestError("bad_version", "", "this is version 1 of Feather; write version 2, which is an Arrow file")
    if not head.startswith((FILE_MAGIC, _STREAM_MAGIC)):
        raise IngestError("bad_magic", "", "this is neither a file nor a stream of Arrow IPC, by its first bytes")
    with room_to_map(size_bytes):
        # Not closed here: what was read of it may outlive an error. It goes with the last reference.
        mapped = mmap.mmap(file.fileno(), size_bytes, access=mmap.ACCESS_READ)
        try:
            _read(arrow, arrow.py_buffer(mapped), head.startswith(FILE_MAGIC), columns, options)
        except UnicodeDecodeError:
            raise IngestError(
                "bad_name", "/columns", "the name of a column is not UTF-8; write the file again"
            ) from None
        except (arrow.ArrowException, OSError) as error:
            if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
                raise
            raise _unreadable() from None


def _read(arrow: Any, buffer: Any, is_file: bool, columns: ColumnSet, options: IngestOptions) -> None:
    plain = arrow.ipc.IpcReadOptions(use_threads=False)
    with (arrow.ipc.open_file if is_file else arrow.ipc.open_stream)(buffer, options=plain) as reader:
        names = reader.schema.names
        if not names:
            raise IngestError("no_columns", "/columns", "the file holds no columns; a data set needs at least one")
        columns.check_count(len(names))
        for number, name in enumerate(names, 1):
            columns.check_name(name, f"column {number}")
        columns.reserve(names)
        writers: list[AnyColumn] = []
        row = step = 0
        for batch in _batches(reader, is_file):
            batch.validate(full=True)
            if not batch.num_rows:
                continue
            arrays = [_plain(arrow, array, name) for name, array in zip(names, batch.columns, strict=True)]
            if not writers:
                fields = [_field(arrow, array, name) for name, array in zip(names, arrays, strict=True)]
                writers, step = [open_column(field, columns, options) for field in fields], batch_rows(fields)
            columns.check_shape(names[0], np.dtype(np.int8), (row + batch.num_rows,))
            for start in range(0, batch.num_rows, step):
                for writer, array in zip(writers, arrays, strict=True):
                    writer.take(_readable(arrow, array.slice(start, step)), row + start)
            row += batch.num_rows
    if not row:
        raise IngestError("no_rows", "", "the file has no rows; a data set needs at least one")
    for writer in writers:
        writer.finish()


def _batches(reader: Any, is_file: bool) -> Iterator[Any]:
    if is_file:
        yield from map(reader.get_batch, range(reader.num_record_batches))
    else:
        yield from reader


def _plain(arrow: Any, array: Any, name: str) -> Any:
    """Return an array of a type that `_field` accepts: extensions as what stores them, codes of numbers decoded."""
    if isinstance(array, arrow.ExtensionArray):
        array = array.storage
    kinds = arrow.types
    if kinds.is_struct(array.type) and {field.name for field in array.type} == _IMAGE_FIELDS:
        found = arrow.compute.struct_field(array, "bytes")
        array = found if _is_bytes(kinds, found.type) else array
    if kinds.is_dictionary(array.type) and not _is_text(arrow, array.type.value_type):
        array = array.dictionary_decode()
    if kinds.is_decimal(array.type):
        raise _no_type(name, "cast decimals to float64")
    return array


def _field(arrow: Any, array: Any, name: str) -> ArrowField:
    """Return what a column holds; an error if that is nothing for a dataset."""
    kinds, shape, type_ = arrow.types, [], array.type
    while kinds.is_list(type_) or kinds.is_large_list(type_) or kinds.is_fixed_size_list(type_):
        if array.null_count:
            raise missing_value(pointer_to(name), 0)
        shape.append(len(array.slice(0, 1).flatten()))
        array, type_ = array.flatten(), type_.value_type
    if _is_text(arrow, type_.value_type if kinds.is_dictionary(type_) else type_) and not shape:
        return ArrowField(name, None)
    if _is_bytes(kinds, type_) and not shape:
        return ArrowField(name, None, images=True)
    if kinds.is_null(type_) and not shape:
        return ArrowField(name, np.dtype(np.float32))
    per_second = _per_second(kinds, type_)
    if per_second is not None and not shape:
        return ArrowField(name, np.dtype(np.int64), (), per_second)
    if not (kinds.is_boolean(type_) or kinds.is_integer(type_) or kinds.is_floating(type_)):
        what = (
            "a list is of numbers" if shape else "use whole numbers, floats, truth values, dates, times, text or images"
        )
        raise _no_type(name, f"its type is not taken; {what}")
    return ArrowField(name, np.dtype(type_.to_pandas_dtype()), tuple(shape))


def _is_text(arrow: Any, type_: Any) -> bool:
    kinds = arrow.types
    return bool(kinds.is_string(type_) or kinds.is_large_string(type_) or kinds.is_string_view(type_))


def _is_bytes(kinds: Any, type_: Any) -> bool:
    return bool(kinds.is_binary(type_) or kinds.is_large_binary(type_) or kinds.is_binary_view(type_))


def _per_second(kinds: Any, type_: Any) -> float | None:
    """Return how many units of a date, a time or a duration make a second; None for anything else."""
    if kinds.is_date32(type_):
        return _DAYS
    if kinds.is_date64(type_):
        return _PER_SECOND["ms"]
    if kinds.is_timestamp(type_) or kinds.is_time(type_) or kinds.is_duration(type_):
        return _PER_SECOND[type_.unit]
    return None


def _readable(arrow: Any, array: Any) -> Any:
    """Return texts as codes of a dictionary, dates and times as the numbers that they are stored as, nothing as NaN."""
    type_ = array.type
    if arrow.types.is_null(type_):
        return arrow.nulls(len(array), arrow.float32())
    if arrow.types.is_string_view(type_):
        array = array.cast(arrow.string())
    if _is_text(arrow, array.type):
        return array.dictionary_encode()
    if _per_second(arrow.types, type_) is not None:
        return array.view(arrow.int32() if type_.bit_width == 32 else arrow.int64())
    return array


def _no_type(name: str, why: str) -> IngestError:
    return IngestError("bad_dtype", pointer_to(name), f"column {name!r} is not taken: {why}")


def _unreadable() -> IngestError:
    return IngestError("bad_data", "", "the file is damaged or cut off, or not as its schema says; write it again")
