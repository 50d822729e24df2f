"""HEAD: answered as GET is, and the server leaves the body out."""

from starlette.types import ASGIApp, Receive, Scope, Send

ENDLESS = "/events"


class HeadAsGet:
    """Hands HEAD requests on as GET. A stream of events has no head: it would never end."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on. The scope is copied: by the original the HTTP server knows to send no body."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(ENDLESS):
            await self._app(scope, receive, send)
            return
        as_get = {**scope, "method": "GET"}
        try:
            await self._app(as_get, receive, send)
        finally:
            scope["route"] = as_get.get("route")
