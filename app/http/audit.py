"""Writes the audit trail: every request that would change something, admitted or refused.

Also every request that found a link in the place of a file: the data directory was changed from outside.
"""

import logging
import time
from collections.abc import Iterable

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.access import Scope as KeyScope
from app.domain.audit import Act
from app.domain.errors import ApiError
from app.http.problems import problem
from app.http.rate_limit import TokenBucket
from app.http.request_scope import (
    SAFE_METHODS,
    AuthDecision,
    decision_of,
    has_file_replaced,
    request_id_of,
    scope_needed,
)
from app.service.admin.audit import AuditTrail

OBJECT_LENGTH_MAX = 256
REFUSALS_BURST = 100
REFUSALS_PER_SECOND = 1.0
"""Bound of the refused requests that are recorded: a client without a key must not be able to fill the disk."""

RETRY_LATER = frozenset({429, 503})

_logger = logging.getLogger(__name__)


class AuditMiddleware:
    """Records the outcome of a change before the client is answered: no answer is sent without its audit entry.

    What cannot be entered is answered with the reason, though it may have been done; a client that sends it again
    under its Idempotency-Key is given what was made. On an open server, which has no keys, only administration is
    entered; the steps of sessions are not.
    """

    def __init__(self, app: ASGIApp, trail: AuditTrail) -> None:
        self._app = app
        self._trail = trail
        self._refusals = TokenBucket.full(REFUSALS_PER_SECOND, REFUSALS_BURST, time.monotonic())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        failed = False

        async def send_entered(message: Message) -> None:
            nonlocal failed
            if message["type"] == "http.response.start":
                try:
                    await self._enter(scope, message)
                except ApiError as error:
                    failed = True
                    _logger.error("the audit trail cannot be written", extra={"detail": error.detail})
                    await problem(Request(scope), error)(scope, receive, send)
            if not failed:
                await send(message)

        await self._app(scope, receive, send_entered)

    async def _enter(self, scope: Scope, start: Message) -> None:
        passage = decision_of(scope)
        if passage is not None and self._is_of_interest(scope, passage, start["status"]):
            await self._trail.record(_act(scope, passage, start))

    def _is_of_interest(self, scope: Scope, passage: AuthDecision, status: int) -> bool:
        if has_file_replaced(scope):
            _logger.error("a file of the server was replaced by a link", extra={"object": _plain(scope["path"])})
            return True
        if scope["method"] in SAFE_METHODS:
            return False
        if passage.admitted:
            if not getattr(scope.get("route"), "audited", True):
                return False
            return passage.caller is not None or scope_needed(scope["method"], scope["path"]) is KeyScope.ADMIN
        if status in RETRY_LATER:
            return False
        if self._refusals.take(time.monotonic()):
            _logger.warning("a refusal is left out of the audit trail: there are too many")
            return False
        return True


def _act(scope: Scope, passage: AuthDecision, start: Message) -> Act:
    client = scope.get("client")
    return Act(
        key_id=None if passage.caller is None else passage.caller.key_id,
        action=str(getattr(scope.get("route"), "name", scope["method"])),
        object=_plain(_location(start["headers"]) or scope["path"]),
        result=str(start["status"]),
        request_id=request_id_of(scope),
        address="" if client is None else str(client[0]),
    )


def _location(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return where that is which was made."""
    return next((value.decode("latin-1") for name, value in headers if name == b"location"), None)


def _plain(text: str) -> str:
    """Return a text without control characters and lone surrogates, and not too long."""
    return text.encode("unicode_escape").decode("ascii")[:OBJECT_LENGTH_MAX]
