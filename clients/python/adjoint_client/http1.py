"""Requests and answers of one connection, on top of h11, without any I/O.

A general HTTP client costs more than a step of a small model takes; see docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import h11

from adjoint_client.address import Address

Block = bytes | bytearray | memoryview


class NoHttp(ConnectionError):  # noqa: N818 (named as what happened)
    """What came over a connection is no answer to a request."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `path` is that below the server's own, with its query; the body comes in blocks."""

    method: str
    path: str
    body: Sequence[Block] = ()
    media: str | None = None
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its whole body, which can be written to; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray = field(repr=False)

    @property
    def media(self) -> str:
        """The type of its body."""
        return self.headers.get("content-type", "")

    @property
    def is_success(self) -> bool:
        """Whether the server did as asked."""
        return 200 <= self.status < 300


class Exchanges:
    """Requests over one connection, each answered before the next one is encoded."""

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        self._protocol = h11.Connection(h11.CLIENT)
        self._path = address.path
        self._common = [("Host", address.host_header), *headers.items()]
        self._head: h11.Response | None = None
        self._body = bytearray()

    def encode(self, request: Request) -> list[Block]:
        """Return the bytes of a request, in blocks; those of its body are not copied."""
        headers = [*self._common, ("Accept", request.accept)]
        if request.media is not None:
            headers.append(("Content-Type", request.media))
        size = sum(map(len, request.body))
        if size or request.method != "GET":
            headers.append(("Content-Length", str(size)))
        head = h11.Request(method=request.method, target=self._path + request.path, headers=headers)
        blocks: list[Block] = [self._protocol.send(head) or b""]
        for block in request.body:
            blocks += self._protocol.send_with_data_passthrough(h11.Data(data=block)) or ()  # type: ignore[arg-type]
        self._protocol.send(h11.EndOfMessage())
        return blocks

    def receive(self, data: bytes) -> Answer | None:
        """Take the bytes that came, b"" for the end of the connection; return the answer once it is whole.

        Raises:
            NoHttp: what came is no answer.
            ConnectionResetError: the connection ended before the answer did.
        """
        try:
            self._protocol.receive_data(data)
            return self._answer()
        except h11.RemoteProtocolError as error:
            if data:
                raise NoHttp(str(error)) from error
            raise ConnectionResetError("the server has closed the connection") from error

    @property
    def reusable(self) -> bool:
        """Whether another request can follow, once the answer is whole."""
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
            self._protocol.start_next_cycle()
        return self._protocol.our_state is h11.IDLE

    def _answer(self) -> Answer | None:
        while (event := self._protocol.next_event()) is not h11.NEED_DATA:
            match event:
                case h11.Response():
                    self._head, self._body = event, bytearray()
                case h11.Data():
                    self._body += event.data
                case h11.EndOfMessage() if self._head is not None:
                    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._head.headers}
                    return Answer(self._head.status_code, named, self._body)
                case h11.ConnectionClosed():
                    raise ConnectionResetError("the server has closed the connection")
        return None
