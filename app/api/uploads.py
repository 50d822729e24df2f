"""Bodies of bytes that become files: received, and compared with the digest in the request."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request

from app.api.bodies import receive
from app.api.deps import SettingsDep
from app.http.responses import check_digest, read_digest
from app.store.blobs.store import BlobWriter


@dataclass(frozen=True, slots=True)
class ReceivedBody:
    """The body of a request, of up to `limit` bytes; `digest` is its Content-Digest, if it has one."""

    request: Request
    limit: int
    digest: str | None

    @asynccontextmanager
    async def write_to(self, open_upload: Callable[[], BlobWriter]) -> AsyncIterator[BlobWriter]:
        """Write the body to a new file for the length of the block; an ApiError if it is too large or another one."""
        with await to_thread(open_upload) as upload:
            await receive(self.request, upload, self.limit)
            check_digest(read_digest(self.digest), upload.digest)
            yield upload


async def _body(
    request: Request,
    settings: SettingsDep,
    content_digest: Annotated[str | None, Header(description="SHA-256 of the body, checked (RFC 9530).")] = None,
) -> ReceivedBody:
    return ReceivedBody(request, settings.max_upload_bytes, content_digest)


UploadDep = Annotated[ReceivedBody, Depends(_body)]
