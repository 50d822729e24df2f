"""The ASGI scope of a request: its route, headers and id, and the decision on its access."""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from app.domain.access import Caller, Scope
from app.domain.ids import new_id
from app.http.router_index import noun_of

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
"""Nouns that are for administrators, with any method."""

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
