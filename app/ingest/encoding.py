"""Encodings of arrays, and of documents that hold arrays, in response bodies."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

import engine
from app.domain.documents import finite_part, nonfinite_name

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def _list(array: Any) -> Any:
    # Of a type or a layout that orjson does not encode.
    return array.tolist()


def json_body(document: Any, plain: Callable[[Any], Any] = _list) -> bytes:
    """Encode a document as UTF-8 JSON; what is not a finite number becomes null.

    `plain` makes plain data of what is neither that nor an array of a usual type in row-major order.
    """
    return orjson.dumps(document, default=plain, option=_OPTIONS)


def npy_body(array: NDArray[Any]) -> bytes:
    """Encode an array as `.npy`; bfloat16, for which the format has no name, as float32."""
    array = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return buffer.getvalue()


def safetensors_body(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> bytes:
    """Encode arrays, with all the types that the engine has, in the order given; `metadata` goes to `__metadata__`."""
    buffer = io.BytesIO()
    engine.write_tensors(buffer, tensors, metadata or {})
    return buffer.getvalue()


POSITIONS_MAX = 1000
"""Up to this many non-finite numbers are listed by position; more of them as runs of equal ones."""

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


def computed_document(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an evaluation of a graph gave: outputs, losses, gradients, derivatives; tensors are still arrays."""
    losses, nonfinite = finite_part(result["losses"])
    answer: dict[str, Any] = {"losses": losses, "nonfinite": nonfinite}
    return {**answer, **{kind: result[kind] for kind in ("outputs", "gradients", "derivatives") if kind in result}}


def gradcheck_document(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether gradients agree with central differences."""
    gradients = {name: _checked(found) for name, found in report["gradients"].items()}
    numbers, nonfinite = finite_part({**report, "gradients": gradients})
    return {**numbers, "nonfinite": nonfinite}


def _checked(report: Mapping[str, Any]) -> dict[str, Any]:
    worst = report["worst"]
    if worst is not None:
        numbers_there, nonfinite_there = finite_part(worst)
        worst = {**numbers_there, "nonfinite": nonfinite_there}
    numbers, nonfinite = finite_part({**report, "worst": worst})
    return {**numbers, "nonfinite": nonfinite}


def row_losses_document(found: engine.RowLosses) -> dict[str, Any]:
    """Return the loss of each row, and the rows that spike: those that are not finite, then the largest."""
    finite, nonfinite = finite_part({str(row): loss for row, loss in enumerate(found.losses.tolist())})
    return {
        "losses": list(finite.values()),
        "nonfinite": nonfinite,
        "top": [{"row": row, "loss": finite[str(row)], "nonfinite": nonfinite.get(str(row))} for row in found.top],
    }


def profile_document(timings: Sequence[engine.Timing]) -> dict[str, Any]:
    """Return a step node by node, and how long each of its phases takes."""
    phases: dict[str, float] = {}
    for timing in timings:
        phases[timing.phase] = phases.get(timing.phase, 0.0) + timing.seconds
    return {
        "object": "list",
        "data": [_node(timing) for timing in timings],
        "seconds": sum(phases.values()),
        "phase_seconds": phases,
        "peak_bytes": max((timing.live_bytes for timing in timings), default=0),
        "flops": sum(timing.operations for timing in timings),
    }


def _node(timing: engine.Timing) -> dict[str, Any]:
    return {
        "name": timing.name,
        "op": timing.op,
        "phase": timing.phase,
        "shape": list(timing.shape),
        "dtype": timing.dtype,
        "seconds": timing.seconds,
        "bytes": timing.bytes_made,
        "bytes_read": timing.bytes_read,
        "live_bytes": timing.live_bytes,
        "flops": timing.operations,
    }


def trace_document(found: engine.Nonfinite | None) -> dict[str, Any]:
    """Return where the first number that is not finite comes from."""
    if found is None:
        return {"finite": True, "first": None}
    first = {
        "name": found.name,
        "kind": found.kind if found.phase is None else "node",
        "phase": found.phase,
        "op": found.op,
        "shape": list(found.shape),
        "dtype": found.dtype,
        "nan": found.nan,
        "inf": found.inf,
        "index": list(found.index),
        "value": nonfinite_name(found.value),
        "inputs": [_operand(operand) for operand in found.inputs],
    }
    return {"finite": False, "first": first}


def _operand(operand: engine.Operand) -> dict[str, Any]:
    finite, nonfinite = finite_part({"min": operand.min, "max": operand.max})
    described = {"name": operand.name, "shape": list(operand.shape), "dtype": operand.dtype}
    return {**described, **finite, "nonfinite": nonfinite, "nan": operand.nan, "inf": operand.inf}
