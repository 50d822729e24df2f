"""The ASGI scope of a request: its route, headers and id, and the decision on its access."""

import re
from collections import defaultdict
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

from app.domain.access import Caller, Scope
from app.domain.ids import new_id

VERSION = "/v1/"


class RouterIndex(BaseRoute):
    """All routes, as one for the application. Those of a noun are tried in their order."""

    def __init__(self, routes: Sequence[APIRoute]) -> None:
        """Sort `routes` by noun; ValueError if the noun of one is not literal."""
        by_noun: defaultdict[str, list[APIRoute]] = defaultdict(list)
        for route in routes:
            noun = noun_of(route.path)
            if "{" in noun:
                raise ValueError(f"the path {route.path} begins with a parameter; begin it with a noun")
            by_noun[noun].append(route)
        self._by_noun: Mapping[str, Sequence[APIRoute]] = dict(by_noun)

    def matches(self, scope: ASGIScope) -> tuple[Match, ASGIScope]:
        """Find the route of a request; one that takes another method only if there is no better."""
        if scope["type"] != "http":
            return Match.NONE, {}
        path, method = scope["path"], scope["method"]
        partial: tuple[Match, ASGIScope] = (Match.NONE, {})
        for route in self._by_noun.get(noun_of(path), ()):
            found = route.path_regex.match(path)
            if found is None:
                continue
            convertors = route.param_convertors
            named = {name: convertors[name].convert(text) for name, text in found.groupdict().items()}
            child = {"endpoint": route.endpoint, "path_params": named, "route": route}
            if method in (route.methods or ()):
                return Match.FULL, child
            if partial[0] is Match.NONE:
                partial = Match.PARTIAL, child
        return partial

    async def handle(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Pass the request on to the route that was found."""
        await scope["route"].handle(scope, receive, send)


def noun_of(path: str) -> str:
    """Return what comes after the version, up to the next slash or the colon of an action; the first part of a path
    without a version.
    """
    start = len(VERSION) if path.startswith(VERSION) else 0
    end = path.find("/", start + 1)
    noun = path[:end] if end >= 0 else path
    colon = noun.find(":", start)
    return noun if colon < 0 else noun[:colon]


BODY_ONLY = ("/events", "/v1/backup")


class HeadMiddleware:
    """Hands HEAD requests on as GET. What is made while it is sent has no head: a stream of events, a backup."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Pass the request on. The scope is copied: by the original the HTTP server knows to send no body."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(BODY_ONLY):
            await self._app(scope, receive, send)
            return
        as_get = {**scope, "method": "GET"}
        try:
            await self._app(as_get, receive, send)
        finally:
            scope["route"] = as_get.get("route")


_HEADERS = "adjoint.headers"


def header(scope: MutableMapping[str, Any], name: bytes) -> str | None:
    """Return the value of a header, its `name` in lower case; the first of several; None if there is none."""
    headers: dict[bytes, bytes] | None = scope.get(_HEADERS)
    if headers is None:
        headers = scope[_HEADERS] = dict(reversed(scope["headers"]))
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


HEADER = "X-Request-Id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._\-]{1,128}")
_KEY = "adjoint.request_id"


def assign_request_id(scope: MutableMapping[str, Any]) -> str:
    """Give the request the id that its client chose, if that is well-formed, else a new one."""
    chosen = header(scope, b"x-request-id")
    request_id = chosen if chosen is not None and _ACCEPTED.fullmatch(chosen) else new_id("req")
    scope[_KEY] = request_id
    return request_id


def request_id_of(scope: Mapping[str, Any]) -> str:
    """Return the id that was assigned."""
    return str(scope.get(_KEY, ""))


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
READINESS = "/readyz"
OPEN_PATHS = frozenset({"/healthz", READINESS})
"""Paths for probes, which send no key. Only an authenticated response gives the reason why the server is not ready."""

PAGES = frozenset({"/", "/docs", "/page"})
"""Nouns of the web page and of the documentation. Their files hold no data, and a browser sends no key for them."""

MONITORING_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are answered even while the server sheds load."""

ADMINISTRATION = frozenset({"/v1/keys", "/v1/audit", "/v1/backup"})
"""Nouns that are for administrators, whatever the method."""

_DECISION = "adjoint.passage"
_FILE_REPLACED = "adjoint.tampering"


@dataclass(frozen=True, slots=True)
class AuthDecision:
    """How the door decided on a request: who sends it, as far as is known, and whether it was let in."""

    caller: Caller | None
    admitted: bool
    is_anonymous: bool = False
    """Whether it was admitted without the key that other requests need."""


def scope_needed(method: str, path: str) -> Scope | None:
    """Return the scope that a key needs for a request, or for a route with such a path; None if it needs no key."""
    if path in OPEN_PATHS or (noun_of(path) in PAGES and method in SAFE_METHODS):
        return None
    if noun_of(path) in ADMINISTRATION:
        return Scope.ADMIN
    return Scope.READ if method in SAFE_METHODS else Scope.TRAIN


def record_decision(scope: MutableMapping[str, Any], passage: AuthDecision) -> None:
    """Write the decision down with the request."""
    scope[_DECISION] = passage


def decision_of(scope: MutableMapping[str, Any]) -> AuthDecision | None:
    """Return the decision; None if the door turned the request away unseen."""
    passage: AuthDecision | None = scope.get(_DECISION)
    return passage


def record_file_replaced(scope: MutableMapping[str, Any]) -> None:
    """Write down with the request that it met a file which is not the server's own."""
    scope[_FILE_REPLACED] = True


def has_file_replaced(scope: MutableMapping[str, Any]) -> bool:
    """Whether the request met such a file."""
    return _FILE_REPLACED in scope
