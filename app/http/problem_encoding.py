"""Encoding of problem documents, whatever they hold: reporting an error must not raise another one."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from app.domain.errors import AdjointError
from app.http.problem_schema import Problem, ProblemError

DEPTH = 8
"""Maximum nesting of extensions; deeper values are left out."""
LONGEST = 4096
"""Characters kept of a string, and items kept of a list or an object, in a document that is encoded leniently."""
INTEGER = 2**63
TYPE_PREFIX = "urn:adjoint:problem:"


def encode_problem(error: AdjointError, instance: str, request_id: str) -> bytes:
    """Encode an error as UTF-8 JSON: values that JSON cannot represent are replaced, and nothing is raised."""
    try:
        if not all(map(_is_simple, error.extensions.values())):
            return _encode_leniently(error, instance, request_id)
        document = Problem(
            type=f"{TYPE_PREFIX}{error.code}",
            title=error.title,
            status=error.status,
            detail=error.detail,
            instance=instance,
            code=error.code,
            request_id=request_id,
            errors=[ProblemError(pointer=f.pointer, code=f.code, detail=f.detail) for f in error.findings],
            **error.extensions,
        )
        return document.model_dump_json(exclude_none=True).encode()
    except Exception:  # noqa: BLE001 - whatever value cannot be encoded, the others can
        return _encode_leniently(error, instance, request_id)


def _encode_leniently(error: AdjointError, instance: str, request_id: str) -> bytes:
    document = {
        "type": f"{TYPE_PREFIX}{_text(error.code)}",
        "title": _text(error.title),
        "status": error.status,
        "detail": _text(error.detail),
        "instance": _text(instance),
        "code": _text(error.code),
        "request_id": request_id,
        "errors": [
            {"pointer": _text(fault.pointer), "code": _text(fault.code), "detail": _text(fault.detail)}
            for fault in error.findings
        ],
    }
    further = {name: value for name, value in error.extensions.items() if name not in document and value is not None}
    return json.dumps(_plain({**further, **document}, DEPTH), ensure_ascii=False, allow_nan=False).encode()


def header_text(value: object) -> str:
    """Return the value of a header as it may go out: printable characters of Latin-1."""
    text = "".join(character if character.isprintable() else " " for character in _text(value))
    return text.encode("latin-1", "replace").decode("latin-1")


def _plain(value: Any, depth: int) -> Any:
    """Return the value as JSON can hold it: what it has no place for becomes null, or a text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -INTEGER < value < INTEGER else None
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping | list | tuple):
        if not depth:
            return None
        if isinstance(value, Mapping):
            entries = [*value.items()][:LONGEST]
            return {_text(name): _plain(inner, depth - 1) for name, inner in entries}
        return [_plain(inner, depth - 1) for inner in value[:LONGEST]]
    return _text(value)


def _is_simple(value: Any) -> bool:
    """Return whether a value encodes as it is; text may still need escaping."""
    if type(value) is int:
        return -INTEGER < value < INTEGER
    return value is None or type(value) in (str, bool) or (type(value) is float and isfinite(value))


def _text(value: object) -> str:
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - whatever it is, its type has a name
        text = f"({type(value).__name__})"
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode()
