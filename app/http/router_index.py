"""Finds the route of a request by the noun in its path; serves HEAD as GET."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

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
        """Pass the request on. The scope is copied: from the original the HTTP server decides to send no body."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(BODY_ONLY):
            await self._app(scope, receive, send)
            return
        as_get = {**scope, "method": "GET", "head": True}
        try:
            await self._app(as_get, receive, send)
        finally:
            scope["route"] = as_get.get("route")
