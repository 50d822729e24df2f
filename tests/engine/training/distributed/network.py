"""Collectives over sockets of this machine, each end of which is joined in a thread."""

import socket
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from engine.core.errors import RankLost
from engine.training.distributed.control_links import accept_ranks, connect_to_first
from engine.training.distributed.network import NetworkCollective
from tests.support.patience import PATIENCE

SECRET = b"a secret of the test"


def listening() -> socket.socket:
    """Return a socket that listens at a free port of this machine."""
    return socket.create_server(("127.0.0.1", 0))


def joined(size: int, join: Callable[[int, socket.socket, Any], Any]) -> list[Any]:
    """Return what `join` returns in a thread for each rank, called with the rank, the listener and its address."""
    listener = listening()
    address = listener.getsockname()
    ends: list[Any] = [None] * size

    def run(rank: int) -> None:
        ends[rank] = join(rank, listener, address)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a rank does not join"
    return ends


class Mailbox:
    """Transfers between the threads of a test, in place of a network: a sender waits until it is received."""

    def __init__(self, rank: int, boxes: dict[tuple[int, int], "SimpleQueue[bytes | None]"], size: int) -> None:
        self._rank, self._boxes, self._size = rank, boxes, size

    def send(self, part: np.ndarray[Any, Any], to: int) -> None:
        self._boxes[self._rank, to].put(part.tobytes())

    def receive(self, part: np.ndarray[Any, Any], source: int) -> None:
        sent = self._boxes[source, self._rank].get(timeout=PATIENCE)
        if sent is None:
            raise RankLost(source)
        assert len(sent) == part.nbytes
        part.view(np.uint8)[:] = np.frombuffer(sent, np.uint8)

    def close(self) -> None:
        for to in range(self._size):
            self._boxes[self._rank, to].put(None)


def over_network(size: int) -> list[Any]:
    """Join over control links of this machine, with transfers from thread to thread."""
    boxes = {(source, to): SimpleQueue[bytes | None]() for source in range(size) for to in range(size)}

    def join(rank: int, listener: socket.socket, address: Any) -> NetworkCollective:
        links = connect_to_first(address, rank, size, SECRET) if rank else accept_ranks(listener, size, SECRET)
        assert links is not None
        return NetworkCollective(links, Mailbox(rank, boxes, size))

    return joined(size, join)
