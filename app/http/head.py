"""HEAD: answered as GET is, and the server leaves the body out."""

from starlette.types import ASGIApp, Receive, Scope, Send

BODY_ONLY = ("/events", "/v1/backup")


class HeadAsGet:
    """Hands HEAD requests on as GET. What is made while it is sent has no head: a stream of events, a backup."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on. The scope is copied: by the original the HTTP server knows to send no body."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(BODY_ONLY):
            await self._app(scope, receive, send)
            return
        as_get = {**scope, "method": "GET"}
        try:
            await self._app(as_get, receive, send)
        finally:
            scope["route"] = as_get.get("route")
