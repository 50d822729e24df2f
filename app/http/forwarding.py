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
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

REPEATED_BYTES = 1 << 20
"""Bytes of a body that is sent to another server after this one has received it; a larger one is refused instead."""

_PATH = re.compile(r"/v1/sessions/(sess_[0-9a-z]{26})(?:[:/].*)?")
_HOP_BY_HOP = frozenset(
    {
        b"connection", b"expect", b"host", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade", SECRET, CALLER,
    }
)  # fmt: skip
_ROUTE = SimpleNamespace(path="/v1/sessions/{session_id}", name="forward_request", audited=False)
"""The other server enters the request in the audit trail."""

_HERE = SessionPlace(None, is_settled=True)

_logger = logging.getLogger(__name__)


FindPlace = Callable[[str], SessionPlace]
"""Returns which server runs a session; NotFound. Called in a thread."""


class ForwardingMiddleware:
    """Passes requests on for the sessions of other servers."""

    def __init__(self, app: ASGIApp, secret: bytes, find_place: FindPlace) -> None:
        self._app = app
        self._secret = secret
        self._find_place = find_place
        self._known: dict[str, tuple[SessionPlace, float]] = {}
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if match is None or header(scope, SECRET) is not None:
            await self._app(scope, receive, send)
            return
        try:
            place = await self._place_of(match[1])
        except NotFound:
            place = _HERE
        except ApiError as error:
            await problem(Request(scope), error)(scope, receive, send)
            return
        if place.peer is not None:
            await self._forward(match[1], place.peer, scope, receive, send)
        elif place.is_settled:
            await self._app(scope, receive, send)
        else:
            await self._begin(match[1], scope, receive, send)

    async def _place_of(self, session_id: str) -> SessionPlace:
        known = self._known.get(session_id)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        place = await asyncio.to_thread(self._find_place, session_id)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        if place.is_settled:
            self._known[session_id] = place, time.monotonic() + KNOWN_SECONDS
        return place

    async def _begin(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request for a session that no server runs; forward it if another one has begun to run it since."""
        body, answer = _RecordedBody(receive), _HeldRefusal(send)
        await self._app(scope, body.receive, answer.send)
        peer = None
        if answer.code == SessionElsewhere.code and (body.is_whole or not _has_body(scope)):
            with suppress(ApiError):
                peer = (await self._place_of(session_id)).peer
        if peer is None:
            await answer.release()
        else:
            await self._forward(session_id, peer, scope, body.repeat, send)

    async def _forward(self, session_id: str, peer: ServerStatus, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the peer does; SessionElsewhere if it cannot be reached, or is gone before it has answered."""
        scope["route"] = _ROUTE
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
            found = (await self._place_of(session_id)).peer
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


class _RecordedBody:
    """The body of a request, kept while it is received so that it can be sent on, if it is not large."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._pieces: list[bytes] | None = []
        self._size = 0
        self.is_whole = False
        """Whether all of it was received and is kept."""

    async def receive(self) -> Message:
        """Receive a message, and keep what it has of the body."""
        message = await self._receive()
        if message["type"] == "http.request" and self._pieces is not None:
            piece = message.get("body", b"")
            self._size += len(piece)
            self._pieces.append(piece)
            if self._size > REPEATED_BYTES:
                self._pieces = None
            else:
                self.is_whole = not message.get("more_body")
        return message

    async def repeat(self) -> Message:
        """Receive the whole body once more."""
        return {"type": "http.request", "body": b"".join(self._pieces or ()), "more_body": False}


class _HeldRefusal:
    """Sends an answer on, except one of status 503, which is held until `release`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: list[Message] = []

    async def send(self, message: Message) -> None:
        """Send a message on, or hold it."""
        if self._held or (message["type"] == "http.response.start" and message["status"] == SessionElsewhere.status):
            self._held.append(message)
        else:
            await self._send(message)

    @property
    def code(self) -> str | None:
        """The code of the problem that is held, if there is one."""
        body = b"".join(message.get("body", b"") for message in self._held)
        try:
            code: str | None = json.loads(body)["code"] if body else None
        except (ValueError, TypeError, KeyError):
            return None
        return code

    async def release(self) -> None:
        """Send what is held."""
        for message in self._held:
            await self._send(message)


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
