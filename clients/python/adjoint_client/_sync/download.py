# Made from _async/download.py by clients/generate.py: change that file.
"""Downloads that go on where a lost connection cut them, and are checked against the promised digest."""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from io import BufferedRandom, BytesIO

from adjoint_client._sync.transport import Transport
from adjoint_client.errors import DownloadDamaged

Target = BufferedRandom | BytesIO

_FRUITLESS_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Remote:
    """Content on the server that never changes: where it is, its SHA-256 in hex, its size."""

    path: str
    digest: str
    size_bytes: int


def download(transport: Transport, remote: Remote, target: Target) -> None:
    """Append to `target`, which may hold the beginning already, until it holds the whole content.

    `target` is open for reading and writing and stands at its end.

    Raises:
        DownloadDamaged: what came has another digest; `target` has been emptied.
        ServerUnreachable: the connection was lost several times in a row without a byte in between.
    """
    import httpx  # loaded with the first client

    fruitless = 0
    while (begin := target.tell()) < remote.size_bytes:
        try:
            _continue(transport, remote, target)
        except httpx.TransportError as error:
            fruitless = fruitless + 1 if target.tell() == begin else 0
            if fruitless == _FRUITLESS_ATTEMPTS:
                raise transport.unreachable(error) from error
            time.sleep(_FIRST_PAUSE_SECONDS * 2**fruitless)
    target.seek(0)
    found = hashlib.file_digest(target, "sha256").hexdigest()
    if found != remote.digest:
        target.seek(0)
        target.truncate()
        raise DownloadDamaged(f"{remote.path} arrived with SHA-256 {found}, not {remote.digest}; download it again")


def download_written(transport: Transport, path: str, params: Mapping[str, str], target: BufferedRandom) -> None:
    """Write to the empty `target` a file that the server makes on request, with the same bytes each time.

    Raises:
        DownloadDamaged: what came has another digest than the server says.
        ServerUnreachable: the connection was lost several times in a row without a byte in between.
    """
    import httpx  # loaded with the first client

    tag, digest, size, fruitless = "", "", -1, 0
    while (begin := target.tell()) != size:
        headers = {"Range": f"bytes={begin}-", "If-Range": tag} if begin else {}
        try:
            with transport.stream(path, params=params, headers=headers) as response:
                if response.status_code != HTTPStatus.PARTIAL_CONTENT:
                    target.seek(0)
                    target.truncate()
                    tag, digest = response.headers["etag"], response.headers["content-digest"]
                    size = int(response.headers["content-length"])
                for block in response.iter_bytes():
                    target.write(block)
        except httpx.TransportError as error:
            fruitless = fruitless + 1 if target.tell() <= begin else 0
            if fruitless == _FRUITLESS_ATTEMPTS:
                raise transport.unreachable(error) from error
            time.sleep(_FIRST_PAUSE_SECONDS * 2**fruitless)
    target.seek(0)
    found = b64encode(hashlib.file_digest(target, "sha256").digest()).decode()
    if digest != f"sha-256=:{found}:":
        raise DownloadDamaged(f"{path} arrived with SHA-256 {found}, not as the server says; download it again")


def _continue(transport: Transport, remote: Remote, target: Target) -> None:
    """Append what one connection yields; a whole answer to the request for the rest starts from the beginning."""
    begin = target.tell()
    headers = {"Range": f"bytes={begin}-"} if begin else {}
    with transport.stream(remote.path, headers=headers) as response:
        if begin and response.status_code != HTTPStatus.PARTIAL_CONTENT:
            target.seek(0)
            target.truncate()
        for block in response.iter_bytes():
            target.write(block)
