"""Hostile Arrow IPC files and streams by name: bytes, and the code with which they are refused.

They are damaged from good ones of pyarrow. Without it there are none: nothing reads them then either.
"""

import io
import struct
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

HAS_ARROW = find_spec("pyarrow") is not None
CONTINUATION = b"\xff\xff\xff\xff"


def stream(columns: dict[str, Any], compression: str | None = None, *, file: bool = False) -> bytes:
    """Return columns as a stream, or a file, of one batch."""
    arrow = import_module("pyarrow")
    batch = arrow.record_batch([*map(arrow.array, columns.values())], names=[*columns])
    sink = io.BytesIO()
    options = arrow.ipc.IpcWriteOptions(compression=compression)
    with (arrow.ipc.new_file if file else arrow.ipc.new_stream)(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def damaged(data: bytes, before: bytes, after: bytes) -> bytes:
    """Return `data` with one place changed, and the rest where it was."""
    assert before in data
    assert len(before) == len(after)
    return data.replace(before, after)


def _refused() -> dict[str, tuple[bytes, str]]:
    arrow = import_module("pyarrow")
    numbers = np.arange(7, dtype=np.int64) + 0x1122334455
    texts = ["abcdefgh", "ijklmnop", "qrst"]
    offsets, codes = struct.pack("<4i", 0, 8, 16, 20), struct.pack("<3q", 7, 6, 5)
    coded = stream({"x": arrow.DictionaryArray.from_arrays(arrow.array([7, 6, 5], arrow.int64()), [*"abcdefgh"])})
    lists = stream({"x": arrow.array([[1.5, 2.5], [3.5, 4.5]])})
    rows = struct.pack("<qq", 7, 0)
    packed = stream({"x": np.zeros(1 << 14)}, "zstd")
    unpacked = struct.pack("<q", 8 << 14)
    file = stream({"x": numbers}, file=True)
    footer = struct.unpack("<i", file[-10:-6])[0]
    good = stream({"x": numbers})
    return {
        "nothing": (b"", "empty"),
        "another kind of file": (b"PK\3\4" + bytes(60), "bad_magic"),
        "rows without columns": (_of_rows_only(), "no_columns"),
        "Feather of version 1": (b"FEA1" + bytes(60), "bad_version"),
        "a file that ends after its magic": (file[:8], "bad_data"),
        "a file without its end": (file[:-6], "bad_data"),
        "a footer longer than the file": (file[:-10] + struct.pack("<i", len(file)) + file[-6:], "bad_data"),
        "a footer of no length": (file[:-10] + struct.pack("<i", 0) + file[-6:], "bad_data"),
        "a footer of less than no length": (file[:-10] + struct.pack("<i", -footer) + file[-6:], "bad_data"),
        "a footer of zeros": (file[: -10 - footer] + bytes(footer) + file[-10:], "bad_data"),
        "a schema of 2 GiB": (CONTINUATION + struct.pack("<i", 2**31 - 1) + good[8:], "bad_data"),
        "a schema of less than no bytes": (CONTINUATION + struct.pack("<i", -8) + good[8:], "bad_data"),
        "a stream of a schema alone": (good[: good.index(CONTINUATION, 4)], "no_rows"),
        "a stream without the values": (good[: -len(numbers.tobytes())], "bad_data"),
        "more rows than values": (damaged(good, rows, struct.pack("<qq", 2**40, 0)), "bad_data"),
        "less than no rows": (damaged(good, rows, struct.pack("<qq", -1, 0)), "bad_data"),
        "codes beyond the dictionary": (damaged(coded, codes, struct.pack("<3q", 7, 8, 5)), "bad_data"),
        "codes below the dictionary": (damaged(coded, codes, struct.pack("<3q", 7, -9, 5)), "bad_data"),
        "texts that end before they begin": (
            damaged(stream({"x": texts}), offsets, struct.pack("<4i", 0, 16, 8, 20)), "bad_data"
        ),
        "texts beyond their bytes": (
            damaged(stream({"x": texts}), offsets, struct.pack("<4i", 0, 8, 16, 2**31 - 1)), "bad_data"
        ),
        "texts that are not UTF-8": (damaged(stream({"x": texts}), b"abcdefgh", b"abc\xff\xfefgh"), "bad_data"),
        "a dictionary that is not UTF-8": (damaged(coded, b"abcdefgh", b"a\xffcdefgh"), "bad_data"),
        "lists beyond their values": (
            damaged(lists, struct.pack("<3i", 0, 2, 4), struct.pack("<3i", 0, 2, 400)), "bad_data"
        ),
        "a bomb that says its size": (damaged(packed, unpacked, struct.pack("<q", 2**40)), "too_much_memory"),
        "less than no unpacked bytes": (damaged(packed, unpacked, struct.pack("<q", -2)), "bad_data"),
        "more rows of nothing than there may be": (
            damaged(stream({"x": arrow.nulls(7)}), struct.pack("<q", 7), struct.pack("<q", 2**50)), "too_many_rows"
        ),
        "a column twice": (stream_of_names(["a", "a"]), "duplicate_name"),
        "a column without a name": (stream_of_names([""]), "bad_name"),
        "a path as a name": (stream_of_names(["../x"]), "bad_name"),
        "no columns": (stream_of_names([]), "no_columns"),
        "too many columns": (stream_of_names([f"c{k}" for k in range(10_001)]), "too_many_columns"),
        "no rows": (stream({"x": np.zeros(0)}), "no_rows"),
        "structures": (stream({"x": arrow.array([{"a": 1}])}), "bad_dtype"),
        "lists of texts": (stream({"x": arrow.array([["a"]])}), "bad_dtype"),
        "bytes": (stream({"x": arrow.array([b"a"])}), "bad_dtype"),
        "decimals": (stream({"x": arrow.array([1], arrow.decimal128(9, 2))}), "bad_dtype"),
        "maps": (stream({"x": arrow.array([[("a", 1)]], arrow.map_(arrow.string(), arrow.int32()))}), "bad_dtype"),
        "lists of two lengths": (stream({"x": arrow.array([[1.0], [1.0, 2.0, 3.0]])}), "ragged"),
        "a list that is missing": (stream({"x": arrow.array([[1.0], None])}), "missing_value"),
        "lists of nothing": (stream({"x": arrow.array([[], []], arrow.list_(arrow.int8()))}), "bad_shape"),
        "whole numbers that float64 rounds": (stream({"x": arrow.array([2**53 + 1, None])}), "precision_lost"),
        "texts that are all missing": (stream({"x": arrow.array([None, None], arrow.string())}), "missing_value"),
        "a text that is not printable": (stream({"x": ["a\n"]}), "bad_value"),
    }  # fmt: skip


def stream_of_names(names: list[str]) -> bytes:
    arrow = import_module("pyarrow")
    sink = io.BytesIO()
    batch = arrow.record_batch([arrow.array([1])] * len(names), names=names)
    with arrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _of_rows_only() -> bytes:
    arrow = import_module("pyarrow")
    sink = io.BytesIO()
    batch = arrow.record_batch([arrow.array([1, 2])], names=["a"]).select([])
    with arrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


REFUSED = _refused() if HAS_ARROW else {}
GOOD = [
    stream({"x": [1, 2], "s": ["a", None], "t": [[1.5], [2.5]]}, file=is_file) for is_file in (False, True) if HAS_ARROW
]
GOOD += [stream({"x": np.arange(400), "y": [True, None] * 200}, "zstd")] if HAS_ARROW else []
