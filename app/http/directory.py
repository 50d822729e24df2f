"""Which route a request is for: looked up by the noun in its path, so that the routes of other nouns are not tried."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

VERSION = "/v1/"


class Directory(BaseRoute):
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

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Find the route of a request; one that takes another method only if there is no better."""
        if scope["type"] != "http":
            return Match.NONE, {}
        path, method = scope["path"], scope["method"]
        partial: tuple[Match, Scope] = (Match.NONE, {})
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

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
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
