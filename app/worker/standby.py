"""A worker process that is forked before it is needed, and waits for the next order.

It has trained once and begun the fits that ran last, so that the pages that a fit writes to are copied already. In a
worker that is forked for an order each of them is copied at the first write, during the first step.
"""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

NAME = "adjoint standby"
"""What `ps` and `top` call the process while it waits, on Linux."""
_COMM = Path("/proc/self/comm")

READY = b"\0"
"""What it sends when it waits for an order."""
MAX_DESCRIPTORS = 2
"""Sockets that come with an order: the message channel, and for sessions and computations the frame channel."""


class Standby:
    """The process that waits, as the fork server sees it."""

    def __init__(self, pid: int, orders: socket.socket) -> None:
        """Send the order on `orders`; the process ends when that is closed."""
        self.pid = pid
        self._orders = orders

    @property
    def is_ready(self) -> bool:
        """Whether it waits for an order by now, and is not busy with what it does before."""
        try:
            return bool(self._orders.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False

    def hand_over(self, channels: Sequence[int]) -> bool:
        """Send it the sockets of an order, once; return whether it is still there."""
        with self._orders:
            try:
                socket.send_fds(self._orders, [b"\0"], channels)
            except OSError:
                return False
            return True

    def close(self) -> None:
        """Close the connection, in a process forked from the fork server."""
        self._orders.close()

    def dismiss(self) -> None:
        """Kill it."""
        self.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def await_order(orders: socket.socket) -> list[socket.socket]:
    """Return the sockets of the order when it comes; none when the fork server has closed the connection."""
    with orders:
        orders.sendall(READY)
        _, channels, _, _ = socket.recv_fds(orders, 1, MAX_DESCRIPTORS)
    return [socket.socket(fileno=channel) for channel in channels]


@contextlib.contextmanager
def named_standby() -> Iterator[None]:
    """Call this process NAME for the length of the block."""
    before = None
    with contextlib.suppress(OSError):
        before = _COMM.read_text("utf-8", "replace")
        _COMM.write_text(NAME, "utf-8")
    yield
    if before is not None:
        with contextlib.suppress(OSError):
            _COMM.write_text(before, "utf-8")
