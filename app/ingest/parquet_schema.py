"""The schema of a Parquet file: columns of numbers, truth values, texts, lists of numbers, and images; nothing else.

An image is a value of bytes, or a structure of `bytes` and `path`, as the library Datasets of Hugging Face writes it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from app.ingest import thrift
from app.ingest.columns import pointer_to
from app.ingest.limits import IngestError, IngestLimits, too_large
from app.ingest.thrift import Field, Struct, malformed, optional, required

CheckName = Callable[[str, str], None]

_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_BYTE_ARRAY, _FIXED_BYTES = 6, 7
_AS_LIST, _AS_TEXT = 3, 0
"""What a converted type says; so do the numbers in the next table."""
_STORED: Mapping[tuple[int, int | None], str] = MappingProxyType(
    {
        (0, None): "bool", (1, None): "int32", (2, None): "int64", (4, None): "float32", (5, None): "float64",
        (1, 15): "int8", (1, 16): "int16", (1, 17): "int32", (2, 18): "int64",
        (1, 11): "uint8", (1, 12): "uint16", (1, 13): "uint32", (2, 14): "uint64",
    }
)  # fmt: skip
_LOGICAL_TEXT, _LOGICAL_LIST, _LOGICAL_INTEGER, _LOGICAL_FLOAT16 = 1, 3, 10, 15
_LOGICAL_DECIMAL, _LOGICAL_DATE, _LOGICAL_TIME, _LOGICAL_TIMESTAMP = 5, 6, 7, 8
_INT32, _INT64 = 1, 2
_DAYS = 1 / 86400
_PER_SECOND: Mapping[tuple[int, int], float] = MappingProxyType(
    {(_INT32, 6): _DAYS, (_INT32, 7): 1e3, (_INT64, 8): 1e6, (_INT64, 9): 1e3, (_INT64, 10): 1e6}
)
"""Units of dates and times in a second, by type and converted type."""
_LOGICAL_UNITS = {1: 1e3, 2: 1e6, 3: 1e9}
_KEPT = (1, 2, 3, 4, 5, 6, 10)
_ANNOTATIONS = (6, 10)
_ADVICE: Mapping[tuple[int, int | None], str] = MappingProxyType(
    {
        (3, None): "timestamps in 96 bits are not taken; write them in milli- or microseconds",
        **{(physical, 5): "cast decimals to float64" for physical in (1, 2, _BYTE_ARRAY, _FIXED_BYTES)},
    }
)
_HALF_BYTES = 2
_IMAGE_FIELDS = {"bytes", "path"}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column: its dtype, None for text and images; whether each row is a list; its elements in the schema, its path.

    `per_second` is how many units make a second, if it holds dates or times. `images`: whether it holds images.
    `unread`: whether its values are not read.
    """

    name: str
    dtype: np.dtype[Any] | None
    in_list: bool
    physical: int
    path: tuple[str, ...]
    elements: tuple[Struct, ...]
    per_second: float | None = None
    images: bool = False
    unread: bool = False

    @property
    def pointer(self) -> str:
        """JSON pointer to the column."""
        return pointer_to(self.name)

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return self.dtype is None and not self.images


def read_schema(elements: list[Struct], limits: IngestLimits, check_name: CheckName) -> tuple[Leaf, ...]:
    """Read the flattened tree of a schema, whose root comes first; `check_name` refuses names of columns."""
    rest = iter(elements)
    root = next(rest, None)
    count = None if root is None else optional(root, 5, thrift.I32)
    if not count or count < 0:
        raise IngestError("no_columns", "/columns", "the file holds no columns; a data set needs at least one")
    if count > limits.max_columns:
        raise too_large("too_many_columns", "/columns", "columns", limits.max_columns)
    leaves = []
    for number in range(1, count + 1):
        element = _next(rest)
        check_name(_name(element), f"column {number}")
        leaves += _image(element, rest) if _is_structure(element) else [_column(element, rest)]
    if next(rest, None) is not None:
        raise malformed("has a schema with more elements than it counts")
    return tuple(leaves)


def _next(rest: Iterator[Struct]) -> Struct:
    element = next(rest, None)
    if element is None:
        raise malformed("has a schema with fewer elements than it counts")
    return element


def _column(element: Struct, rest: Iterator[Struct]) -> Leaf:
    name = _name(element)
    if _is_repeated(element):
        raise _no_type(name, "it is repeated without being a list")
    if 5 not in element:
        return _leaf((element,))
    if not _is_list(element) or element[5].value != 1:
        raise _no_type(name, "a column is flat, or a list")
    middle, last = _next(rest), _next(rest)
    if required(middle, 3, thrift.I32) != _REPEATED or optional(middle, 5, thrift.I32) != 1 or 5 in last:
        raise _no_type(name, "a list is of numbers, not of lists or structures")
    if _is_repeated(last):
        raise _no_type(name, "a list is of numbers, not of lists or structures")
    return _leaf((element, middle, last))


def _is_structure(element: Struct) -> bool:
    return optional(element, 5, thrift.I32) == len(_IMAGE_FIELDS) and not _is_list(element)


def _image(element: Struct, rest: Iterator[Struct]) -> list[Leaf]:
    """Read a structure of the bytes of an image and its path, in any order; the path is not read."""
    name, fields = _name(element), (_next(rest), _next(rest))
    names = [_name(field) for field in fields]
    flat = not any(5 in field for field in fields) and not any(map(_is_repeated, (element, *fields)))
    if not flat or set(names) != _IMAGE_FIELDS or required(fields[names.index("bytes")], 1, thrift.I32) != _BYTE_ARRAY:
        raise _no_type(name, "a column is flat, a list, or a structure of the bytes and the path of an image")
    group = {**_plain(element), 5: Field(thrift.I32, 1)}
    return [
        Leaf(
            name,
            None,
            False,
            required(field, 1, thrift.I32),
            (name, own),
            (group, _plain(field)),
            images=True,
            unread=own == "path",
        )
        for own, field in zip(names, fields, strict=True)
    ]


def _is_repeated(element: Struct) -> bool:
    return optional(element, 3, thrift.I32) not in (_REQUIRED, _OPTIONAL)


def _plain(element: Struct) -> Struct:
    """Return an element of the schema without annotations."""
    return {number: element[number] for number in _KEPT if number in element and number not in _ANNOTATIONS}


def _leaf(elements: tuple[Struct, ...]) -> Leaf:
    last = elements[-1]
    name, in_list = _name(elements[0]), len(elements) > 1
    per_second = _per_second(last)
    # Without its annotations a date is read as the number that it is stored as.
    last = last if per_second is None else {number: last[number] for number in last if number not in _ANNOTATIONS}
    images = _is_bytes(last)
    dtype = None if images else _dtype(last, name)
    if dtype is None and in_list:
        raise _no_type(name, "a list is of numbers, not of texts or images")
    kept = tuple(
        {number: element[number] for number in _KEPT if number in element} for element in (*elements[:-1], last)
    )
    path = tuple(_name(element) for element in elements)
    return Leaf(name, dtype, in_list, required(last, 1, thrift.I32), path, kept, per_second, images)


def _is_bytes(element: Struct) -> bool:
    """Whether a column holds bytes of which the file does not say what they are."""
    return optional(element, 1, thrift.I32) == _BYTE_ARRAY and not element.keys() & set(_ANNOTATIONS)


def _per_second(element: Struct) -> float | None:
    """Return how many units of a date or time make a second; None for anything else."""
    physical, converted = required(element, 1, thrift.I32), optional(element, 6, thrift.I32)
    logical = optional(element, 10, thrift.STRUCT)
    if not logical:
        return None if converted is None else _PER_SECOND.get((physical, converted))
    (kind, field), *_ = logical.items()
    if kind == _LOGICAL_DATE and physical == _INT32:
        return _DAYS
    if kind not in (_LOGICAL_TIME, _LOGICAL_TIMESTAMP) or field.type != thrift.STRUCT:
        return None
    unit = optional(field.value, 2, thrift.STRUCT)
    return _LOGICAL_UNITS.get(next(iter(unit))) if unit and physical in (_INT32, _INT64) else None


def _name(element: Struct) -> str:
    try:
        return str(required(element, 4, thrift.BINARY), "utf-8")
    except UnicodeDecodeError:
        raise malformed("has a name that is not UTF-8") from None


def _is_list(element: Struct) -> bool:
    logical = optional(element, 10, thrift.STRUCT)
    return optional(element, 6, thrift.I32) == _AS_LIST or (logical is not None and _LOGICAL_LIST in logical)


def _dtype(element: Struct, name: str) -> np.dtype[Any] | None:
    physical, converted = required(element, 1, thrift.I32), optional(element, 6, thrift.I32)
    logical = optional(element, 10, thrift.STRUCT)
    if logical is not None:
        if len(logical) != 1:
            raise malformed("has a type that is not one")
        ((kind, field),) = logical.items()
        if kind == _LOGICAL_FLOAT16 and (physical, optional(element, 2, thrift.I32)) == (_FIXED_BYTES, _HALF_BYTES):
            return np.dtype(np.float16)
        converted = converted if kind == _LOGICAL_DECIMAL else _converted(kind, field)
    if (physical, converted) == (_BYTE_ARRAY, _AS_TEXT):
        return None
    stored = _STORED.get((physical, converted))
    if stored is None:
        usual = "its type is not taken; use whole numbers, floats, truth values, dates, times, text or images"
        raise _no_type(name, _ADVICE.get((physical, converted), usual))
    return np.dtype(stored)


def _converted(kind: int, field: Field) -> int | None:
    """Return the older name of a logical type, -1 if there is none that is taken."""
    if kind == _LOGICAL_TEXT:
        return _AS_TEXT
    if kind != _LOGICAL_INTEGER or field.type != thrift.STRUCT:
        return -1
    bits = required(field.value, 1, thrift.BYTE)[0]
    signed = 2 in field.value and field.value[2].type == thrift.TRUE
    return {8: 11, 16: 12, 32: 13, 64: 14}.get(bits, -100) + 4 * signed


def _no_type(name: str, why: str) -> IngestError:
    return IngestError("bad_dtype", pointer_to(name), f"column {name!r} is not taken: {why}")
