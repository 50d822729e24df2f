"""Downloads that go on where a lost connection cut them, and are checked against the promised digest."""

import asyncio
import hashlib
from typing import BinaryIO

import httpx

from adjoint_client._async.transport import AsyncTransport
from adjoint_client.errors import DownloadDamaged

_BLOCK_BYTES = 1 << 20
_FRUITLESS_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.1


async def download(transport: AsyncTransport, path: str, target: BinaryIO, digest: str) -> None:
    """Append to `target`, which may hold the beginning already, until it holds the whole content at `path`.

    `target` is open for reading and writing and stands at its end; `digest` is the SHA-256 of the whole in hex.

    Raises:
        DownloadDamaged: what came has another digest.
        ServerUnreachable: the connection was lost several times in a row without a byte in between.
    """
    fruitless = 0
    while True:
        begin = target.tell()
        try:
            await _continue(transport, path, target, digest)
            break
        except httpx.TransportError as error:
            fruitless = fruitless + 1 if target.tell() == begin else 0
            if fruitless == _FRUITLESS_ATTEMPTS:
                raise transport.unreachable(error) from error
            await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2**fruitless)
    target.seek(0)
    found = hashlib.file_digest(target, "sha256").hexdigest()
    if found != digest:
        raise DownloadDamaged(f"{path} arrived with SHA-256 {found}, not {digest}; download it again")


async def _continue(transport: AsyncTransport, path: str, target: BinaryIO, digest: str) -> None:
    """One connection's worth of the content."""
    begin = target.tell()
    # If-Range: other content than the one begun is sent whole, never spliced.
    headers = {"Range": f"bytes={begin}-", "If-Range": f'"{digest}"'} if begin else {}
    async with transport.stream(path, headers=headers) as response:
        if begin and response.status_code != httpx.codes.PARTIAL_CONTENT:
            target.seek(0)
            target.truncate()
        async for block in response.aiter_bytes(_BLOCK_BYTES):
            target.write(block)
