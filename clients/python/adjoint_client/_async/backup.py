"""Backups of a server, written to a file that is there only when it is whole."""

from __future__ import annotations

import os
from pathlib import Path

from adjoint_client._async.transport import AsyncTransport
from adjoint_client.archive import Manifest, Nowhere, read_archive

# The server copies its database before it answers.
_SILENCE_SECONDS = 600.0


async def download_backup(transport: AsyncTransport, path: Path) -> Manifest:
    """Write a backup to `path`, over what may be there, and return what it holds.

    The bytes gather in `<path>.partial`, which is removed in every case.

    Raises:
        BackupDamaged: what arrived is not a whole backup; its message holds what the server answered.
        ServerError: the server makes no backup now.
        ServerUnreachable: the connection was lost. A backup cannot be continued: the next one is another.
    """
    import httpx  # loaded with the first client

    silence = httpx.Timeout(60.0, read=_SILENCE_SECONDS)
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("w+b") as file:
            try:
                async with transport.stream("/v1/backup", timeout=silence) as response:
                    async for block in response.aiter_bytes():
                        file.write(block)
            except httpx.TransportError as error:
                raise transport.unreachable(error) from error
            file.seek(0)
            manifest = read_archive(file, Nowhere())
            os.fsync(file.fileno())
        partial.replace(path)
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
