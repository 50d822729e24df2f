"""Validation of the footer of a Parquet file, and its re-encoding.

Sizes, offsets and types are checked before memory is allocated for them. pyarrow then reads a footer that holds the
checked fields only: no types of other systems, no statistics, no encryption.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from itertools import compress, pairwise

from app.ingest import thrift
from app.ingest.limits import IngestError, IngestLimits, too_large
from app.ingest.parquet_schema import CheckName, Leaf, read_schema
from app.ingest.thrift import Field, Sequence, Struct, ThriftReader, listed, malformed, optional, required

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_TAIL = struct.Struct("<I4s")
_VERSION = 2
_GROUP_FIELDS, _CHUNK_FIELDS = (1, 2, 3), (2, 3)
_META_FIELDS = (1, 2, 3, 4, 5, 6, 7, 9, 11)
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


@dataclass(frozen=True, slots=True)
class Chunk:
    """The values of one column in one group of rows: `values` of them, in the bytes from `start` to `end`."""

    leaf: Leaf
    start: int
    end: int
    values: int


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns of a file, its rows, its chunks by offset, the end of their bytes, and the re-encoded footer."""

    leaves: tuple[Leaf, ...]
    rows: int
    chunks: tuple[Chunk, ...]
    start: int
    encoded: bytes


def read_footer(file: BufferedReader, size_bytes: int, limits: IngestLimits, check_name: CheckName) -> Footer:
    """Read and check the footer of a file of `size_bytes`; `check_name` raises an error for invalid column names."""
    start, raw = _raw_footer(file, size_bytes, limits)
    reader = ThriftReader(raw)
    fields = reader.struct()
    if reader.position != len(raw):
        raise malformed("has bytes behind its end")
    if fields.keys() & {8, 9}:
        raise _encrypted()
    leaves = read_schema(listed(fields, 2, thrift.STRUCT), limits, check_name)
    groups = listed(fields, 4, thrift.STRUCT)
    rows = sum(_rows(group) for group in groups)
    if rows != required(fields, 3, thrift.I64):
        raise malformed("counts other rows than its groups have")
    if not rows:
        raise IngestError("no_rows", "", "the file has no rows; a data set needs at least one")
    chunks = sorted((chunk for group in groups for chunk in _chunks(group, leaves, start)), key=lambda each: each.start)
    _check_apart(chunks)
    read = tuple(leaf for leaf in leaves if not leaf.unread)
    kept = tuple(chunk for chunk in chunks if not chunk.leaf.unread)
    return Footer(read, rows, kept, start, _encode_footer(leaves, rows, groups))


def _raw_footer(file: BufferedReader, size_bytes: int, limits: IngestLimits) -> tuple[int, bytes]:
    """Return the offset of the footer, and its bytes."""
    if size_bytes < 2 * len(MAGIC) + 4:
        raise IngestError("truncated", "", "the file is too short to be a Parquet file; upload all of it")
    head = file.read(len(MAGIC))
    file.seek(size_bytes - _TAIL.size)
    length, tail = _TAIL.unpack(file.read(_TAIL.size))
    if _ENCRYPTED in (head, tail):
        raise _encrypted()
    if head != MAGIC or tail != MAGIC:
        raise IngestError("bad_magic", "", "this is not a whole Parquet file: it does not begin and end with PAR1")
    start = size_bytes - _TAIL.size - length
    if start < len(MAGIC):
        raise IngestError("truncated", "", "the file is shorter than its footer; upload all of it")
    if length > limits.max_header_bytes:
        raise too_large("header_too_large", "", "bytes of Parquet footer", limits.max_header_bytes)
    file.seek(start)
    return start, file.read(length)


def _rows(group: Struct) -> int:
    rows: int = required(group, 3, thrift.I64)
    if rows < 0:
        raise malformed("has a group of less than no rows")
    return rows


def _chunks(group: Struct, leaves: tuple[Leaf, ...], end: int) -> Iterator[Chunk]:
    rows = _rows(group)
    columns = listed(group, 1, thrift.STRUCT)
    if len(columns) != len(leaves):
        raise malformed("has a group with other columns than the schema")
    for leaf, column in zip(leaves, columns, strict=True):
        yield _chunk(leaf, column, rows, end)


def _chunk(leaf: Leaf, column: Struct, rows: int, end: int) -> Chunk:
    if 1 in column:
        raise malformed("says that a column is in another file")
    if column.keys() & {8, 9}:
        raise _encrypted()
    meta: Struct = required(column, 3, thrift.STRUCT)
    path = [part.decode("utf-8", "replace") for part in listed(meta, 3, thrift.BINARY)]
    if required(meta, 1, thrift.I32) != leaf.physical or path != list(leaf.path):
        raise malformed("has a column that is not the one of the schema")
    if required(meta, 4, thrift.I32) not in _CODECS:
        known = ", ".join(_CODECS.values())
        raise IngestError("bad_codec", leaf.pointer, f"the compression is not taken; use one of {known}")
    values, size = required(meta, 5, thrift.I64), required(meta, 7, thrift.I64)
    if values < rows or (values != rows and not leaf.in_list):
        raise malformed("counts other values than rows")
    begin = required(meta, 9, thrift.I64)
    dictionary = optional(meta, 11, thrift.I64)
    # A dictionary at 0 is how some writers say that there is none.
    begin = min(begin, dictionary) if dictionary else begin
    if not (len(MAGIC) <= begin and 0 < size <= end - begin):
        raise IngestError("bad_offsets", leaf.pointer, f"column {leaf.name!r} does not lie within the file")
    return Chunk(leaf, begin, begin + size, values)


def _check_apart(chunks: list[Chunk]) -> None:
    """Refuse chunks that share bytes: a file could hold any number of the same ones."""
    for before, after in pairwise(chunks):
        if after.start < before.end:
            raise IngestError("bad_offsets", after.leaf.pointer, f"column {after.leaf.name!r} overlaps another one")


def _encode_footer(leaves: tuple[Leaf, ...], rows: int, groups: list[Struct]) -> bytes:
    """Encode a footer that holds the checked fields only."""
    read = [not leaf.unread for leaf in leaves]
    root = {4: Field(thrift.BINARY, b"schema"), 5: Field(thrift.I32, sum(read))}
    elements = [root, *(element for leaf in leaves if not leaf.unread for element in leaf.elements)]
    encoded = thrift.encode(
        {
            1: Field(thrift.I32, _VERSION),
            2: Field(thrift.LIST, Sequence(thrift.STRUCT, elements)),
            3: Field(thrift.I64, rows),
            4: Field(thrift.LIST, Sequence(thrift.STRUCT, [_group(group, read) for group in groups])),
        }
    )
    return encoded + _TAIL.pack(len(encoded), MAGIC)


def _group(group: Struct, read: list[bool]) -> Struct:
    columns = [_column(column) for column in compress(listed(group, 1, thrift.STRUCT), read)]
    kept = {number: group[number] for number in _GROUP_FIELDS if number in group}
    return {**kept, 1: Field(thrift.LIST, Sequence(thrift.STRUCT, columns))}


def _column(column: Struct) -> Struct:
    meta: Struct = required(column, 3, thrift.STRUCT)
    kept = {number: column[number] for number in _CHUNK_FIELDS if number in column}
    return {**kept, 3: Field(thrift.STRUCT, {number: meta[number] for number in _META_FIELDS if number in meta})}


def _encrypted() -> IngestError:
    return IngestError("encrypted", "", "the file is encrypted; write it without encryption")
