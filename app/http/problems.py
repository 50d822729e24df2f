"""Errors as problem documents (RFC 9457): one shape for all of them, whoever raised them."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app.domain.errors import AdjointError, NotFound, Planted
from app.http.access import report_tampering
from app.http.head import BODY_ONLY
from app.http.problem_encoding import encode_problem, header_text
from app.http.problem_schema import CONTENT_TYPE
from app.http.request_id import HEADER, request_id_of
from app.http.validation import findings_of, summed_up

CLOSING = frozenset({408, 413, 414, 431})
"""Answers before the whole body has come: what is left of it is not read, so the connection ends."""

DETAILS: Mapping[int, str] = MappingProxyType(
    {
        404: "there is nothing at this path; the paths are listed in /openapi.json",
        405: "this path does not take this method; see the Allow header",
        500: "the server met an error of its own; its log says more under this request_id",
    }
)


def problem(request: Request, error: AdjointError) -> Response:
    """Render an error of ours."""
    request_id = request_id_of(request.scope)
    # Also set here, since the answer to an error that nobody expected does not pass the middleware.
    headers = {name: header_text(value) for name, value in error.headers.items()}
    headers = {**headers, HEADER: request_id, "Cache-Control": "no-store"}
    if error.status in CLOSING:
        headers["Connection"] = "close"
    body = encode_problem(error, request.scope["path"][:256], request_id)
    return Response(body, error.status, headers, media_type=CONTENT_TYPE)


def unrouted(error: AdjointError, request_id: str) -> bytes:
    """Encode the answer to a client whose request no route and no middleware has seen."""
    return encode_problem(error, "", request_id)


def install(app: FastAPI) -> None:
    """Have every error of the app rendered here: by coroutines, which are called without a detour through a thread."""

    async def on_adjoint(request: Request, error: Exception) -> Response:
        assert isinstance(error, AdjointError)
        if isinstance(error, Planted):
            report_tampering(request.scope)
        return problem(request, error)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(request, _from_http(app, request, error))

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem(request, _from_validation(request, error))

    async def on_disconnect(_request: Request, _error: Exception) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    async def on_anything(request: Request, _error: Exception) -> Response:
        return problem(request, AdjointError(DETAILS[500]))

    app.add_exception_handler(AdjointError, on_adjoint)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(ClientDisconnect, on_disconnect)
    app.add_exception_handler(Exception, on_anything)


def names_action(path_params: Mapping[str, str]) -> bool:
    """Whether what was taken for an id is one with an action behind it, of which another method or none is taken."""
    return any(name.endswith("_id") and ":" in value for name, value in path_params.items())


def _from_http(app: FastAPI, request: Request, error: HTTPException) -> AdjointError:
    headers = dict(error.headers or {})
    status = error.status_code
    if status == 405:
        headers["Allow"] = ", ".join(_allowed(app, request.scope["path"]))
        if not headers["Allow"]:
            return NotFound(DETAILS[404], code="no_such_route")
    phrase = HTTPStatus(status).phrase
    code = "no_such_route" if status == 404 else re.sub(r"[^a-z]+", "_", phrase.lower())
    translated = AdjointError(DETAILS.get(status, phrase), code=code, headers=headers)
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


def _from_validation(request: Request, error: RequestValidationError) -> AdjointError:
    route = request.scope.get("route")
    body_field = route.body_field if isinstance(route, APIRoute) else None
    shape = None if body_field is None else body_field.field_info.annotation
    return summed_up(findings_of(error.errors(), error.body, shape))
