"""What a request needs to be let in: derived here from its method and the noun in its path, for every route alike."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from app.domain.api_key import Caller, Scope
from app.http.directory import noun_of

READING = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/healthz"})
WATCHED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Where it is told how the server is doing: also when it has no place for anything else."""

ADMINISTRATION = frozenset({"/v1/keys", "/v1/audit", "/v1/backup"})
"""Nouns that are for administrators, whatever the method."""

_KEY = "adjoint.passage"
_TAMPERING = "adjoint.tampering"


@dataclass(frozen=True, slots=True)
class Passage:
    """How the door decided on a request: who sends it, as far as is known, and whether it was let in."""

    caller: Caller | None
    admitted: bool


def scope_needed(method: str, path: str) -> Scope | None:
    """Return the scope that a key needs for a request, or for a route with such a path; None if it needs no key."""
    if path in OPEN_PATHS:
        return None
    if noun_of(path) in ADMINISTRATION:
        return Scope.ADMIN
    return Scope.READ if method in READING else Scope.TRAIN


def decide(scope: MutableMapping[str, Any], passage: Passage) -> None:
    """Write the decision down with the request."""
    scope[_KEY] = passage


def passage_of(scope: MutableMapping[str, Any]) -> Passage | None:
    """Return the decision; None if the door turned the request away unseen."""
    passage: Passage | None = scope.get(_KEY)
    return passage


def report_tampering(scope: MutableMapping[str, Any]) -> None:
    """Write down with the request that it met a file which is not the server's own."""
    scope[_TAMPERING] = True


def met_tampering(scope: MutableMapping[str, Any]) -> bool:
    """Whether the request met such a file."""
    return _TAMPERING in scope
