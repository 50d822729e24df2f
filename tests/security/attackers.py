"""Clients that cost a server as much as they can with as little as they can send."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tests.security.wire import connect

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
POST = b"POST %b HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n%b\r\n"
READ, REFUSED = b"/v1/graphs", b"/nowhere"
CHUNKS = b"1\r\nx\r\n" * 10_000
LINES = b"a:\r\n" * 10_000
LOOKS_EVERY = 0.05


@dataclass(frozen=True)
class Attack:
    """What is sent at first on a connection, and then again and again; `reads` says whether answers are taken.

    `one_by_one` sends byte after byte, in packets of their own. `is_cut` says that the server has to end the
    connection.
    """

    name: str
    opening: bytes
    again: bytes
    is_cut: bool = True
    reads: bool = False
    one_by_one: bool = False
    connections: int = 1


ATTACKS = (
    Attack("chunks of a byte that are read", POST % (READ, b""), CHUNKS),
    Attack("chunks of a byte that are refused", POST % (REFUSED, b""), CHUNKS),
    Attack("chunks of a byte on leave", POST % (READ, b"Expect: 100-continue\r\n"), CHUNKS),
    Attack("chunks with long extensions", POST % (READ, b""), b"1;" + b"e" * 60_000 + b"\r\nx\r\n"),
    Attack("tiny headers", GET, LINES),
    Attack("requests of tiny headers", b"", GET + LINES + b"\r\n"),
    Attack("tiny trailers", POST % (READ, b"") + b"0\r\n", LINES),
    Attack("headers a byte a packet", GET + b"X: ", b"x", one_by_one=True),
    Attack("a body a byte a packet", POST % (READ, b"") + b"fffff\r\n", b" ", is_cut=False, one_by_one=True),
    Attack("requests whose answers nobody takes", b"", (GET.replace(b"/healthz", b"/openapi.json") + b"\r\n") * 100),
    Attack("pipelined requests", b"", (GET + b"\r\n") * 1000, is_cut=False, reads=True),
    Attack("silence", b"", b"", connections=100),
)


class Attacker:
    """Carries out an attack until it is stopped, on new connections where the server ends them."""

    def __init__(self, url: str, attack: Attack, source: str = "127.0.0.1") -> None:
        """Attack the server at `url`, from an address of this machine."""
        self._url = url
        self._attack = attack
        self._source = source
        self._stopped = threading.Event()
        self.was_cut = threading.Event()
        self.received = 0

    @contextmanager
    def running(self) -> Iterator["Attacker"]:
        """Attack for the length of the block."""
        threads = [threading.Thread(target=self._run) for _ in range(self._attack.connections)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            with suppress(OSError), connect(self._url, self._source) as connection:
                connection.settimeout(LOOKS_EVERY)
                if self._attack.one_by_one:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._go_on(connection)

    def _go_on(self, connection: socket.socket) -> None:
        data, sent = self._attack.opening or self._attack.again, 0
        while not self._stopped.is_set():
            try:
                sent += connection.send(data[sent:]) if data else 0
                if sent == len(data):
                    data, sent = self._attack.again, 0
                if (self._attack.reads or not data) and not self._take(connection):
                    self.was_cut.set()
                    return
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                self.was_cut.set()
                return

    def _take(self, connection: socket.socket) -> bool:
        taken = connection.recv(65536)
        self.received += taken.count(b"HTTP/1.1 ")
        return bool(taken)
