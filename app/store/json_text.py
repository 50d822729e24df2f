"""JSON values as text for the database, in Python's dialect: NaN and Infinity are written as such."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

LARGE = 512
"""Entries of a list or an object that are encoded at a time."""

_ENCODER = json.JSONEncoder(separators=(",", ":"))


def encode_json(value: Any) -> str:
    """Return `value` as JSON without spaces.

    Large lists and objects in an object, such as the nodes of a graph, are encoded piece by piece, to the same text:
    the encoder halts all other threads until it has ended.
    """
    if isinstance(value, dict) and any(map(_is_large, value.values())):
        return "".join(_object_pieces(value))
    return _ENCODER.encode(value)


def _is_large(part: Any) -> bool:
    return isinstance(part, list | dict) and len(part) > LARGE


def _object_pieces(value: dict[Any, Any]) -> Iterator[str]:
    separator = "{"
    for name, part in value.items():
        yield separator + _ENCODER.encode({name: 0})[1:-2]
        yield from _large_pieces(part) if _is_large(part) else (_ENCODER.encode(part),)
        separator = ","
    yield "}"


def _large_pieces(part: list[Any] | dict[Any, Any]) -> Iterator[str]:
    opening, closing = "[]" if isinstance(part, list) else "{}"
    entries = iter(part if isinstance(part, list) else part.items())
    separator = opening
    while piece := list(islice(entries, LARGE)):
        yield separator + _ENCODER.encode(piece if isinstance(part, list) else dict(piece))[1:-1]
        separator = ","
    yield closing
