"""What a server that is about to stop answers: reads as ever, and to everything else that it should come again."""

import logging
from asyncio import CancelledError

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import Draining
from app.http.access import READING
from app.http.problems import problem
from app.http.request_id import request_id_of
from app.service.resources.notifier import Wakes

_logger = logging.getLogger(__name__)


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
            if scope["type"] != "http" or not self._wakes.closed:
                raise
            _logger.info("a request was cut off, since the server stops", extra={"request_id": request_id_of(scope)})
            if not has_begun:
                error = Draining("the server stopped before the request was complete; send it again when it is back")
                await problem(Request(scope), error)(scope, receive, send)
