"""A client that costs next to nothing: one request at a time, and no more of HTTP than our server speaks."""

import json
import re
import socket
from typing import Any
from urllib.parse import urlsplit

BLOCK = 1 << 18
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def content_of(answer: bytes | bytearray) -> tuple[int, int] | None:
    """Return where the body of an answer begins and ends; None if not all of it is there yet."""
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return None
    length = _LENGTH.search(answer, 0, head)
    assert length is not None, bytes(answer[:head])
    start = head + 4
    end = start + int(length[1])
    return (start, end) if len(answer) >= end else None


class Connection:
    """A connection that stays open."""

    def __init__(self, url: str) -> None:
        """Connect to the server at `url`."""
        parts = urlsplit(url)
        self._host = f"{parts.hostname}:{parts.port}"
        self.socket = socket.create_connection((parts.hostname, parts.port))
        # A request of two packets would otherwise wait for the answer to the first.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Return the bytes of a request, whose body is JSON."""
        content = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if method == "POST" else ""
        return f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n{content}\r\n".encode() + body

    def exchange(self, request: bytes) -> Any:
        """Send a request and return the document of its answer, which must be a success."""
        self.socket.sendall(request)
        answer = bytearray(self.socket.recv(BLOCK))
        while (found := content_of(answer)) is None:
            received = self.socket.recv(BLOCK)
            assert received, "the server has closed the connection"
            answer += received
        assert answer.startswith(b"HTTP/1.1 2"), bytes(answer)
        return json.loads(answer[slice(*found)])

    def get(self, path: str) -> Any:
        """Return the document at a path."""
        return self.exchange(self.request("GET", path))

    def post(self, path: str, **fields: Any) -> Any:
        """Post a document, and return that of the answer."""
        return self.exchange(self.request("POST", path, json.dumps(fields).encode()))

    def wait_for(self, path: str, text: bytes) -> None:
        """Get a stream, and read it until `text` comes; the connection is of no use afterwards."""
        self.socket.sendall(self.request("GET", path))
        answer = bytearray()
        while text not in answer:
            received = self.socket.recv(BLOCK)
            assert received, bytes(answer)
            answer += received

    def close(self) -> None:
        """Close it."""
        self.socket.close()
