"""Passes requests for a session on to the server that runs its process.

A request that was passed on is not passed on again, and carries who sends it. Bodies are passed on in the pieces in
which they come; their limits are those of the server that answers. Imported only where several servers share a
database.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.domain.errors import ApiError, NotFound, SessionElsewhere
from app.domain.servers import ServerStatus, SessionPlace
from app.http.forwarded import CALLER, SECRET
from app.http.problems import problem
from app.http.request_scope import decision_of, header, request_id_of

CONNECT_SECONDS = 2.0
LOOK_SECONDS = 1.0
"""Interval in which it is checked that the other server is alive, while its answer is waited for."""

KNOWN_SECONDS = 1.0
"""How long it counts which server runs a session."""

REMEMBERED = 10_000

_PATH = re.compile(r"/v1/sessions/(sess_[0-9a-z]{26})(?:[:/].*)?")
_HOP_BY_HOP = frozenset(
    {
        b"connection", b"expect", b"host", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade", SECRET, CALLER,
    }
)  # fmt: skip
_ROUTE = SimpleNamespace(path="/v1/sessions/{session_id}", name="forward_request", audited=False)
"""The other server enters the request in the audit trail."""

_logger = logging.getLogger(__name__)


FindPlace = Callable[[str], SessionPlace]
"""Returns which server runs a session; NotFound. Called in a thread."""


class ForwardingMiddleware:
    """Passes requests on for the sessions of other servers."""

    def __init__(self, app: ASGIApp, secret: bytes, find_place: FindPlace) -> None:
        self._app = app
        self._secret = secret
        self._find_place = find_place
        self._known: dict[str, tuple[ServerStatus | None, float]] = {}
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if match is None or header(scope, SECRET) is not None:
            await self._app(scope, receive, send)
            return
        try:
            peer = await self._peer_of(match[1])
        except NotFound:
            peer = None
        except ApiError as error:
            await problem(Request(scope), error)(scope, receive, send)
            return
        if peer is None:
            await self._app(scope, receive, send)
        else:
            scope["route"] = _ROUTE
            await self._forward(match[1], peer, scope, receive, send)

    async def _peer_of(self, session_id: str) -> ServerStatus | None:
        known = self._known.get(session_id)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        place = await asyncio.to_thread(self._find_place, session_id)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        if place.is_settled:
            self._known[session_id] = place.peer, time.monotonic() + KNOWN_SECONDS
        return place.peer

    async def _forward(self, session_id: str, peer: ServerStatus, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the peer does; SessionElsewhere if it cannot be reached, or is gone before it has answered."""
        has_begun = False

        async def exchange() -> None:
            nonlocal has_begun
            async with self._opened().stream(
                scope["method"],
                peer.url + _target(scope),
                headers=self._headers(scope),
                content=_body(receive) if _has_body(scope) else None,
            ) as answer:
                has_begun = True
                headers = [pair for pair in answer.headers.raw if pair[0].lower() not in _HOP_BY_HOP]
                await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
                async for part in answer.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        task = asyncio.create_task(exchange())
        try:
            while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
                if not await self._is_alive(session_id, peer):
                    break
            if task.done():
                task.result()
                return
            failure = "is gone"
        except httpx.HTTPError as error:
            failure = f"cannot be reached ({type(error).__name__})"
        finally:
            task.cancel()
        _logger.warning("server %s at %s, which runs session %s, %s", peer.id, peer.url, session_id, failure)
        self._known.pop(session_id, None)
        if has_begun:
            raise ConnectionAbortedError("the answer of another server was cut off")
        detail = (
            f"server {peer.id}, which runs session {session_id}, {failure}; send the request again, with the same seq"
        )
        await problem(Request(scope), SessionElsewhere(detail))(scope, receive, send)

    async def _is_alive(self, session_id: str, peer: ServerStatus) -> bool:
        self._known.pop(session_id, None)
        try:
            found = await self._peer_of(session_id)
        except ApiError:
            return True  # the database does not answer now
        return found is not None and found.id == peer.id

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        headers = [pair for pair in scope["headers"] if pair[0] not in _HOP_BY_HOP and pair[0] != b"x-request-id"]
        headers += [
            (b"x-request-id", request_id_of(scope).encode()),
            (SECRET, self._secret),
            (CALLER, json.dumps(_describe_caller(scope)).encode()),
        ]
        if header(scope, b"accept-encoding") is None:
            headers.append((b"accept-encoding", b"identity"))  # else the client would ask for more
        return headers

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            # No limit for the answer: a step may take long, and whether the server is alive is known otherwise.
            timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=2.0)
            self._client = httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False)
        return self._client


def _describe_caller(scope: Scope) -> Mapping[str, Any]:
    decision, client = decision_of(scope), scope.get("client")
    caller = None if decision is None else decision.caller
    address = None if client is None else client[0]
    if caller is None:
        return {"address": address}
    scopes = sorted(caller.scopes)
    return {"key": caller.key_id, "tenant": caller.tenant, "scopes": scopes, "address": address}


def _target(scope: Scope) -> str:
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _has_body(scope: Scope) -> bool:
    return header(scope, b"content-length") not in (None, "0") or header(scope, b"transfer-encoding") is not None


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise httpx.WriteError("the client has gone")
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return
