"""Refuses requests that the server cannot take: too many at once, or while it shuts down.

A request that waits for an event (a long poll, a stream of events) costs next to nothing, for a long time, and there
are many of them; the others cost something, for a short time. They are counted apart, so that neither takes the others'
places.
"""

import logging
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import Draining, RetryLater
from app.http.problems import problem
from app.http.request_scope import MONITORING_PATHS, SAFE_METHODS, decision_of, record_decision, request_id_of
from app.service.resources.notifier import Notifier

EVENTS = "/events"
WAIT = b"wait="


class Overloaded(RetryLater):
    """As many requests are being answered as this server answers at a time."""

    code = "overloaded"
    status = 503
    title = "The server is busy"


class ConcurrencyLimit:
    """A fixed number of places, each taken for the length of a block. For the event loop."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take a place; Overloaded if there is none."""
        if self._taken >= self._most:
            raise Overloaded(f"{self._most} {self._what}, as many as this server takes; send the request again")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class OverloadMiddleware:
    """Answers 503 with Retry-After above the limits; health, readiness and metrics are answered nevertheless."""

    def __init__(self, app: ASGIApp, working: int, waiting: int) -> None:
        """Have `app` answer `working` requests at a time, and besides `waiting` that wait for events."""
        self._app = app
        self._working = ConcurrencyLimit(working, "requests are being answered")
        self._waiting = ConcurrencyLimit(waiting, "requests wait for events")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in MONITORING_PATHS:
            await self._app(scope, receive, send)
            return
        places = self._waiting if _waits(scope) else self._working
        with ExitStack() as held:
            answer = self._app
            try:
                held.enter_context(places.taken())
            except Overloaded as error:
                passage = decision_of(scope)
                if passage is not None:
                    # Not let in, after all: under load the audit trail is not to be written to for nothing.
                    record_decision(scope, replace(passage, admitted=False))
                answer = problem(Request(scope), error)
            await answer(scope, receive, send)


def _waits(scope: Scope) -> bool:
    if scope["method"] not in SAFE_METHODS:
        return False
    path: str = scope["path"]
    return path.endswith(EVENTS) or any(part.startswith(WAIT) for part in scope["query_string"].split(b"&"))


_logger = logging.getLogger(__name__)


class DrainMiddleware:
    """Takes no new work once the server is stopping; what was acknowledged goes on under the next one."""

    def __init__(self, app: ASGIApp, notifier: Notifier) -> None:
        """Guard `app`; `notifier` is closed while the server is stopping."""
        self._app = app
        self._notifier = notifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._notifier.closed and scope["method"] not in SAFE_METHODS:
            error = Draining("the server is stopping and takes no new work; try again when it is back")
            await problem(Request(scope), error)(scope, receive, send)
        else:
            await self._finish(scope, receive, send)

    async def _finish(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; if the server ends while its body still comes in, it is answered like a new one.

        uvicorn cancels what is not answered some seconds after the signal.
        """
        has_begun = False

        async def send_on(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except CancelledError:
            if scope["type"] != "http" or not self._notifier.closed:
                raise
            _logger.info("a request was cut off, since the server stops", extra={"request_id": request_id_of(scope)})
            if not has_begun:
                error = Draining("the server stopped before the request was complete; send it again when it is back")
                await problem(Request(scope), error)(scope, receive, send)
