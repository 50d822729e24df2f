"""Downloads: whole files or one range of them, with what a client needs to check and resume (RFC 9110, section 14)."""

import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from numpy.typing import NDArray
from starlette.types import Receive, Scope, Send

from app.domain.documents import NPY
from app.domain.errors import ApiError, RangeNotSatisfiable
from app.http.responses import JsonResponse, format_digest, matches, not_modified
from app.ingest.arrays import read_arrays
from app.ingest.encoding import npy_body, tensor_document
from app.ingest.limits import IngestLimits
from app.store.blobs.plain_files import open_plain_file

CHUNK_BYTES = 1024 * 1024
"""So much is read in one go, in a thread: with less, going there and back takes longer than the reading."""
_logger = logging.getLogger(__name__)
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


@dataclass(frozen=True, slots=True)
class Download:
    """An open file: its length, its type, a name for the client's disk, and a tag that changes with the content.

    `digest` is the content's SHA-256, None if it was not computed.
    """

    file: BinaryIO
    size_bytes: int
    media_type: str
    name: str
    tag: str
    digest: str | None


def open_file(path: Path, media_type: str, name: str, tag: str, digest: str | None) -> Download:
    """Open the file at `path` for a download; NotFound if it is a link or no file."""
    return opened(os.fdopen(open_plain_file(path), "rb"), media_type, name, tag, digest)


def opened(file: BinaryIO, media_type: str, name: str, tag: str, digest: str | None) -> Download:
    """Return a download of an open file."""
    return Download(file, file.seek(0, os.SEEK_END), media_type, name, tag, digest)


def send_file(request: Request, download: Download) -> Response:
    """Answer with the file, with the range of it that was asked for, or with 304; closes the file."""
    headers = _headers(download)
    if is_current(request, download.tag):
        download.file.close()
        return not_modified(headers["ETag"])
    asked = request.headers.get("range") if _range_is_current(request, headers["ETag"]) else None
    try:
        part = _range(asked, download.size_bytes)
    except RangeNotSatisfiable:
        download.file.close()
        raise
    first, end = part or (0, download.size_bytes)
    if part is not None:
        headers["Content-Range"] = f"bytes {first}-{end - 1}/{download.size_bytes}"
        headers.pop("Content-Digest", None)
    headers["Content-Length"] = str(end - first)
    body = _chunks(download.file, first, end)
    # Before the head is sent, so that an error is the answer; the body of a response to HEAD is not read.
    begun = [] if request.scope.get("head") else [*islice(body, 1)]
    return FileAnswer(chain(begun, body), 200 if part is None else 206, headers, media_type=download.media_type)


class FileAnswer(StreamingResponse):
    """Sends a file; the connection is cut where that cannot be read to the end, so that the client notices."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        except ApiError as error:
            _logger.warning("a download was cut: %s", error.detail)


REDIRECT: dict[int | str, dict[str, Any]] = {
    307: {"description": "Where the operator allows it: `Location` is a URL of the object storage that needs no key."}
}


def is_current(request: Request, tag: str) -> bool:
    """Tell whether the client has the content with this tag already."""
    return matches(request.headers.get("if-none-match"), f'"{tag}"')


def redirect(request: Request, url: str | None, tag: str) -> Response | None:
    """Answer with the `url` of the content, or with 304; None without one, and where only the head is asked for."""
    if url is None or request.scope.get("head"):
        return None
    if is_current(request, tag):
        return not_modified(f'"{tag}"')
    return Response(status_code=307, headers={"Location": url, "Cache-Control": "private, no-store"})


def send_and_delete(path: Path, media_type: str, status: int, headers: Mapping[str, str]) -> Response:
    """Answer with a file that is there for this answer alone."""
    file = os.fdopen(open_plain_file(path), "rb")
    path.unlink()
    size = os.fstat(file.fileno()).st_size
    return StreamingResponse(
        _chunks(file, 0, size), status, {**headers, "Content-Length": str(size)}, media_type=media_type
    )


def _headers(download: Download) -> dict[str, str]:
    headers = {
        "ETag": f'"{download.tag}"',
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{download.name}"',
        "Cache-Control": "private, no-cache",
    }
    if download.digest is not None:
        headers["Content-Digest"] = format_digest(download.digest)
    return headers


def _range_is_current(request: Request, tag: str) -> bool:
    condition = request.headers.get("if-range")
    return condition is None or condition.strip() == tag


def _range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first byte and the one after the last; a header that is not one range is ignored, as it may be."""
    match = None if header is None else _RANGE.fullmatch(header.replace(" ", ""))
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match[1], match[2]
    if first and last and int(last) < int(first):
        return None
    start = int(first) if first else size - min(int(last), size)
    end = min(int(last) + 1, size) if first and last else size
    if start >= end:
        raise RangeNotSatisfiable(f"the content has {size} bytes; ask for a range within it", size_bytes=size)
    return start, end


def _chunks(file: BinaryIO, first: int, end: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        left = end - first
        while left and (chunk := file.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk


TensorFormat = Literal["json", "npy"]


def read_npy(body: bytes) -> NDArray[Any]:
    """Return the array that `body` holds; Invalid if it is no well-formed `.npy` of a numeric type."""
    return read_arrays(body, NPY, IngestLimits()).arrays[""]


def tensor_answer(array: NDArray[Any], format: TensorFormat) -> Response:
    """Answer with an array."""
    if format == "npy":
        return Response(npy_body(array), media_type=NPY)
    return JsonResponse(tensor_document(array))


async def _tensor_format(
    format: Annotated[
        TensorFormat | None, Query(description="Format of the response; by default that of the Accept header.")
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
) -> TensorFormat:
    return format or ("npy" if NPY in accept else "json")


TensorFormatDep = Annotated[TensorFormat, Depends(_tensor_format)]
