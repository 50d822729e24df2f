"""Requests that are sent again when that is safe, and answers that are problems made exceptions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

from adjoint_client._async.connection import AsyncConnection
from adjoint_client.errors import ServerError, ServerUnreachable, retry_after

if TYPE_CHECKING:
    import ssl

    import httpx

Body = bytes | AsyncIterator[bytes]

_SENT_WITH_STEPS = frozenset({"authorization", "user-agent", "x-api-key"})
# Longer than a long poll (30 s) and than two heartbeats of an event stream (15 s).
_SILENCE_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_ATTEMPTS = 4
_ITEMS_A_PAGE = 1000
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 30.0
_PIECE_BYTES = 1 << 20
"""Larger bytes are sent in pieces: httpx copies all that is left of one whenever the system has taken some."""


class AsyncTransport:
    """Speaks HTTP with one server.

    A request that may safely be repeated (it reads, or it carries an Idempotency-Key) is: after a lost connection,
    and when the server asks for it with Retry-After.
    """

    def __init__(
        self, url: str, key: str | None, timeout: float | httpx.Timeout | None, options: Mapping[str, Any]
    ) -> None:
        import httpx

        key_header = {"Authorization": f"Bearer {key}"} if key else {}
        self._verify = options.get("verify", True)
        headers = {**key_header, **options.get("headers", {})}
        silence = httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS) if timeout is None else timeout
        given = {**_without_tls(url, options), **options, "base_url": url, "headers": headers, "timeout": silence}
        self._http = httpx.AsyncClient(**given)
        self._connections = WeakSet[AsyncConnection]()

    @property
    def address(self) -> str:
        """The base URL of the server."""
        return str(self._http.base_url).rstrip("/")

    def connection(self) -> AsyncConnection:
        """Return a connection of its own with the same server, for requests that should cost little."""
        headers = {name: value for name, value in self._http.headers.items() if name in _SENT_WITH_STEPS}
        connection = AsyncConnection(self.address, headers, self._trust)
        self._connections.add(connection)
        return connection

    def _trust(self) -> ssl.SSLContext:
        import httpx

        return httpx.create_ssl_context(self._verify)

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The JSON that the server has at `path`."""
        return (await self.send("GET", path, params=params)).json()

    async def list(self, path: str, params: Mapping[str, Any], limit: int | None = None) -> list[Any]:
        """The items of all pages of the list at `path`, at most `limit` of them."""
        query = {name: value for name, value in params.items() if value is not None}
        found: list[Any] = []
        while limit is None or len(found) < limit:
            query["limit"] = _ITEMS_A_PAGE if limit is None else min(limit - len(found), _ITEMS_A_PAGE)
            page = await self.get(path, query)
            found += page["data"]
            if not page["has_more"]:
                break
            query["cursor"] = page["next_cursor"]
        return found

    async def create(self, path: str, json: Any) -> Any:
        """POST `json` under a fresh Idempotency-Key: it takes effect once, also over a failing network."""
        return (await self.send("POST", path, json=json, headers={"Idempotency-Key": str(uuid4())})).json()

    async def post(self, path: str, json: Any = None) -> Any:
        """POST `json` where doing so twice is harmless."""
        return (await self.send("POST", path, json=json, repeatable=True)).json()

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        body: Callable[[], Body] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> httpx.Response:
        """Send a request and return the answer if it is a success; `body` makes the content of each attempt.

        Raises:
            ServerError: the server refused; `code`, `detail` and `findings` say why.
            ServerUnreachable: no server answered, or it fell silent.
        """
        import httpx

        repeatable = repeatable or method == "GET" or "Idempotency-Key" in (headers or {})
        for attempt in range(_ATTEMPTS):
            content, headers = _in_pieces(body, headers)
            last = attempt == _ATTEMPTS - 1 or not repeatable
            try:
                response = await self._http.request(
                    method,
                    path,
                    params=params,
                    json=json,
                    content=content,
                    headers=headers,
                )
            except httpx.TransportError as error:
                if last:
                    raise self.unreachable(error) from error
                pause = _FIRST_PAUSE_SECONDS * 2**attempt
            else:
                if method == "GET" and response.has_redirect_location:
                    async with self._redirected(response, headers) as stored:
                        await stored.aread()
                        response = stored
                if response.is_success:
                    return response
                asked = retry_after(response.headers)
                if last or asked is None or asked > _LONGEST_PAUSE_SECONDS:
                    raise ServerError.from_response(response)
                pause = asked
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: httpx.Timeout | None = None,
        method: str = "GET",
        json: Any = None,
        body: Callable[[], Body] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Open the answer to a request without reading its body; a refusal is raised as by `send`.

        A connection lost while the body is read surfaces as `httpx.TransportError`: the reader resumes.
        """
        patience = self._http.timeout if timeout is None else timeout
        content, headers = _in_pieces(body, headers)
        async with self._http.stream(
            method, path, params=params, headers=headers, timeout=patience, json=json, content=content
        ) as response:
            if method == "GET" and response.has_redirect_location:
                async with self._redirected(response, headers) as stored:
                    yield await _succeeded(stored)
            else:
                yield await _succeeded(response)

    @asynccontextmanager
    async def _redirected(
        self, response: httpx.Response, headers: Mapping[str, str] | None
    ) -> AsyncIterator[httpx.Response]:
        """Open what an answer refers to, such as a file in object storage: that is sent no key of ours."""
        import httpx

        part = {name: value for name, value in (headers or {}).items() if name.lower() == "range"}
        async with (
            httpx.AsyncClient(verify=self._verify, timeout=self._http.timeout) as other,
            other.stream("GET", response.headers["location"], headers=part) as stored,
        ):
            yield stored

    def unreachable(self, error: httpx.TransportError | OSError) -> ServerUnreachable:
        """Say in one line that, and why, there is no answer."""
        return ServerUnreachable(
            f"no answer from {self.address} ({error or type(error).__name__}); is the server running?"
        )

    async def aclose(self) -> None:
        """Close every connection."""
        for connection in self._connections:
            connection.close()
        await self._http.aclose()


class _Pieces:
    """Yields bytes in pieces, each time that it is asked to."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._content), _PIECE_BYTES):
            yield self._content[start : start + _PIECE_BYTES]


def _in_pieces(
    body: Callable[[], Body] | None, headers: Mapping[str, str] | None
) -> tuple[Body | _Pieces | None, Mapping[str, str] | None]:
    """Return the content of an attempt, and its headers."""
    content = None if body is None else body()
    if isinstance(content, bytes) and len(content) > _PIECE_BYTES:
        return _Pieces(content), {**(headers or {}), "Content-Length": str(len(content))}
    return content, headers


async def _succeeded(response: httpx.Response) -> httpx.Response:
    """Return the answer; ServerError if it is a refusal."""
    if not response.is_success:
        await response.aread()
        raise ServerError.from_response(response)
    return response


def _without_tls(url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return options that spare a client of plain HTTP the certificates: to load them takes 30 ms.

    The context has none, so it refuses every TLS connection.
    """
    import ssl

    needs_tls = not url.startswith("http://") or options.get("follow_redirects")
    return {} if needs_tls else {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
