"""Serves the files of the web page: `/` and `/page/...`."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated

from fastapi import Path, Response

from app.api.deps import IfNoneMatch
from app.api.routing import router
from app.domain.errors import NotFound
from app.http.responses import TAG_BYTES, matches, not_modified

CONTENT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".html": "text/html",
        ".js": "text/javascript",
        ".css": "text/css",
        ".svg": "image/svg+xml",
        ".csv": "text/csv",
    }
)
"""Content types by suffix; a file with another suffix, such as a licence, is not served."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing from other servers, nothing inline; texts cannot become HTML, as no script may create it from a string."""

HEADERS: Mapping[str, str] = MappingProxyType(
    {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
)
IMMUTABLE = "public, max-age=31536000, immutable"
"""For addresses that hold the version of all files: a browser that has them asks for nothing but the page itself."""
INDEX = "index.html"
_VERSION_BYTES = 8
_VERSIONED = re.compile(r"([0-9a-f]{16})/(.+)", re.ASCII)

routes = router("page")


@routes.get("/", include_in_schema=False)
def show_page(if_none_match: IfNoneMatch = None) -> Response:
    """Return the page. It needs no key, and asks for one where the API does."""
    return _answer(_index(), INDEX, if_none_match)


@routes.get("/page/{name:path}", include_in_schema=False)
def get_page_file(name: Annotated[str, Path(max_length=128)], if_none_match: IfNoneMatch = None) -> Response:
    """Return a script, a style sheet or a picture of the page, also by an address with a version before its path.

    A page that was opened before an update of the server gets the present file for its old version.
    """
    versioned = _VERSIONED.fullmatch(name)
    path = name if versioned is None else versioned[2]
    content = contents().get(path)
    if content is None:
        raise NotFound("the page has no such file")
    is_present = versioned is not None and versioned[1] == version()
    return _answer(content, path, if_none_match, IMMUTABLE if is_present else HEADERS["Cache-Control"])


def _answer(content: bytes, name: str, if_none_match: str | None, caching: str = HEADERS["Cache-Control"]) -> Response:
    tag = _tag(content)
    if matches(if_none_match, tag):
        return not_modified(tag)
    media_type = CONTENT_TYPES[PurePosixPath(name).suffix]
    return Response(content, media_type=media_type, headers={**HEADERS, "Cache-Control": caching, "ETag": tag})


@cache
def _tag(content: bytes) -> str:
    return f'"{hashlib.blake2b(content, digest_size=TAG_BYTES).hexdigest()}"'


@cache
def _index() -> bytes:
    """Return the page with the version in the addresses of its scripts and style sheets."""
    return contents()[INDEX].replace(b'="page/', f'="page/{version()}/'.encode())


@cache
def version() -> str:
    """Return what names the contents of all files together."""
    digest = hashlib.blake2b(digest_size=_VERSION_BYTES)
    for name, content in sorted(contents().items()):
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def contents() -> Mapping[str, bytes]:
    """Return all files of the page by their paths; they are read once, and no path of a request is ever opened."""
    return MappingProxyType(dict(_walk(files("app.page").joinpath("static"), "")))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif PurePosixPath(entry.name).suffix in CONTENT_TYPES:
            yield f"{prefix}{entry.name}", entry.read_bytes()
