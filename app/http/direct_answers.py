"""Answers plain GET requests from memory, at the connection.

The task, the middlewares and the router that other requests pass take several times as long as such an answer. What
they do is done here as well: access control, the request id, the counts and the log. Whatever is not simply answered -
refused, not in memory, of another form - goes the usual way, as if it had not been looked at.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import ASGIApp, Scope

from app.domain.errors import ApiError
from app.http.authentication import AccessControl
from app.http.plain_request import read_plain_request
from app.http.request_scope import assign_request_id
from app.http.router_index import RouterIndex
from app.http.telemetry import NOSNIFF, REQUEST_ID, RequestMetrics

Headers = Sequence[tuple[bytes, bytes]]

_STATUS_LINES: Mapping[int, bytes] = MappingProxyType(
    {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
)


class DirectAnswer(NamedTuple):
    """An answer as it is sent."""

    head: bytes
    body: bytes


class DirectAnswers:
    """Answers what routes have in memory: those of `routes` have a method `known_answer`."""

    def __init__(
        self, app: ASGIApp, routes: Sequence[APIRoute], access: AccessControl, metrics: RequestMetrics
    ) -> None:
        """Answer for `app`. A path of another route that one of `routes` matches is not in its memory."""
        self._app = app
        self._index = RouterIndex(routes)
        self._access = access
        self._metrics = metrics

    def answer(self, head: bytes, headers: Headers) -> DirectAnswer | None:
        """Return the answer to the request that `head` is, with `headers` first; None if it is to go the usual way."""
        scope = read_plain_request(head)
        if scope is None:
            return None
        match, found = self._index.matches(scope)
        if match is not Match.FULL:
            return None
        started = perf_counter()
        scope |= {"app": self._app, **found}
        answer = self._find(scope)
        if answer is None:
            return None
        request_id = assign_request_id(scope).encode()
        sent = (*headers, *answer.raw_headers, (REQUEST_ID, request_id), NOSNIFF)
        encoded = _STATUS_LINES[answer.status_code] + b"".join([b"%b: %b\r\n" % header for header in sent]) + b"\r\n"
        self._metrics.note(scope, answer.status_code, perf_counter() - started)
        return DirectAnswer(encoded, bytes(answer.body))

    def _find(self, scope: Scope) -> Response | None:
        """Return what is in memory if the request is admitted. Nothing is counted unless it is answered."""
        route: Any = scope["route"]
        try:
            admission = self._access.check(scope, count_failure=False)
            with admission.acting(scope):
                answer: Response | None = route.known_answer(Request(scope))
            if answer is not None:
                with self._access.counted(admission):
                    pass
        except ApiError:  # refused: the application says so
            return None
        return answer
