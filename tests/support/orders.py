"""Orders to the process that servers are forked from (`fork_server`): what to run, with which environment and output.

`python -m tests.support.orders ...` has it run `adjoint ...`, which loads nothing here; standard input is empty.
"""

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence

SHARED = "TESTS_FORK_SERVER"
"""Names the process that servers are forked from, where processes share one."""

NUMBER = 8
"""Bytes of a number, as pids and exit statuses are sent."""


def connect(name: str) -> socket.socket:
    """Return a socket for orders to the process that takes them by this name."""
    orders = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    orders.connect(f"\0{name}")
    return orders


def send_order(
    orders: socket.socket, environment: Mapping[str, str], command: Sequence[str], ends: Sequence[int]
) -> socket.socket:
    """Have a process forked with these descriptors; return the socket on which its pid and exit status follow."""
    reported, sender = socket.socketpair()
    with sender:
        order = json.dumps({"environment": dict(environment), "command": [*command]})
        socket.send_fds(orders, [order.encode()], [sender.fileno(), *ends])
    return reported


def receive_number(reported: socket.socket) -> int:
    """Wait for the next number."""
    sent = reported.recv(NUMBER, socket.MSG_WAITALL)
    if len(sent) < NUMBER:
        raise RuntimeError("the process that servers are forked from has ended")
    return int.from_bytes(sent, "big", signed=True)


def main() -> int:
    """Run a command, and return its exit status."""
    with connect(os.environ[SHARED]) as orders, send_order(orders, os.environ, sys.argv[1:], [1, 2]) as reported:
        receive_number(reported)
        return receive_number(reported)


if __name__ == "__main__":
    sys.exit(main())
