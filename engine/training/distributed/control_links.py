"""Messages between the ranks of a data-parallel fit on several hosts: TCP connections from rank 0 to every other rank.

Messages are small. That a host is gone, or that a link is cut, is found by TCP itself, by probes with a deadline: so a
rank may take as long as it likes for a step.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from struct import Struct

from engine.core.errors import RankLost

SILENT_SECONDS = 10
"""A host that does not answer the probes of TCP for so long is lost."""

PROBE_SECONDS = 2
"""Interval of the probes of an idle connection."""

CONNECT_SECONDS = 10.0
HELLO_SECONDS = 5.0
"""How long who has connected may take to name its rank and the secret."""

ACCEPT_SECONDS = 0.2
"""Interval in which a rank 0 that waits for the others looks whether it is to stop."""

_HELLO = Struct("!32sH")
"""Digest of the secret, and rank."""

_FRAME = Struct("!HQ")
"""Length of the operation, and of the payload."""


class ControlLinks:
    """One rank's connections; `accept_ranks` and `connect_to_first` return them."""

    def __init__(self, rank: int, size: int, host: str, links: Mapping[int, socket.socket]) -> None:
        """Use connections, by rank: to all others, or to rank 0 only. `host` is the own address on that network."""
        self.rank = rank
        self.size = size
        self.host = host
        self._links = links
        self._closed = False

    def exchange(self, operation: str, payload: bytes = b"") -> list[tuple[str, bytes]]:
        """Return the operation and the payload of each rank, when all have called this; RankLost if one is gone."""
        if self._closed:
            raise RankLost(self.rank)
        own = (operation, payload)
        if self.rank == 0:
            calls = [own, *(_receive(self._links[rank], rank) for rank in range(1, self.size))]
            packed = b"".join(_pack(*each) for each in calls)
            for rank in range(1, self.size):
                _send(self._links[rank], rank, packed)
            return calls
        _send(self._links[0], 0, _pack(*own))
        return [_receive(self._links[0], 0) for _ in range(self.size)]

    def close(self) -> None:
        """Close the connections; again changes nothing."""
        self._closed = True
        for link in self._links.values():
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()


def accept_ranks(
    listener: socket.socket, size: int, secret: bytes, is_stopping: Callable[[], bool] = lambda: False
) -> ControlLinks | None:
    """Return the connections of rank 0, when all other ranks have connected to `listener`, which is closed.

    Who does not send the digest of the secret is disconnected. None if `is_stopping` returns true before.
    """
    links: dict[int, socket.socket] = {}
    listener.settimeout(ACCEPT_SECONDS)
    with listener:
        host = listener.getsockname()[0]
        while len(links) < size - 1:
            if is_stopping():
                for link in links.values():
                    link.close()
                return None
            with suppress(TimeoutError):
                link, _ = listener.accept()
                rank = _read_hello(link, secret)
                if rank is None or not 0 < rank < size or rank in links:
                    link.close()
                else:
                    links[rank] = link
    return ControlLinks(0, size, host, links)


def connect_to_first(address: tuple[str, int], rank: int, size: int, secret: bytes) -> ControlLinks:
    """Return the connection of another rank than 0, to which rank 0 listens at `address`; RankLost if it does not."""
    try:
        link = socket.create_connection(address, CONNECT_SECONDS)
        _configure(link)
        link.sendall(_HELLO.pack(sha256(secret).digest(), rank))
    except OSError:
        raise RankLost(0) from None
    return ControlLinks(rank, size, link.getsockname()[0], {0: link})


def _read_hello(link: socket.socket, secret: bytes) -> int | None:
    """Return the rank of who has connected, None if it has not sent the secret."""
    try:
        link.settimeout(HELLO_SECONDS)
        digest, rank = _HELLO.unpack(_read(link, _HELLO.size))
        _configure(link)
    except OSError:
        return None
    return int(rank) if hmac.compare_digest(digest, sha256(secret).digest()) else None


def _configure(link: socket.socket) -> None:
    """Send without delay, wait without limit, and fail when the other host does not answer probes any more."""
    link.settimeout(None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_SECONDS)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, SILENT_SECONDS // PROBE_SECONDS)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_SECONDS)
        # Probes are not sent while data is not acknowledged.
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * SILENT_SECONDS)


def _pack(operation: str, payload: bytes) -> bytes:
    name = operation.encode()
    return _FRAME.pack(len(name), len(payload)) + name + payload


def _send(link: socket.socket, rank: int, packed: bytes) -> None:
    try:
        link.sendall(packed)
    except OSError:
        raise RankLost(rank) from None


def _receive(link: socket.socket, rank: int) -> tuple[str, bytes]:
    try:
        name, payload = _FRAME.unpack(_read(link, _FRAME.size))
        operation = _read(link, name).decode()
        return operation, _read(link, payload)
    except OSError:
        raise RankLost(rank) from None


def _read(link: socket.socket, length: int) -> bytes:
    """Read exactly so many bytes; ConnectionError if the connection ends before."""
    read = bytearray()
    while len(read) < length:
        part = link.recv(length - len(read))
        if not part:
            raise ConnectionError("the connection has ended")
        read += part
    return bytes(read)
