"""What a server that is about to stop answers: reads as ever, and to everything else that it should come again."""

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.access import READING
from app.api.problems import problem
from app.domain.errors import Draining
from app.service.wakes import Wakes


class RefuseWhileDraining:
    """Takes no new work once the server is stopping; what was acknowledged goes on under the next one."""

    def __init__(self, app: ASGIApp, wakes: Wakes) -> None:
        """Guard `app`; `wakes` tells whether the server is stopping."""
        self._app = app
        self._wakes = wakes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 503 with Retry-After."""
        if scope["type"] == "http" and self._wakes.closed and scope["method"] not in READING:
            error = Draining("the server is stopping and takes no new work; try again when it is back")
            await problem(Request(scope), error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)
