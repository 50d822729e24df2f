"""The header of a `.npy` file: a strict reader with a closed grammar, and a writer of its one canonical form.

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1.0, 2.0 and 3.0).
NumPy itself evaluates the header as a Python literal; nothing is evaluated here.
"""

import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.ingest.limits import IngestError, too_large
from app.ingest.sources import Source

MAGIC = b"\x93NUMPY"
_LENGTH_FORMATS = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
_ALIGNMENT = 64
_MAX_ROWS_DIGITS = 20

_KINDS = frozenset({"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"})
_DESCR = re.compile(r"([<>|])([a-zA-Z]\d{1,4})")
_TEXTS = re.compile(r"[<>]U[1-9]\d{0,3}")
_ITEM = re.compile(
    r"""\s*(?P<quote>['"])(?P<key>descr|fortran_order|shape)(?P=quote)\s*:\s*
        (?: (?P<mark>['"])(?P<descr>[^'"]{1,16})(?P=mark)
          | (?P<flag>True|False)
          | \((?P<shape>[\s\d,]*)\)
          | (?P<structured>\[) )\s*""",
    re.VERBOSE | re.ASCII,
)
_KEY_OF_GROUP = {"descr": "descr", "flag": "fortran_order", "shape": "shape"}
_SHAPE = re.compile(r"\s*+(?:(?:\d{1,19}\s*+,\s*+)++(?:\d{1,19}\s*+)?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What a header declares; `dtype` keeps the byte order of the file, and `written` is all before the array."""

    dtype: np.dtype[Any]
    fortran_order: bool
    shape: tuple[int, ...]
    written: bytes

    @property
    def is_canonical(self) -> bool:
        """Whether the file is as a column of the same values is stored."""
        stored = self.dtype.newbyteorder("<")
        return bool(self.shape) and self.written == canonical_header(stored, self.shape)


def read_header(source: Source, limit: int, *, texts: bool = False) -> NpyHeader:
    """Read magic, version and header from the start of `source`; a header of more than `limit` bytes is refused.

    With `texts`, arrays of texts (dtype U) are taken too.
    """
    if source.read(len(MAGIC)) != MAGIC:
        raise IngestError("bad_magic", "", "this is not a .npy file: it does not start with \\x93NUMPY")
    version = (source.read(1)[0], source.read(1)[0])
    if version not in _LENGTH_FORMATS:
        raise IngestError("bad_version", "", f"version {version[0]}.{version[1]} of .npy is unknown; use 1.0 to 3.0")
    length_format = _LENGTH_FORMATS[version]
    packed_length = source.read(struct.calcsize(length_format))
    (length,) = struct.unpack(length_format, packed_length)
    if limit < length <= source.remaining:
        raise too_large("header_too_large", "", "bytes of .npy header", limit)
    raw = source.read(length)
    return NpyHeader(*_parse(raw, texts=texts), b"".join((MAGIC, bytes(version), packed_length, raw)))


def _parse(raw: bytes, *, texts: bool) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        raise _bad_header("it is not ASCII") from None
    text = text.strip(" \n")
    if not (text.startswith("{") and text.endswith("}")):
        raise _bad_header("it is not one {...}")
    items = _items(text[1:-1])
    missing = {"descr", "fortran_order", "shape"} - items.keys()
    if missing:
        raise _bad_header(f"it does not say {', '.join(sorted(missing))}")
    return _dtype(items["descr"], texts=texts), items["fortran_order"] == "True", _shape(items["shape"])


def _items(text: str) -> dict[str, str]:
    items: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        match = _ITEM.match(text, position)
        if match is None:
            raise _bad_header("it is not of the form that numpy.save writes")
        key, group = match["key"], match.lastgroup
        if group == "structured" and key == "descr":
            raise IngestError("bad_dtype", "", "structured arrays are not taken; save each field as an array")
        if group is None or _KEY_OF_GROUP.get(group) != key or key in items:
            raise _bad_header(f"the value of {key} is of the wrong kind, or given twice")
        items[key] = match[group]
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                raise _bad_header("a comma is missing")
            position += 1
    return items


def _dtype(descr: str, *, texts: bool) -> np.dtype[Any]:
    if texts and _TEXTS.fullmatch(descr):
        return np.dtype(descr)
    match = _DESCR.fullmatch(descr)
    if match is None or match[2] not in _KINDS or (match[1] == "|" and match[2][1] != "1"):
        raise IngestError(
            "bad_dtype", "", "the dtype is not taken; convert to bool, (u)int8 to 64 or float16 to 64, never to object"
        )
    return np.dtype(descr)


def _shape(text: str) -> tuple[int, ...]:
    if _SHAPE.fullmatch(text) is None:
        raise _bad_header("the shape is not a tuple of sizes")
    return tuple(int(size) for size in text.split(",") if size.strip())


def _bad_header(why: str) -> IngestError:
    return IngestError("bad_header", "", f"the .npy header cannot be read: {why}")


def canonical_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Header of a C-order array, padded so that its length does not depend on the number of rows.

    The rows of a streamed column are known last; the header is then written again over the first one.
    """
    dimensions = ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "")
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({dimensions}), }}"
    prefix = len(MAGIC) + 2 + 2
    longest = prefix + len(text) - len(str(shape[0])) + _MAX_ROWS_DIGITS + 1
    total = -(-longest // _ALIGNMENT) * _ALIGNMENT
    padded = text.ljust(total - prefix - 1) + "\n"
    return MAGIC + bytes((1, 0)) + struct.pack("<H", len(padded)) + padded.encode("ascii")
