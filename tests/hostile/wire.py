"""Bytes to a server and back, with no HTTP library between them."""

import socket
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson

PATIENCE = 10.0
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Exchange:
    """What is sent, and the answers that are right: their status, 0 for none before the end; and their code.

    `@GRAPH@`, `@FIT@`, `@CHECKPOINT@` and `@ORIGIN@` stand for ids of what there is, and the server's own origin. `cut` says that the
    server has to end the connection, since the two may not agree on where the next request begins.
    """

    name: str
    request: bytes
    statuses: tuple[int, ...]
    code: str = ""
    cut: bool = False


@dataclass(frozen=True)
class Answer:
    """A status, 0 for none; headers by lower-case name; the body; how long it took; and all bytes that came."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    raw: bytes = b""

    @property
    def code(self) -> str:
        """The code of a problem document, empty if it is none."""
        if self.headers.get("content-type") != PROBLEM:
            return ""
        problem: dict[str, Any] = orjson.loads(self.body)
        return str(problem["code"])


def address_of(url: str) -> tuple[str, int]:
    """Return where a server listens."""
    parts = httpx.URL(url)
    return parts.host, parts.port or 80


def connect(url: str) -> socket.socket:
    """Return a new connection."""
    return socket.create_connection(address_of(url), timeout=PATIENCE)


def exchange(url: str, request: bytes) -> Answer:
    """Send bytes on a connection of their own, and return the first answer that is not interim."""
    with connect(url) as connection:
        began = time.perf_counter()
        try:
            connection.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent: there may be an answer nevertheless
        answer = read_answer(connection, headless=request.startswith(b"HEAD "))
    return Answer(answer.status, answer.headers, answer.body, time.perf_counter() - began, answer.raw)


def read_answer(connection: socket.socket, *, headless: bool = False) -> Answer:
    """Read one answer; of status 0 if the connection ends first."""
    raw = b""
    while True:
        while b"\r\n\r\n" not in raw:
            if not (more := _received(connection)):
                return Answer(0, raw=raw)
            raw += more
        head, _, rest = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split(" ")[1])
        if status >= 200:
            break
        raw = rest
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = 0 if headless or status in (204, 304) else int(headers.get("content-length", 0))
    while len(rest) < length and (more := _received(connection)):
        rest += more
        raw += more
    return Answer(status, headers, rest[:length], raw=raw)


def is_cut(connection: socket.socket) -> bool:
    """Whether the server ends the connection, and says nothing more."""
    return _received(connection) == b""


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""
