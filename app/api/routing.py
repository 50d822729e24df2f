"""How every route reads a request: declared query parameters, headers and bodies only; and tags its response."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable
from functools import partial
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Header, Query
from fastapi.routing import APIRoute
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.bodies import content_type, has_body, read_body, read_json_body
from app.domain.documents import escape, nearest
from app.domain.errors import (
    ApiError,
    DatabaseUnavailable,
    Finding,
    Invalid,
    TransactionConflict,
    UnsupportedMedia,
)
from app.http.problems import names_action
from app.http.responses import add_entity_tag
from app.http.validation import FINDINGS_MAX, combine_findings, redact


def declared_parameters(route: APIRoute) -> frozenset[str]:
    """Return the names of the query parameters of `route`, as the OpenAPI document lists them.

    They come from the signature of its handler and of its dependencies, and from `openapi_extra`.
    """
    signature = {field.alias for field in get_flat_params(route.dependant) if isinstance(field.field_info, Query)}
    extra = (route.openapi_extra or {}).get("parameters", ())
    return frozenset(signature | {parameter["name"] for parameter in extra if parameter["in"] == "query"})


def check_parameters(request: Request, declared: Collection[str]) -> None:
    """Invalid, pointing at `/<name>`, for each parameter of the query that is not declared or that is given twice."""
    if request.scope["query_string"]:
        given = [name for name, _ in request.query_params.multi_items()]
        findings = [*_parameter_findings(given, declared)][:FINDINGS_MAX]
        if findings:
            raise combine_findings(tuple(findings))


def _parameter_findings(given: Iterable[str], declared: Collection[str]) -> Iterable[Finding]:
    for name, count in Counter(given).items():
        pointer = f"/{escape(name[:64])}"
        if name not in declared:
            hint = nearest(name, sorted(declared)) if declared else "; this route takes no query parameters"
            yield Finding(pointer, "unknown_parameter", f"unknown query parameter{hint}")
        elif count > 1:
            detail = f"this query parameter is given {count} times; give it once"
            yield Finding(pointer, "duplicate_parameter", detail)


ONCE = frozenset({b"content-type", b"content-digest", b"idempotency-key", b"last-event-id", b"if-match"})
"""Headers with one value: of two, one would be ignored."""

CONDITIONS = ("if-match", "if-unmodified-since")
"""Headers that a change depends on (RFC 9110, section 13.1): a route that ignored them would go ahead all the same."""

NOTHING = frozenset({b"", b"{}", b"null"})
"""Bodies that say nothing, which clients send where none is wanted."""

BODY_BYTES = 64 * 1024


def declared_headers(route: APIRoute) -> frozenset[str]:
    """Return the names of the headers that a route declares, in lower case."""
    fields = get_flat_params(route.dependant)
    return frozenset(field.alias.lower() for field in fields if isinstance(field.field_info, Header))


def reads_body(route: APIRoute) -> bool:
    """Tell whether a route reads a body, by itself or as FastAPI does."""
    return route.body_field is not None or "requestBody" in (route.openapi_extra or {})


def check_headers(request: Request, declared: Collection[str]) -> None:
    """Invalid, pointing at `/<name>`, for a header that is there twice, and for a condition that is not checked."""
    names = [name for name, _ in request.scope["headers"]]
    if len(names) != len(set(names)):
        for name in ONCE:
            if names.count(name) > 1:
                raise _invalid_header(name.decode(), "duplicate_header", "this header is there twice; send it once")
    if request.method not in ("GET", "HEAD"):
        for condition in CONDITIONS:
            if condition not in declared and condition.encode() in names:
                detail = (
                    f"this route compares no entity tags or dates; leave {condition} out, and read the resource again"
                )
                raise _invalid_header(condition, "unknown_header", detail)


async def check_no_body(request: Request) -> None:
    """Invalid if a request has a body that says something, for a route that reads none."""
    if has_body(request) and (await read_body(request, BODY_BYTES)).strip() not in NOTHING:
        detail = "this route reads no body, so what it says would be dropped; leave it out"
        raise Invalid(detail, code="unknown_field", findings=[Finding("", "unknown_field", detail)])


def _invalid_header(name: str, code: str, detail: str) -> Invalid:
    finding = Finding(f"/{name}", code, f"header parameter: {detail}")
    return Invalid(finding.detail, code=code, findings=[finding])


JSON_TYPES = ("application/json", "application/merge-patch+json")  # FastAPI passes any other on as bytes

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadRequest(Request):
    """A request whose JSON body has been read: FastAPI's own parsing never reads what the client sent."""

    def __init__(self, request: Request, received: bytes, document: Any) -> None:
        """Take over from `request`; `document` is what the bytes `received` say."""
        super().__init__(request.scope, request.receive)
        self.received = received
        self._document = document

    async def body(self) -> bytes:
        return self.received

    async def json(self) -> Any:
        return self._document


_DERIVING = threading.RLock()  # one for all routes: deriving a part of one asks for other parts of it


class StrictRoute(APIRoute):
    """A route whose JSON body is read strictly, and whose answers to GET carry an entity tag."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Keep what finds the route; the rest is derived from the signature of `endpoint` at its first use.

        That takes milliseconds, and many processes use few of the routes.
        """
        self.path, self.endpoint = path, endpoint
        self.name = options["name"] or endpoint.__name__
        self.methods = {method.upper() for method in options["methods"] or ("GET",)}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._derive = partial(self._derive_rest, path, endpoint, **options)

    def __getattr__(self, name: str) -> Any:
        """Derive what is not there yet."""
        with _DERIVING:
            if derive := self.__dict__.pop("_derive", None):
                derive()
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def _derive_rest(self, *args: Any, **options: Any) -> None:
        """Take the summary from the first line of the handler's docstring, the description from the rest."""
        super().__init__(*args, **options)
        if self.summary is None:
            first, _, rest = self.description.partition("\n\n")
            self.summary, self.description = first.removesuffix("."), rest

    def get_route_handler(self) -> Handler:
        """Refuse what a request says and the route does not read, before `make_handler`'s handler reads the rest."""
        handle, parameters, headers = self.make_handler(), declared_parameters(self), declared_headers(self)
        has_use_for_body = reads_body(self)

        async def checked(request: Request) -> Response:
            check_parameters(request, parameters)
            check_headers(request, headers)
            if not has_use_for_body:
                await check_no_body(request)
            return await handle(request)

        return checked

    def make_handler(self) -> Handler:
        """Wrap FastAPI's handler; a subclass that answers in its own way overrides this."""
        handle = super().get_route_handler()
        reads_json, is_bodyless = self.body_field is not None, not reads_body(self)

        async def strict(request: Request) -> Response:
            if names_action(request.path_params):
                raise HTTPException(405)
            if not reads_json:
                return add_entity_tag(request, await handle_again(handle, request, is_bodyless=is_bodyless))
            read = await _read(request)
            try:
                return add_entity_tag(request, await handle_again(handle, read))
            except ApiError as error:
                raise redact(error, await read.json()) from error

        return strict


class MemoryRoute(StrictRoute):
    """A route whose requests are answered from memory where that is possible, in the event loop and without what
    FastAPI does about a request, which takes longer than such an answer.
    """

    def known_answer(self, request: Request) -> Response | None:
        """Return the answer to a GET request without a body; None if its parameters need a check, or if the answer
        is not in memory. Never blocks.
        """
        raise NotImplementedError

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or pass the request on to the handler of the route."""
        request = Request(scope, receive, send)
        answer: ASGIApp = super().handle
        if request.method == "GET" and not has_body(request):
            check_headers(request, ())
            answer = self.known_answer(request) or answer
        await answer(scope, receive, send)


async def _read(request: Request) -> ReadRequest:
    kind = content_type(request)
    if kind not in JSON_TYPES:
        raise UnsupportedMedia("this route reads JSON; send Content-Type: application/json")
    return ReadRequest(request, *await read_json_body(request))


REPEAT_SECONDS = (0.05, 0.2)
"""Pauses before a request is handled again whose transaction was rolled back."""

PATIENT_SECONDS = 3.0
"""A request that took longer than this to be refused is not handled again: its client is asked to retry.

PostgreSQL looks for a deadlock after 1 s (deadlock_timeout), so that the transaction it rolls back has taken that long.
"""


async def handle_again(handle: Handler, request: Request, *, is_bodyless: bool = False) -> Response:
    """Handle a request, and again where the database refused it and nothing was done.

    Only requests that are still there as a whole, since their route reads JSON or no body (`is_bodyless`). After a
    conflict of transactions that is any of them: each handler commits what it changes in one unit of work, or its
    change is the same when it is made again, as that of a session that is paused or closed. Where the database is
    lost it is those that read, and JSON with an Idempotency-Key: what became of the change may not be known.
    """
    began = time.monotonic()
    for pause in REPEAT_SECONDS:
        try:
            return await handle(request)
        except (TransactionConflict, DatabaseUnavailable) as error:
            is_whole = is_bodyless or isinstance(request, ReadRequest)
            may_repeat = is_whole if isinstance(error, TransactionConflict) else _is_repeatable(request)
            if not may_repeat or time.monotonic() - began > PATIENT_SECONDS:
                raise
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 (so that two do not meet again)
    return await handle(request)


def _is_repeatable(request: Request) -> bool:
    return request.method in {"GET", "HEAD"} or (
        isinstance(request, ReadRequest) and "idempotency-key" in request.headers
    )


def router(tag: str) -> APIRouter:
    """Return a new router for the routes of one noun."""
    return APIRouter(tags=[tag], route_class=StrictRoute, generate_unique_id_function=operation_id)


def operation_id(route: APIRoute) -> str:
    """Name an operation after its function, which is a verb and a noun."""
    return route.name
