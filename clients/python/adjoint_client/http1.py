"""HTTP/1.1 without any I/O: requests as bytes, and heads of answers read (RFC 9112).

Only what a client needs that keeps one connection and waits for each answer before the next request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

Block = bytes | bytearray | memoryview
Body = bytes | bytearray

END_OF_HEAD = b"\r\n\r\n"
END_OF_LINE = b"\r\n"
HEAD_BYTES_MAX = 64 * 1024

_PORTS = {"http": 80, "https": 443}
_BODILESS = frozenset({204, 304})


class NoHttp(ConnectionError):  # noqa: N818 (named as what happened)
    """What came over a connection is no answer to a request."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: `path` is what comes before that of every request, "" as a rule."""

    host: str
    port: int
    secure: bool
    path: str

    @classmethod
    def of(cls, url: str) -> "Address":
        """Read the base URL of a server."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a server; write it as http://127.0.0.1:8000")
        port = parts.port or _PORTS[parts.scheme]
        return cls(parts.hostname, port, parts.scheme == "https", parts.path.rstrip("/"))


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `path` is that below the server's own, with its query; the body comes in blocks."""

    method: str
    path: str
    body: Sequence[Block] = ()
    media: str | None = None
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]

    @property
    def interim(self) -> bool:
        """Whether the answer itself is still to come."""
        return self.status < 200

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks that say how long they are."""
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def length(self) -> int | None:
        """Bytes of the body; None if it ends with the connection."""
        if self.status in _BODILESS:
            return 0
        text = self.headers.get("content-length")
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise NoHttp(f"an answer says that it has {text[:40]!r} bytes")
        return int(text)

    @property
    def last(self) -> bool:
        """Whether the server closes the connection after this answer."""
        return "close" in self.headers.get("connection", "").lower()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its whole body; a large one can be written to."""

    head: Head
    body: Body = field(repr=False)

    @property
    def status(self) -> int:
        """Its status code."""
        return self.head.status

    @property
    def media(self) -> str:
        """The type of its body."""
        return self.head.headers.get("content-type", "")

    @property
    def is_success(self) -> bool:
        """Whether the server did as asked."""
        return 200 <= self.head.status < 300


class RequestWriter:
    """Encodes requests to one server, with the headers that all of them share."""

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        default = _PORTS["https" if address.secure else "http"]
        host = f"[{address.host}]" if ":" in address.host else address.host
        named = {"Host": host if address.port == default else f"{host}:{address.port}", **headers}
        for name, value in named.items():
            if not (name + value).isprintable() or not (name + value).isascii():
                raise ValueError(f"the header {name!r} cannot be sent: it must be plain text in one line")
        self._path = address.path
        self._common = "".join(f"{name}: {value}\r\n" for name, value in named.items())

    def encode(self, request: Request) -> list[Block]:
        """Return the bytes of a request, in blocks."""
        size = sum(map(len, request.body))
        head = f"{request.method} {self._path}{request.path} HTTP/1.1\r\n{self._common}Accept: {request.accept}\r\n"
        if request.media is not None:
            head += f"Content-Type: {request.media}\r\n"
        if size or request.method != "GET":
            head += f"Content-Length: {size}\r\n"
        return [f"{head}\r\n".encode("ascii"), *request.body]


def read_head(content: bytes) -> Head:
    """Read a head, from its first line to the empty one.

    Raises:
        NoHttp: it is none.
    """
    first, *lines = content.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise NoHttp(f"the answer begins with {first[:40]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if version == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return Head(int(rest[:3]), headers)


def read_chunk_length(line: bytes) -> int:
    """Read the line before a chunk.

    Raises:
        NoHttp: it does not say how long the chunk is.
    """
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16)
    except ValueError:
        raise NoHttp(f"a chunk begins with {line[:40]!r}") from None
