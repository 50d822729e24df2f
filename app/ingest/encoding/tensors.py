"""Tensors as documents: dtype, shape, data, and what JSON has no number for."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from app.domain.documents import nonfinite_name
from app.ingest.encoding.json import json_body

POSITIONS_MAX = 1000
"""So many numbers that are not finite are named by their positions; more of them, by runs of equal ones."""

CHUNK = 1 << 16
"""Elements, and runs, that are encoded at a time: what stands in memory beside the array is bounded by that."""

FINITE, NAN, INF, MINUS_INF = range(4)
NAMES = (b"", b'"nan"', b'"inf"', b'"-inf"')

FLOATS = "fV"
"""Kinds of floating types; that of bfloat16, which is not NumPy's own, is "V"."""

Array = NDArray[Any]


def tensor_document(array: Array) -> dict[str, Any]:
    """Return the fields of a tensor, its data still an array, which is encoded with the answer."""
    flat = np.ascontiguousarray(array).reshape(-1)
    named: Any = _positions(flat)
    if named is None:
        named = orjson.Fragment(b"".join(_runs(flat)))
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": flat, "nonfinite": named}


def json_pieces(document: Any) -> Iterator[bytes]:
    """Encode a document whose arrays are tensors piece by piece, to the same bytes as of its `tensor_document`s."""
    if isinstance(document, np.ndarray):
        yield from _tensor_pieces(document)
    elif isinstance(document, dict):
        yield b"{"
        for place, (name, value) in enumerate(document.items()):
            yield (b"," if place else b"") + json_body(str(name)) + b":"
            yield from json_pieces(value)
        yield b"}"
    elif isinstance(document, list) and any(isinstance(item, dict | np.ndarray) for item in document):
        yield b"["
        for place, item in enumerate(document):
            yield b"," if place else b""
            yield from json_pieces(item)
        yield b"]"
    else:
        yield json_body(document)


def _tensor_pieces(array: Array) -> Iterator[bytes]:
    flat = np.ascontiguousarray(array).reshape(-1)
    yield json_body({"dtype": array.dtype.name, "shape": list(array.shape)})[:-1] + b',"data":['
    for start in range(0, flat.size, CHUNK):
        yield (b"," if start else b"") + json_body(flat[start : start + CHUNK])[1:-1]
    yield b'],"nonfinite":'
    positions = _positions(flat)
    yield from _runs(flat) if positions is None else [json_body(positions)]
    yield b"}"


def _positions(flat: Array) -> dict[str, str] | None:
    """Name what is not finite by its position; None if that is too much of it."""
    found: dict[str, str] = {}
    for start in range(0, flat.size if flat.dtype.kind in FLOATS else 0, CHUNK):
        part = flat[start : start + CHUNK]
        places = np.flatnonzero(~np.isfinite(part))
        if len(found) + len(places) > POSITIONS_MAX:
            return None
        found.update({str(start + place): nonfinite_name(float(part[place])) for place in places.tolist()})
    return found


def _runs(flat: Array) -> Iterator[bytes]:
    """Name what is not finite by the first and the last position of each run of equal ones."""
    yield b"{"
    kind, first, written = FINITE, 0, False
    for start in range(0, flat.size + 1, CHUNK):
        kinds = _kinds(flat[start : start + CHUNK])
        if start + CHUNK > flat.size:
            kinds = np.append(kinds, FINITE)  # ends the last run
        changes = np.flatnonzero(np.diff(kinds, prepend=kind))
        encoded = []
        for place, other in zip((start + changes).tolist(), kinds[changes].tolist(), strict=True):
            if kind != FINITE:
                key = b"%d" % first if first == place - 1 else b"%d-%d" % (first, place - 1)
                encoded.append(b'"%b":%b' % (key, NAMES[kind]))
            kind, first = other, place
        if encoded:
            yield (b"," if written else b"") + b",".join(encoded)
            written = True
    yield b"}"


def _kinds(part: Array) -> NDArray[np.int8]:
    wide = part.astype(np.float64)
    signed = np.where(wide > 0, INF, MINUS_INF)
    return np.where(np.isnan(wide), NAN, np.where(np.isfinite(wide), FINITE, signed)).astype(np.int8)
