"""Writes Parquet files: row groups of plain, uncompressed pages of required columns, one row group after the other.

Structures and numbers are those of the specification of Apache Parquet (parquet.thrift), in the compact protocol of
Apache Thrift.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest import thrift
from app.ingest.thrift import Field, Sequence, Struct, encode

Array = NDArray[Any]

MAGIC = b"PAR1"
GROUP_BYTES = 8 << 20
"""A row group is written when its columns reach this many bytes; they are in memory until then."""
GROUP_ROWS = 1 << 17

BOOLEAN, INT64, FLOAT, DOUBLE, BYTE_ARRAY = 0, 2, 4, 5, 6
UTF8, UINT_64 = 0, 14
PLAIN, RLE, UNCOMPRESSED, REQUIRED, DATA_PAGE = 0, 3, 0, 0, 0


def _i32(value: int) -> Field:
    return Field(thrift.I32, value)


def _i64(value: int) -> Field:
    return Field(thrift.I64, value)


def _text(value: str) -> Field:
    return Field(thrift.BINARY, value.encode())


def _struct(fields: Struct) -> Field:
    return Field(thrift.STRUCT, fields)


def _list(type_: int, values: Iterable[Any]) -> Field:
    return Field(thrift.LIST, Sequence(type_, list(values)))


def write_parquet(blocks: Iterable[Mapping[str, Array]]) -> Iterator[bytes]:
    """Encode blocks of rows, each an array [rows] by column, of the same columns; there is one row at least."""
    yield MAGIC
    place, total, groups, schema = len(MAGIC), 0, [], None
    for group in _grouped(blocks):
        rows = len(next(iter(group.values())))
        schema = schema or [_element(name, column) for name, column in group.items()]
        chunks, size = [], 0
        for name, column in group.items():
            page = _page(column)
            chunks.append(_chunk(name, column, rows, place, len(page)))
            place, size = place + len(page), size + len(page)
            yield page
        groups.append({1: _list(thrift.STRUCT, chunks), 2: _i64(size), 3: _i64(rows)})
        total += rows
    root = {4: _text("schema"), 5: _i32(len(schema or ()))}
    encoded = encode(
        {
            1: _i32(1),
            2: _list(thrift.STRUCT, [root, *(schema or ())]),
            3: _i64(total),
            4: _list(thrift.STRUCT, groups),
            6: _text("adjoint"),
        }
    )
    yield encoded + len(encoded).to_bytes(4, "little") + MAGIC


def _grouped(blocks: Iterable[Mapping[str, Array]]) -> Iterator[dict[str, Array]]:
    """Join blocks until they make a row group."""
    kept: list[Mapping[str, Array]] = []
    rows = size = 0
    for block in blocks:
        kept.append(block)
        rows += len(next(iter(block.values())))
        size += sum(column.nbytes for column in block.values())
        if size >= GROUP_BYTES or rows >= GROUP_ROWS:
            yield _joined(kept)
            kept, rows, size = [], 0, 0
    if kept:
        yield _joined(kept)


def _joined(blocks: list[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _type(column: Array) -> int:
    kinds = {"b": BOOLEAN, "i": INT64, "u": INT64, "U": BYTE_ARRAY}
    return kinds.get(column.dtype.kind, FLOAT if column.itemsize == 4 else DOUBLE)


def _element(name: str, column: Array) -> Struct:
    element = {1: _i32(_type(column)), 3: _i32(REQUIRED), 4: _text(name)}
    kinds = {"U": UTF8, "u": UINT_64}
    if column.dtype.kind in kinds:
        element[6] = _i32(kinds[column.dtype.kind])
    return element


def _page(column: Array) -> bytes:
    values = _plain(column)
    head = {1: _i32(len(column)), 2: _i32(PLAIN), 3: _i32(RLE), 4: _i32(RLE)}
    return encode({1: _i32(DATA_PAGE), 2: _i32(len(values)), 3: _i32(len(values)), 5: _struct(head)}) + values


def _plain(column: Array) -> bytes:
    """Return values in the encoding PLAIN."""
    kind = _type(column)
    if kind == BOOLEAN:
        return np.packbits(column.astype(np.uint8), bitorder="little").tobytes()
    if kind == BYTE_ARRAY:
        texts = (text.encode() for text in column.tolist())
        return b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    if kind == INT64:
        return column.astype("<u8" if column.dtype.kind == "u" else "<i8").tobytes()
    return column.astype("<f4" if kind == FLOAT else "<f8").tobytes()


def _chunk(name: str, column: Array, rows: int, place: int, size: int) -> Struct:
    meta = {
        1: _i32(_type(column)),
        2: _list(thrift.I32, (PLAIN, RLE)),
        3: _list(thrift.BINARY, [name.encode()]),
        4: _i32(UNCOMPRESSED),
        5: _i64(rows),
        6: _i64(size),
        7: _i64(size),
        9: _i64(place),
    }
    return {2: _i64(place), 3: _struct(meta)}
