"""Writes Parquet files: row groups of plain, uncompressed pages of required columns, one row group after the other.

Structures and numbers are those of the specification of Apache Parquet (parquet.thrift), in the compact protocol of
Apache Thrift.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MAGIC = b"PAR1"
GROUP_BYTES = 8 << 20
"""A row group is written when its columns reach this many bytes; they are in memory until then."""
GROUP_ROWS = 1 << 17

BOOLEAN, INT64, FLOAT, DOUBLE, BYTE_ARRAY = 0, 2, 4, 5, 6
UTF8, UINT_64 = 0, 14
PLAIN, RLE, UNCOMPRESSED, REQUIRED, DATA_PAGE = 0, 3, 0, 0, 0

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


class Struct:
    """A structure in the compact protocol; fields are added in ascending order of their ids."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._last = 0

    def i32(self, field: int, value: int) -> "Struct":
        """Add a 32-bit integer."""
        return self._add(field, _I32, _zigzag(value))

    def i64(self, field: int, value: int) -> "Struct":
        """Add a 64-bit integer."""
        return self._add(field, _I64, _zigzag(value))

    def text(self, field: int, value: str) -> "Struct":
        """Add a string."""
        return self._add(field, _BINARY, _binary(value))

    def struct(self, field: int, value: "Struct") -> "Struct":
        """Add a structure."""
        return self._add(field, _STRUCT, value.encoded())

    def structs(self, field: int, values: "list[Struct]") -> "Struct":
        """Add a list of structures."""
        return self._add(field, _LIST, _list(_STRUCT, [value.encoded() for value in values]))

    def texts(self, field: int, values: list[str]) -> "Struct":
        """Add a list of strings."""
        return self._add(field, _LIST, _list(_BINARY, [_binary(value) for value in values]))

    def i32s(self, field: int, values: list[int]) -> "Struct":
        """Add a list of 32-bit integers."""
        return self._add(field, _LIST, _list(_I32, [_zigzag(value) for value in values]))

    def encoded(self) -> bytes:
        """Return the bytes, with the mark of the end."""
        return bytes(self._bytes) + b"\x00"

    def _add(self, field: int, kind: int, value: bytes) -> "Struct":
        self._bytes.append((field - self._last) << 4 | kind)
        self._bytes += value
        self._last = field
        return self


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 ^ value >> 63)


def _binary(text: str) -> bytes:
    encoded = text.encode()
    return _varint(len(encoded)) + encoded


def _list(kind: int, items: list[bytes]) -> bytes:
    count = len(items)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return head + b"".join(items)


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
        groups.append(Struct().structs(1, chunks).i64(2, size).i64(3, rows))
        total += rows
    root = Struct().text(4, "schema").i32(5, len(schema or ()))
    footer = Struct().i32(1, 1).structs(2, [root, *(schema or ())]).i64(3, total).structs(4, groups)
    encoded = footer.text(6, "adjoint").encoded()
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
    element = Struct().i32(1, _type(column)).i32(3, REQUIRED).text(4, name)
    if column.dtype.kind == "U":
        return element.i32(6, UTF8)
    return element.i32(6, UINT_64) if column.dtype.kind == "u" else element


def _page(column: Array) -> bytes:
    values = _plain(column)
    head = Struct().i32(1, len(column)).i32(2, PLAIN).i32(3, RLE).i32(4, RLE)
    page = Struct().i32(1, DATA_PAGE).i32(2, len(values)).i32(3, len(values)).struct(5, head)
    return page.encoded() + values


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
    meta = Struct().i32(1, _type(column)).i32s(2, [PLAIN, RLE]).texts(3, [name]).i32(4, UNCOMPRESSED)
    meta = meta.i64(5, rows).i64(6, size).i64(7, size).i64(9, place)
    return Struct().i64(2, place).struct(3, meta)
