"""Doubles of the HTTP protocols of object storages: in memory, with the requests that obstore sends, authenticated.

They show that requests are well formed and that answers are understood as the public descriptions of the protocols have
them. They are not the services: quotas, regions, redirects and their own faults are missing.
"""

import hashlib
import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

BUCKET = "blobs"
PAGE = 3
"""Entries of a page of a list: few, so that lists have several."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `path` is decoded, `target` as it was sent; names of `headers` are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Response:
    """An answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.response = Response(
            status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>refused</Message></Error>".encode()
        )


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The bytes of an object, and when they were written."""

    content: bytes
    written_at: datetime

    @property
    def headers(self) -> dict[str, str]:
        return {
            "ETag": f'"{hashlib.md5(self.content, usedforsecurity=False).hexdigest()}"',
            "Last-Modified": format_datetime(self.written_at, usegmt=True),
        }


class CloudStorage:
    """A storage with the bucket BUCKET. Kinds of storages answer requests in `answer`."""

    no_bucket: ClassVar[str]
    no_object: ClassVar[str]
    folder: ClassVar[str] = ""
    """What comes before the bucket in the path of a URL."""

    def __init__(self) -> None:
        self.objects: dict[str, StoredObject] = {}
        self.url = ""
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def respond(self, request: Request) -> Response:
        """Return the answer to a request, one request at a time."""
        with self._lock:
            try:
                return self.answer(request)
            except Refused as refused:
                return refused.response

    def answer(self, request: Request) -> Response:
        """Return the answer to a request; Refused."""
        raise NotImplementedError

    def key_of(self, request: Request) -> str:
        """Return the key of the object that a request names, empty for the bucket; Refused if there is no bucket."""
        bucket, _, key = request.path.removeprefix(f"{self.folder}/").partition("/")
        if bucket != BUCKET:
            raise Refused(404, self.no_bucket)
        return key

    def write(self, key: str, content: bytes) -> StoredObject:
        stored = self.objects[key] = StoredObject(content, datetime.now(UTC).replace(microsecond=0))
        return stored

    def read(self, request: Request, key: str) -> Response:
        """Return an object, or the range of it that is asked for."""
        if key not in self.objects:
            raise Refused(404, self.no_object)
        stored = self.objects[key]
        asked = request.headers.get("range") or request.headers.get("x-ms-range")
        if asked is None:
            return Response(200, stored.content, stored.headers)
        first, _, last = asked.removeprefix("bytes=").partition("-")
        size = len(stored.content)
        if int(first) >= size:
            raise Refused(416, "InvalidRange")
        end = min(int(last) + 1, size) if last else size
        content_range = f"bytes {first}-{end - 1}/{size}"
        return Response(206, stored.content[int(first) : end], {**stored.headers, "Content-Range": content_range})

    def delete(self, key: str) -> None:
        if self.objects.pop(key, None) is None:
            raise Refused(404, self.no_object)

    def page(self, prefix: str, after: str) -> tuple[list[tuple[str, StoredObject]], str]:
        """Return the next objects with a prefix, and the key that the page after them follows, empty if none does."""
        found = sorted((key, stored) for key, stored in self.objects.items() if key.startswith(prefix) and key > after)
        return found[:PAGE], found[PAGE - 1][0] if len(found) > PAGE else ""

    def new_id(self) -> str:
        return f"upload{next(self._numbers)}"


@contextmanager
def serving_storage(storage: CloudStorage) -> Iterator[CloudStorage]:
    """Serve a storage on a port of this machine, at its `url`, for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = storage.respond(Request(self.command, self.path, headers, body))
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        storage.url = f"http://127.0.0.1:{server.server_port}{storage.folder}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield storage
        finally:
            server.shutdown()
            thread.join()
