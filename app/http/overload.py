"""How many requests are answered at a time, over all keys: one more is refused at once, and no queue grows.

Whoever waits for news (a long poll, a stream of events) costs next to nothing, for a long time, and there are many of
them; the others cost something, for a short time. They are counted apart, so that neither takes the others' places.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.domain.errors import RetryLater
from app.http.access import READING, WATCHED_PATHS, decide, passage_of
from app.http.problems import problem

EVENTS = "/events"
WAIT = b"wait="


class Overloaded(RetryLater):
    """As many requests are being answered as this server answers at a time."""

    code = "overloaded"
    status = 503
    title = "The server is busy"


class Places:
    """So many places, of which each is taken for the length of a block. For the event loop."""

    def __init__(self, most: int, what: str) -> None:
        """Begin with `most` places, for `what`."""
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


class RefuseOverload:
    """Answers 503 with Retry-After where there is no place; how the server is doing is told nevertheless."""

    def __init__(self, app: ASGIApp, working: int, waiting: int) -> None:
        """Have `app` answer `working` requests at a time, and besides `waiting` that wait for news."""
        self._app = app
        self._working = Places(working, "requests are being answered")
        self._waiting = Places(waiting, "requests wait for news")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in WATCHED_PATHS:
            await self._app(scope, receive, send)
            return
        places = self._waiting if _waits(scope) else self._working
        with ExitStack() as held:
            answer = self._app
            try:
                held.enter_context(places.taken())
            except Overloaded as error:
                passage = passage_of(scope)
                if passage is not None:
                    # Not let in, after all: under load the audit trail is not to be written to for nothing.
                    decide(scope, replace(passage, admitted=False))
                answer = problem(Request(scope), error)
            await answer(scope, receive, send)


def _waits(scope: Scope) -> bool:
    if scope["method"] not in READING:
        return False
    path: str = scope["path"]
    return path.endswith(EVENTS) or any(part.startswith(WAIT) for part in scope["query_string"].split(b"&"))
