"""Request bodies as bytes: of what type they are, how large they may be, and how they come in."""

from asyncio import Task, create_task, timeout, to_thread, wait
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any, Protocol

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from app.api.deps import services_of
from app.domain.errors import ApiError, Finding, TooLarge, UnsupportedMedia
from app.http.request_scope import header
from app.http.strict_json import JsonLimits, read_json
from app.ingest.limits import Packing

WRITE_BYTES = 1024 * 1024
WRITES = 4
"""Most writes for that: more chunks are copied together first."""
SMALL_BYTES = 64 * 1024
ENCODINGS: tuple[Packing, ...] = ("gzip", "zstd")
"""Content encodings of tables."""
STALL_SECONDS = 30.0
"""How long a client may send nothing in the middle of a body, however fast it was before."""


class RequestTimeout(ApiError):  # noqa: N818 (named as its answer is)
    """The client stopped sending in the middle of a request."""

    code = "request_timeout"
    status = 408
    title = "The request did not arrive in time"


def content_type(request: Request, *, packed: bool = False) -> str:
    """Return the type of the request's body, without parameters.

    UnsupportedMedia if the body is compressed, unless it may be `packed` in a way that tables are taken.
    """
    encoding = body_encoding(request)
    if encoding is not None and not (packed and encoding in ENCODINGS):
        advice = f"use {' or '.join(ENCODINGS)}, or " if packed else ""
        detail = f"the body is compressed in a way that is not taken here; {advice}send it without Content-Encoding"
        raise UnsupportedMedia(detail, code="content_encoding")
    return (header(request.scope, b"content-type") or "").partition(";")[0].strip().lower()


def body_encoding(request: Request) -> str | None:
    """Return how a body is compressed by its header; None if it is not."""
    encoding = (header(request.scope, b"content-encoding") or "identity").strip().lower()
    return None if encoding == "identity" else encoding


def packing_of(request: Request) -> Packing | None:
    """Return how the body of a table is compressed by its header."""
    encoding = body_encoding(request)
    return next((name for name in ENCODINGS if name == encoding), None)


def has_body(request: Request) -> bool:
    """Tell whether the headers of a request announce a body."""
    scope = request.scope
    return header(scope, b"transfer-encoding") is not None or (header(scope, b"content-length") or "0") != "0"


class UploadDeadline:
    """How long a body is waited for: a head start in seconds, and the time that its bytes take at the least rate."""

    def __init__(self, head_start: float, bytes_per_second: float) -> None:
        self._left = head_start
        self._most = max(head_start, STALL_SECONDS)
        self._bytes_per_second = bytes_per_second

    async def next(self, receive: Receive) -> Message:
        """Return the next part; RequestTimeout if it does not come in time, ClientDisconnect if it never will."""
        allowed, began = max(self._left, 0.0), monotonic()
        try:
            async with timeout(allowed):
                message = await receive()
        except TimeoutError as error:
            detail = f"a body has to come with {self._bytes_per_second:g} bytes a second; send the request again"
            raise RequestTimeout(detail) from error
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        earned = len(message.get("body", b"")) / self._bytes_per_second
        self._left = min(self._left + earned - (monotonic() - began), self._most)
        return message


async def chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield the body as it comes; TooLarge as soon as it is known to exceed `limit` bytes."""
    declared = header(request.scope, b"content-length") or ""
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    settings = services_of(request).settings
    deadline = UploadDeadline(settings.body_seconds, settings.body_bytes_per_second)
    received, more = 0, True
    while more:
        message = await deadline.next(request.receive)
        chunk, more = message.get("body", b""), message.get("more_body", False)
        received += len(chunk)
        if received > limit:
            raise _too_large(limit)
        yield chunk


async def read_body(request: Request, limit: int) -> bytes:
    """Return the whole body; TooLarge if it exceeds `limit` bytes."""
    return b"".join([chunk async for chunk in chunks(request, limit)])


async def read_json_body(request: Request) -> tuple[bytes, Any]:
    """Return a JSON body, and what it says; TooLarge, or Unparsable where it is refused."""
    settings = services_of(request).settings
    limits = JsonLimits(settings.max_json_depth, settings.max_json_fields, settings.max_text_characters)
    body = await read_body(request, settings.max_json_bytes)
    # A long body is read in a thread, so that other clients are answered at the same time.
    if len(body) <= SMALL_BYTES:
        return body, read_json(body, limits)
    return body, await to_thread(read_json, body, limits)


class Writable(Protocol):
    """Takes bytes as they come."""

    def write(self, data: bytes | bytearray) -> None:
        """Take more bytes; StorageFull if there is no room for them, StorageFailed if they cannot be written."""
        ...


async def receive(request: Request, upload: Writable, limit: int) -> None:
    """Write the body to `upload` as it comes, in threads, so that the disk does not delay other requests.

    One part is digested and written while the next one comes. TooLarge if the body exceeds `limit` bytes, StorageFull
    if the disk is full.
    """
    gathered: list[bytes] = []
    size = 0
    writing: Task[None] | None = None
    try:
        async for chunk in chunks(request, limit):
            gathered.append(chunk)
            size += len(chunk)
            if size >= WRITE_BYTES:
                await _written(writing)
                writing = create_task(to_thread(_write, upload, gathered))
                gathered, size = [], 0
    finally:
        await _written(writing)  # a thread must not write to what its owner closes
    await to_thread(_write, upload, gathered)


def _write(upload: Writable, chunks: list[bytes]) -> None:
    """Write chunks: large ones as they are, small ones together."""
    for chunk in chunks if len(chunks) <= WRITES else [b"".join(chunks)]:
        upload.write(chunk)


async def _written(writing: Task[None] | None) -> None:
    """Wait for a part; it is written even if the wait is cancelled."""
    if writing is not None:
        await wait([writing])
        writing.result()


def _too_large(limit: int) -> TooLarge:
    detail = f"the body is larger than {limit} bytes, which is as much as this server takes here"
    return TooLarge(detail, limit=limit, findings=[Finding("", "too_large", detail)])
