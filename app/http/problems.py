"""Errors as problem documents (RFC 9457): one schema for every error."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from math import isfinite
from types import MappingProxyType
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app.domain.errors import ApiError, FileReplaced, NotFound
from app.http.request_scope import HEADER, record_file_replaced, request_id_of
from app.http.router_index import BODY_ONLY
from app.http.validation import combine_findings, findings_of

CONTENT_TYPE = "application/problem+json"


class ProblemError(BaseModel):
    """One fault in a request."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    pointer: str = Field(description="JSON pointer into the request; empty for the whole of it.")
    code: str
    detail: str


class LocatedProblemError(ProblemError):
    """One fault in a request, with its place in the text that the pointer names where that is a program."""

    line: int | None = Field(default=None, description="Line of the text at the pointer, counted from 1.")
    column: int | None = Field(default=None, description="Column in that line, in characters counted from 1.")


class Problem(BaseModel):
    """An error and what to change (RFC 9457)."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str = Field(description="Stable error code.")
    request_id: str
    errors: list[LocatedProblemError]
    limit: int | None = Field(default=None, description="The limit that was exceeded, for 413.")
    expected_seq: int | None = Field(default=None, description="The seq of the session's next step, for a step.")


class Status(BaseModel):
    """The status of the server."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ok", "ready"]


DEPTH = 8
"""Maximum nesting of extensions; deeper values are left out."""
LONGEST = 4096
"""Characters kept of a string, and items kept of a list or an object, in a document that is encoded leniently."""
INTEGER = 2**63
TYPE_PREFIX = "urn:adjoint:problem:"


def encode_problem(error: ApiError, instance: str, request_id: str) -> bytes:
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
            errors=[LocatedProblemError.model_validate(finding) for finding in error.findings],
            **error.extensions,
        )
        return document.model_dump_json(exclude_none=True).encode()
    except Exception:  # noqa: BLE001 - if one value cannot be encoded, the others can
        return _encode_leniently(error, instance, request_id)


def _encode_leniently(error: ApiError, instance: str, request_id: str) -> bytes:
    document = {
        "type": f"{TYPE_PREFIX}{_to_text(error.code)}",
        "title": _to_text(error.title),
        "status": error.status,
        "detail": _to_text(error.detail),
        "instance": _to_text(instance),
        "code": _to_text(error.code),
        "request_id": request_id,
        "errors": [
            {"pointer": _to_text(fault.pointer), "code": _to_text(fault.code), "detail": _to_text(fault.detail)}
            for fault in error.findings
        ],
    }
    further = {name: value for name, value in error.extensions.items() if name not in document and value is not None}
    return json.dumps(_to_json_value({**further, **document}, DEPTH), ensure_ascii=False, allow_nan=False).encode()


def header_text(value: object) -> str:
    """Return the value of a header as it may go out: printable characters of Latin-1."""
    text = "".join(character if character.isprintable() else " " for character in _to_text(value))
    return text.encode("latin-1", "replace").decode("latin-1")


def _to_json_value(value: Any, depth: int) -> Any:
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
            return {_to_text(name): _to_json_value(inner, depth - 1) for name, inner in entries}
        return [_to_json_value(inner, depth - 1) for inner in value[:LONGEST]]
    return _to_text(value)


def _is_simple(value: Any) -> bool:
    """Return whether a value encodes as it is; text may still need escaping."""
    if type(value) is int:
        return -INTEGER < value < INTEGER
    return value is None or type(value) in (str, bool) or (type(value) is float and isfinite(value))


def _to_text(value: object) -> str:
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - an exception of any type has a type name
        text = f"({type(value).__name__})"
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode()


CLOSING = frozenset({408, 413, 414, 431})
"""Answers before the whole body has come: what is left of it is not read, so the connection ends."""

DETAILS: Mapping[int, str] = MappingProxyType(
    {
        404: "there is nothing at this path; the paths are listed in /openapi.json",
        405: "this path does not take this method; see the Allow header",
        500: "the server met an error of its own; its log says more under this request_id",
    }
)


def problem(request: Request, error: ApiError) -> Response:
    """Render an error of ours."""
    request_id = request_id_of(request.scope)
    # Also set here, since the response to an unexpected error does not pass the middleware.
    headers = {name: header_text(value) for name, value in error.headers.items()}
    headers = {**headers, HEADER: request_id, "Cache-Control": "no-store"}
    if error.status in CLOSING:
        headers["Connection"] = "close"
    body = encode_problem(error, request.scope["path"][:256], request_id)
    return Response(body, error.status, headers, media_type=CONTENT_TYPE)


def unrouted(error: ApiError, request_id: str) -> bytes:
    """Encode the answer to a client whose request no route and no middleware has seen."""
    return encode_problem(error, "", request_id)


def install(app: FastAPI) -> None:
    """Have every error of the app rendered here: by coroutines, which are called without a detour through a thread."""

    async def on_adjoint(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        if isinstance(error, FileReplaced):
            record_file_replaced(request.scope)
        return problem(request, error)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(request, _from_http(app, request, error))

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem(request, _from_validation(request, error))

    async def on_disconnect(_request: Request, _error: Exception) -> Response:
        return Response(status_code=400)  # the client has gone

    async def on_anything(request: Request, _error: Exception) -> Response:
        return problem(request, ApiError(DETAILS[500]))

    app.add_exception_handler(ApiError, on_adjoint)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(ClientDisconnect, on_disconnect)
    app.add_exception_handler(Exception, on_anything)


def names_action(path_params: Mapping[str, str]) -> bool:
    """Whether what was taken for an id is one with an action behind it, of which another method or none is taken."""
    return any(name.endswith("_id") and ":" in value for name, value in path_params.items())


def _from_http(app: FastAPI, request: Request, error: HTTPException) -> ApiError:
    headers = dict(error.headers or {})
    status = error.status_code
    if status == 405:
        headers["Allow"] = ", ".join(_allowed(app, request.scope["path"]))
        if not headers["Allow"]:
            return NotFound(DETAILS[404], code="no_such_route")
    phrase = HTTPStatus(status).phrase
    code = "no_such_route" if status == 404 else re.sub(r"[^a-z]+", "_", phrase.lower())
    translated = ApiError(DETAILS.get(status, phrase), code=code, headers=headers)
    translated.status, translated.title = status, phrase
    return translated


def _allowed(app: FastAPI, path: str) -> list[str]:
    """Return the methods that `path` takes; none if it only looks like a path because an id may hold anything."""
    methods: set[str] = set()
    for route in app.state.routes:
        match = route.path_regex.match(path)
        if match and not names_action(match.groupdict()):
            methods |= route.methods
    headed = "GET" in methods and not path.endswith(BODY_ONLY)
    return sorted(methods | {"HEAD"} if headed else methods)


def _from_validation(request: Request, error: RequestValidationError) -> ApiError:
    route = request.scope.get("route")
    body_field = route.body_field if isinstance(route, APIRoute) else None
    shape = None if body_field is None else body_field.field_info.annotation
    return combine_findings(findings_of(error.errors(), error.body, shape))
