"""The bridge process on the side of the runner: started, and read by a thread."""

import logging
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.domain.errors import BadMessage
from app.runner.cluster.protocol import Connect, Event, Order, StartSession, from_text, to_text
from app.system.log import LogFormat

CONNECT_SECONDS = 180.0
"""How long the bridge may take to connect to the cluster and to check its nodes."""

END_SECONDS = 5.0

_IMPORT_ROOT = Path(__file__).resolve().parents[3]
_COMMAND = (sys.executable, "-P", "-m", "app.runner.cluster.bridge")

_Queued = tuple[bytes, tuple[bytes, socket.socket] | None]
"""A line, and the name and the socket that are sent before it."""

_logger = logging.getLogger(__name__)


class BridgeProcess:
    """One bridge process. `on_event` is called in a thread with each event, and with None at the end of them."""

    def __init__(self, terms: Connect, log_format: LogFormat, on_event: Callable[[Event | None], None]) -> None:
        """Start it; OSError if it cannot be started."""
        self._channel, theirs = socket.socketpair()
        self._sockets, their_sockets = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, their_sockets:
            self._process = subprocess.Popen(  # noqa: S603 (the command is fixed)
                (*_COMMAND, log_format, str(their_sockets.fileno())),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                pass_fds=(their_sockets.fileno(),),
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for the server
            )
        self._events = self._channel.makefile("rb")
        self._on_event = on_event
        self._orders: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._orders.put((to_text(terms), None))
        for run in (self._write, self._read):
            threading.Thread(target=run, name=f"bridge-{run.__name__}", daemon=True).start()

    def send(self, order: Order) -> None:
        """Send an order; it does not wait, and is lost if the process has ended."""
        self._orders.put((to_text(order), None))

    def start_session(self, order: StartSession, frames: socket.socket) -> None:
        """Send an order with the socket for the frames of the session, of which a copy is made."""
        self._orders.put((to_text(order), (order.token.encode(), frames.dup())))

    def close(self) -> None:
        """End the process; actors go on."""
        self._orders.put(None)
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _write(self) -> None:
        while (queued := self._orders.get()) is not None:
            line, sent_before = queued
            with suppress(OSError):
                if sent_before is not None:
                    name, frames = sent_before
                    with frames:
                        socket.send_fds(self._sockets, [name], [frames.fileno()])
                self._channel.sendall(line)
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
        self._channel.close()  # once the events are read to their end
        self._sockets.close()

    def _read(self) -> None:
        try:
            with self._events as lines:
                for line in lines:
                    self._on_event(from_text(line))
        except ConnectionResetError:
            self._process.kill()  # it has ended with orders unread
        except (OSError, BadMessage):
            _logger.exception("the bridge to Ray cannot be read")
            self._process.kill()
        self._on_event(None)


def _environment() -> dict[str, str]:
    # Ray's own variables are for it, and credentials of the storage are not needed: nodes have their own.
    dropped = ("ADJOINT_", "AWS_", "AZURE_", "GOOGLE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PYTHONPATH": str(_IMPORT_ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
