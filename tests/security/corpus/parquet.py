"""Hostile Parquet files by name: bytes, and the code with which they are refused. All are made by hand."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from app.ingest.thrift import BINARY, BYTE, I32, I64, LIST, STRUCT, TRUE, Field, Sequence, Struct, encode

VALUES = np.array([1.0, 2.0], "<f4").tobytes()
FLOAT, INT32, INT64, INT96, TEXT, FIXED = 4, 1, 2, 3, 6, 7
NOW, BEYOND = 4, 1 << 40
"""Where the first page is, and a number that is too large for anything."""


def number(value: int) -> Field:
    return Field(I32, value)


def long(value: int) -> Field:
    return Field(I64, value)


def text(value: bytes) -> Field:
    return Field(BINARY, value)


def structs(*values: Struct) -> Field:
    return Field(LIST, Sequence(STRUCT, list(values)))


def page(data: bytes = VALUES, count: int = 2, unpacked: int | None = None, packed: int | None = None) -> bytes:
    """Encode a page of plain values."""
    header = {1: number(count), 2: number(0), 3: number(3), 4: number(3)}
    sizes = (len(data) if size is None else size for size in (unpacked, packed))
    return encode({1: number(0), 2: number(next(sizes)), 3: number(next(sizes)), 5: Field(STRUCT, header)}) + data


def dictionary(count: int, data: bytes = b"\0" * 8) -> bytes:
    header = Field(STRUCT, {1: number(count), 2: number(0)})
    return encode({1: number(2), 2: number(len(data)), 3: number(len(data)), 7: header}) + data


def leaf(name: bytes = b"x", physical: int = FLOAT, **more: Field) -> Struct:
    """Encode an element of the schema; `more` are fields by `f` and their numbers."""
    given = {int(key[1:]): value for key, value in more.items()}
    return {1: number(physical), 3: number(0), 4: text(name), **given}


def chunk(size: int, name: bytes = b"x", physical: int = FLOAT, at: int = NOW, values: int = 2) -> Struct:
    meta = {
        1: number(physical), 2: Field(LIST, Sequence(I32, [0, 3])), 3: Field(LIST, Sequence(BINARY, [name])),
        4: number(0), 5: long(values), 6: long(size), 7: long(size), 9: long(at),
    }  # fmt: skip
    return {2: long(at), 3: Field(STRUCT, meta)}


def footer(size: int) -> Struct:
    """Encode the footer of a column x of two rows, whose one page has so many bytes."""
    root = {4: text(b"schema"), 5: number(1)}
    group = {1: structs(chunk(size)), 2: long(size), 3: long(2)}
    return {1: number(2), 2: structs(root, leaf()), 3: long(2), 4: structs(group)}


def whole(body: bytes, tail: bytes) -> bytes:
    return b"PAR1" + body + tail + struct.pack("<I", len(tail)) + b"PAR1"


def file(change: Callable[[Struct], Any] = lambda _: None, body: bytes | None = None) -> bytes:
    """Encode a file after a change of its footer."""
    body = page() if body is None else body
    header = footer(len(body))
    change(header)
    return whole(body, encode(header))


def schema(header: Struct) -> list[Struct]:
    elements: list[Struct] = header[2].value.values
    return elements


def group_of(header: Struct) -> Struct:
    first: Struct = header[4].value.values[0]
    return first


def chunk_of(header: Struct) -> Struct:
    first: Struct = group_of(header)[1].value.values[0]
    return first


def meta(**fields: Field) -> Callable[[Struct], None]:
    return lambda header: chunk_of(header)[3].value.update({int(key[1:]): value for key, value in fields.items()})


def of_type(physical: int, **more: Field) -> Callable[[Struct], None]:
    def change(header: Struct) -> None:
        schema(header)[1] = leaf(b"x", physical, **more)
        chunk_of(header)[3].value[1] = number(physical)

    return change


def logical(kind: int, **fields: Field) -> Field:
    return Field(STRUCT, {kind: Field(STRUCT, {int(key[1:]): value for key, value in fields.items()})})


def elements(*given: Struct) -> Callable[[Struct], None]:
    return lambda header: schema(header).__setitem__(slice(1, None), list(given))


def rows(count: int) -> Callable[[Struct], None]:
    """Have footer, group and column count so many rows."""

    def change(header: Struct) -> None:
        header[3] = group_of(header)[3] = long(count)
        chunk_of(header)[3].value[5] = long(count)

    return change


def twice(header: Struct) -> None:
    """List the one column in two groups: its bytes count twice."""
    header[4] = structs(group_of(header), group_of(header))
    header[3] = long(4)


def nested(depth: int) -> bytes:
    return whole(page(), b"\x1c" * depth + b"\0" * (depth + 1))


def coded(*codes: int) -> bytes:
    """Encode a file of two texts, which are the places of words in a dictionary of two."""
    words = dictionary(2, b"\1\0\0\0a\1\0\0\0b")
    # Codes of 8 bits, in one group of eight.
    data = b"\x08\x03" + bytes([*codes, *bytes(8 - len(codes))])
    header = Field(STRUCT, {1: number(2), 2: number(8), 3: number(3), 4: number(3)})
    body = words + encode({1: number(0), 2: number(len(data)), 3: number(len(data)), 5: header}) + data

    def change(footer: Struct) -> None:
        of_type(TEXT, f6=number(0))(footer)
        meta(f11=long(NOW), f9=long(NOW + len(words)))(footer)

    return file(change, body)


GOOD = file()
CODED = coded(1, 0)
LISTED = (
    {3: number(1), 4: text(b"x"), 5: number(1), 6: number(3)},
    {3: number(2), 4: text(b"list"), 5: number(1)},
)

REFUSED: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "empty"),
    "the magic alone": (b"PAR1", "truncated"),
    "two magics": (b"PAR1PAR1", "truncated"),
    "another magic at the end": (GOOD[:-1] + b"2", "bad_magic"),
    "another magic at the start": (b"\0" + GOOD[1:], "bad_magic"),
    "cut in half": (GOOD[: len(GOOD) // 2], "bad_magic"),
    "a footer that is encrypted": (GOOD[:-1] + b"E", "encrypted"),
    "a file that is encrypted": (b"PARE" + GOOD[4:], "encrypted"),
    "an algorithm of encryption": (file(lambda header: header.update({8: Field(STRUCT, {})})), "encrypted"),
    "a column that is encrypted": (file(lambda header: chunk_of(header).update({9: text(b"x")})), "encrypted"),
    "a footer longer than the file": (GOOD[:-8] + b"\xff\xff\xff\xff" + b"PAR1", "truncated"),
    "a footer of 17 MiB": (whole(b"", bytes(17 << 20)), "header_too_large"),
    "a footer of zeros": (whole(page(), bytes(100)), "bad_metadata"),
    "a footer of ones": (whole(page(), b"\xff" * 100), "bad_metadata"),
    "an empty footer": (whole(page(), b""), "bad_metadata"),
    "bytes behind the footer": (whole(page(), encode(footer(len(page()))) + b"\0"), "bad_metadata"),
    "structures 1000 deep": (nested(1000), "bad_metadata"),
    "lists 1000 deep": (whole(page(), b"\x19" * 1000), "bad_metadata"),
    "a list of 2^60": (whole(page(), b"\x29\xfc" + b"\xff" * 8 + b"\x0f"), "bad_metadata"),
    "a number without end": (whole(page(), b"\x15" + b"\xff" * 50), "bad_metadata"),
    "a text of 4 GiB": (whole(page(), b"\x18\xff\xff\xff\xff\x0f"), "bad_metadata"),
    "no schema": (file(lambda header: header.pop(2)), "bad_metadata"),
    "no columns": (file(lambda header: schema(header)[0].update({5: number(0)})), "no_columns"),
    "2^31 columns": (file(lambda header: schema(header)[0].update({5: number(2**31 - 1)})), "too_many_columns"),
    "fewer elements than counted": (file(lambda header: schema(header).pop()), "bad_metadata"),
    "more elements than counted": (file(lambda header: schema(header).append(leaf(b"y"))), "bad_metadata"),
    "a path as name": (file(lambda header: schema(header)[1].update({4: text(b"../../x")})), "bad_name"),
    "a name that is not UTF-8": (file(lambda header: schema(header)[1].update({4: text(b"\xff")})), "bad_metadata"),
    "times of 96 bits": (file(of_type(INT96)), "bad_dtype"),
    "decimals": (file(of_type(INT32, f6=number(5))), "bad_dtype"),
    "dates in a type that has none": (file(of_type(FLOAT, f10=logical(6))), "bad_dtype"),
    "a time of no unit": (file(of_type(INT64, f10=logical(7))), "bad_dtype"),
    "bytes of one length": (file(of_type(FIXED, f2=number(3))), "bad_dtype"),
    "JSON": (file(of_type(TEXT, f10=logical(12))), "bad_dtype"),
    "a variant": (file(of_type(TEXT, f10=logical(16))), "bad_dtype"),
    "integers of 7 bits": (
        file(of_type(INT32, f10=logical(10, f1=Field(BYTE, b"\7"), f2=Field(TRUE, True)))),
        "bad_dtype",
    ),
    "half floats of a gigabyte": (file(of_type(FIXED, f2=number(1 << 30), f10=logical(15))), "bad_dtype"),
    "a structure": (
        file(elements({3: number(0), 4: text(b"x"), 5: number(2)}, leaf(b"a"), leaf(b"b"))),
        "bad_dtype",
    ),
    "lists of lists": (file(elements(*LISTED, *LISTED, leaf(b"element"))), "bad_dtype"),
    "lists of texts": (file(elements(*LISTED, leaf(b"element", TEXT, f6=number(0)))), "bad_dtype"),
    "a repeated column": (file(lambda header: schema(header)[1].update({3: number(2)})), "bad_dtype"),
    "10^12 rows": (file(rows(10**12)), "too_many_rows"),
    "10^9 rows of 8 bytes": (file(rows(10**9)), "bad_metadata"),
    "less than no rows": (file(rows(-2)), "bad_metadata"),
    "no rows": (file(rows(0)), "no_rows"),
    "no groups": (file(lambda header: header.update({4: structs(), 3: long(0)})), "no_rows"),
    "rows that no group has": (file(lambda header: header.update({3: long(3)})), "bad_metadata"),
    "values that no page has": (file(rows(3)), "bad_metadata"),
    "more values than rows": (file(meta(f5=long(3))), "bad_metadata"),
    "a column in another file": (
        file(lambda header: chunk_of(header).update({1: text(b"/etc/passwd")})),
        "bad_metadata",
    ),
    "a column of another name": (file(meta(f3=Field(LIST, Sequence(BINARY, [b"y"])))), "bad_metadata"),
    "a column of another type": (file(meta(f1=number(INT64))), "bad_metadata"),
    "a column beyond the file": (file(meta(f9=long(BEYOND))), "bad_offsets"),
    "a column before the file": (file(meta(f9=long(-1))), "bad_offsets"),
    "a column of a terabyte": (file(meta(f7=long(BEYOND))), "bad_offsets"),
    "a column of no bytes": (file(meta(f7=long(0))), "bad_offsets"),
    "one column twice": (file(twice), "bad_offsets"),
    "a group with two columns": (
        file(lambda header: group_of(header).update({1: structs(chunk_of(header), chunk_of(header))})),
        "bad_metadata",
    ),
    "compressed by LZO": (file(meta(f4=number(3))), "bad_codec"),
    "a page of 2 GiB": (file(body=page(unpacked=2**31 - 1)), "page_too_large"),
    "a page of less than no bytes": (file(body=page(packed=-1)), "bad_offsets"),
    "a page beyond its column": (file(body=page(packed=1000)), "bad_offsets"),
    "a page of 2^31 values": (file(body=page(count=2**31 - 1)), "bad_metadata"),
    "a page of less than no values": (file(body=page(count=-2)), "bad_metadata"),
    "a page of an unknown kind": (
        file(body=encode({1: number(9), 2: number(8), 3: number(8)}) + VALUES),
        "bad_metadata",
    ),
    "a page header of zeros": (file(body=bytes(100)), "bad_metadata"),
    "a dictionary of 2^31 entries": (file(body=dictionary(2**31 - 1) + page()), "bad_metadata"),
    "a dictionary behind the values": (file(body=page() + dictionary(2)), "bad_metadata"),
    "texts that are in no dictionary": (coded(1, 9), "bad_data"),
    "values that are not there": (file(body=page(VALUES[:4])), "bad_data"),
    "compressed values that are none": (file(meta(f4=number(6))), "bad_data"),
}
