"""Hostile safetensors files by name: bytes, and the code with which they are refused."""

import json
import struct

DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def raw(header: str | bytes, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def file(entries: object, data: bytes = b"") -> bytes:
    return raw(json.dumps(entries), data)


def entry(dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


GOOD = file({"x": entry()}, bytes(8))
X = json.dumps(entry())

REFUSED = {
    "empty file": (b"", "empty"),
    "half a length": (b"\1\0\0", "truncated"),
    "length beyond the file": (raw("{}", length=100), "truncated"),
    "header of 2^63 bytes": (raw("{}", length=1 << 63), "truncated"),
    "header of 17 MiB": (raw("{}" + " " * (17 << 20)), "header_too_large"),
    "no header": (raw(""), "bad_header"),
    "header starts with a space": (raw(' {"x": ' + X + "}", bytes(8)), "bad_header"),
    "header is a list": (raw("[]"), "bad_header"),
    "header is no JSON": (raw("{x}"), "bad_json"),
    "header goes on": (raw("{}{}"), "bad_json"),
    "header is not UTF-8": (raw(b'{"\xff": 1}'), "bad_utf8"),
    "header with NaN": (raw('{"x": NaN}'), "bad_json"),
    "header is deep": (raw('{"x": ' + "[" * 5000 + "]" * 5000 + "}"), "too_deep"),
    "lone surrogate as name": (raw(r'{"\ud800": ' + X + "}", bytes(8)), "bad_unicode"),
    "no tensors": (file({}), "no_columns"),
    "only metadata": (file({"__metadata__": {"a": "b"}}), "no_columns"),
    "same name twice": (raw('{"x": ' + X + ', "x": ' + X + "}", bytes(8)), "duplicate_key"),
    "same field twice": (raw('{"x": {"dtype": "F32", "dtype": "F32", "shape": [2]}}', bytes(8)), "duplicate_key"),
    "metadata of numbers": (file({"__metadata__": {"a": 1}, "x": entry()}, bytes(8)), "bad_header"),
    "metadata as list": (file({"__metadata__": [], "x": entry()}, bytes(8)), "bad_header"),
    "tensor as list": (file({"x": []}), "bad_header"),
    "field missing": (file({"x": {"dtype": "F32", "shape": [2]}}, bytes(8)), "bad_header"),
    "field too many": (file({"x": entry() | {"stride": [1]}}, bytes(8)), "bad_header"),
    "unknown dtype": (file({"x": entry("F7")}, bytes(8)), "bad_dtype"),
    "eight bit float": (file({"x": entry("F8_E4M3", [8])}, bytes(8)), "bad_dtype"),
    "lower case dtype": (file({"x": entry("f32")}, bytes(8)), "bad_dtype"),
    "dtype as number": (file({"x": entry(32)}, bytes(8)), "bad_dtype"),
    "dtype as list": (file({"x": entry(["F32"])}, bytes(8)), "bad_dtype"),
    "shape as number": (file({"x": entry(shape=2)}, bytes(8)), "bad_shape"),
    "negative shape": (file({"x": entry(shape=[-2])}, bytes(8)), "bad_shape"),
    "shape of two negatives": (file({"x": entry(shape=[-1, -2])}, bytes(8)), "bad_shape"),
    "shape of a float": (file({"x": entry(shape=[2.0])}, bytes(8)), "bad_shape"),
    "shape of a truth value": (file({"x": entry(shape=[True, 2])}, bytes(8)), "bad_shape"),
    "shape that wraps": (file({"x": entry(shape=[2**32, 2**32])}, bytes(8)), "bad_offsets"),
    "shape of 400 digits": (raw('{"x": ' + X.replace("[2]", f"[{'9' * 400}]") + "}", bytes(8)), "bad_shape"),
    "shape of 5000 digits": (
        raw('{"x": ' + X.replace("[2]", f"[{'9' * 5000}]") + "}", bytes(8)),
        "number_out_of_range",
    ),
    "scalar": (file({"x": entry(shape=[], offsets=[0, 4])}, bytes(4)), "no_rows"),
    "no rows": (file({"x": entry(shape=[0], offsets=[0, 0])}), "no_rows"),
    "no values": (file({"x": entry(shape=[2, 0], offsets=[0, 0])}), "bad_shape"),
    "rank 9": (file({"x": entry(shape=[1] * 8 + [2])}, bytes(8)), "bad_shape"),
    "one offset": (file({"x": entry(offsets=[0])}, bytes(8)), "bad_offsets"),
    "three offsets": (file({"x": entry(offsets=[0, 8, 8])}, bytes(8)), "bad_offsets"),
    "offsets as text": (file({"x": entry(offsets=["0", "8"])}, bytes(8)), "bad_offsets"),
    "negative offset": (file({"x": entry(offsets=[-8, 0])}, bytes(8)), "bad_offsets"),
    "offsets reversed": (file({"x": entry(offsets=[8, 0])}, bytes(8)), "bad_offsets"),
    "offsets too far apart": (file({"x": entry(offsets=[0, 12])}, bytes(12)), "bad_offsets"),
    "offsets out of the file": (file({"x": entry(shape=[4], offsets=[0, 16])}, bytes(8)), "truncated"),
    "gap at the start": (file({"x": entry(offsets=[4, 12])}, bytes(12)), "bad_offsets"),
    "gap": (file({"x": entry(), "y": entry(offsets=[12, 20])}, bytes(20)), "bad_offsets"),
    "overlap": (file({"x": entry(), "y": entry(offsets=[4, 12])}, bytes(12)), "bad_offsets"),
    "the same bytes twice": (file({"x": entry(), "y": entry()}, bytes(8)), "bad_offsets"),
    "trailing byte": (GOOD + b"\0", "trailing_bytes"),
    "one byte short": (GOOD[:-1], "truncated"),
    "path as name": (file({"../x": entry()}, bytes(8)), "bad_name"),
    "empty name": (file({"": entry()}, bytes(8)), "bad_name"),
    "long name": (file({"x" * 201: entry()}, bytes(8)), "bad_name"),
    "boolean of 7": (file({"x": entry("BOOL", [2], [0, 2])}, b"\1\7"), "bad_value"),
    "unequal rows": (file({"x": entry(), "y": entry(shape=[1], offsets=[8, 12])}, bytes(12)), "unequal_rows"),
    "too many tensors": (file({f"x{k}": entry() for k in range(10_001)}), "too_many_columns"),
}
