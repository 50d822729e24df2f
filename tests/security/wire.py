"""Bytes to a server and back, with no HTTP library between them."""

import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import orjson

PATIENCE = 10.0
PROBLEM = "application/problem+json"
LITTLE = 4096
FINAL = 200
"""The least status of an answer that is not interim."""


@dataclass(frozen=True)
class Exchange:
    """What is sent, and the answers that are right: their statuses, and the code of a problem, empty for any.

    `@GRAPH@`, `@DATASET@`, `@FIT@` and `@CHECKPOINT@` stand for ids of what there is. `cut` says that the server has
    to end the connection, since the two may not agree on where the next request begins.
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
    raw: bytes = b""
    seconds: float = 0.0

    @property
    def code(self) -> str:
        """The code of a problem document, empty if it is none."""
        if self.headers.get("content-type") != PROBLEM:
            return ""
        problem: dict[str, Any] = orjson.loads(self.body)
        return str(problem["code"])


def connect(url: str, source: str = "127.0.0.1") -> socket.socket:
    """Return a new connection to a server, from an address of this machine."""
    parts = httpx.URL(url)
    return socket.create_connection((parts.host, parts.port or 80), timeout=PATIENCE, source_address=(source, 0))


def exchange(url: str, request: bytes, *, cut: bool = False) -> Answer:
    """Send bytes on a connection of their own, and return the first answer that is not interim.

    Where the connection is to be `cut`, the server ends it before this returns; TimeoutError if it does not.
    """
    with connect(url) as connection:
        began = time.perf_counter()
        # What is refused before all was sent is answered nevertheless.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        answer = read_answer(connection, bodiless=request.startswith(b"HEAD "))
        answer = replace(answer, seconds=time.perf_counter() - began)
        while cut and received(connection):
            pass
    return answer


def read_answer(connection: socket.socket, *, bodiless: bool = False) -> Answer:
    """Read one answer that is not interim; of status 0 if the connection ends first."""
    raw, status = b"", 0
    while status < FINAL:
        while b"\r\n\r\n" not in raw:
            if not (more := received(connection)):
                return Answer(0, raw=raw)
            raw += more
        head, _, rest = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split(" ")[1])
        if status < FINAL:
            raw = rest
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = 0 if bodiless else int(headers.get("content-length", 0))
    while len(rest) < length and (more := received(connection)):
        rest += more
        raw += more
    return Answer(status, headers, rest[:length], raw)


def received(connection: socket.socket, most: int = 65536) -> bytes:
    """Return some bytes; none if the server has ended the connection."""
    try:
        return connection.recv(most)
    except ConnectionResetError:
        return b""


def dripped(connection: socket.socket, drop: bytes, every: float = 0.02) -> bytes:
    """Send a drop again and again until the server says something or ends the connection; return what it said."""
    connection.settimeout(every)
    while True:
        try:
            connection.sendall(drop)
            return connection.recv(65536)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return b""


def stalled(url: str, path: str) -> socket.socket:
    """Ask for something and take nothing of it, with as little room for it as the system allows."""
    connection = connect(url)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def until_open(http: httpx.Client, count: int, patience: float = PATIENCE) -> None:
    """Wait until so many requests are being answered, this one included."""
    end = time.monotonic() + patience
    while f"adjoint_http_requests_open {count}.0" not in http.get("/metrics").text:
        assert time.monotonic() < end
        time.sleep(0.02)
