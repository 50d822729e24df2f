"""What the server wants from this worker; listened for in a thread while the fit goes on."""

import logging
import os
import select
import socket
import threading
from collections.abc import Callable
from typing import Literal, NoReturn

from app.domain.messages import Assignment, Message
from app.domain.messages import Control as ControlMessage
from app.domain.wire import LineReader

ORPHANED = os.EX_UNAVAILABLE
"""Exit code of a worker whose server is gone."""

TICK_SECONDS = 0.05
CHUNK_BYTES = 1 << 16

_logger = logging.getLogger(__name__)


class Control:
    """Flags that the fit looks at between steps. Ends the process at once when the server is gone."""

    def __init__(self, channel: socket.socket, tick: Callable[[], None]) -> None:
        """Listen on `channel`, and call `tick` every `TICK_SECONDS`."""
        self._channel = channel
        self._tick = tick
        self._lines = LineReader()
        self._assignment: Assignment | None = None
        self._assigned = threading.Event()
        self._wanted: Literal["cancel", "drain"] | None = None

    @property
    def wanted(self) -> Literal["cancel", "drain"] | None:
        """How the fit should stop, None if it should go on."""
        return self._wanted

    def start(self) -> None:
        """Begin to listen."""
        threading.Thread(target=self._listen, name="control", daemon=True).start()

    def assignment(self) -> Assignment:
        """Wait for what there is to do."""
        self._assigned.wait()
        assert self._assignment is not None
        return self._assignment

    def _listen(self) -> NoReturn:
        try:
            while True:
                readable, _, _ = select.select([self._channel], [], [], TICK_SECONDS)
                if not readable:
                    self._tick()
                    continue
                for message in self._lines.feed(self._receive()):
                    self._obey(message)
        finally:
            # A worker that nobody can stop must not go on.
            _logger.exception("a worker stops: it cannot make out what the server wants")
            os._exit(ORPHANED)

    def _receive(self) -> bytes:
        try:
            data = self._channel.recv(CHUNK_BYTES)
        except OSError:
            data = b""
        if not data:
            os._exit(ORPHANED)
        return data

    def _obey(self, message: Message) -> None:
        if isinstance(message, Assignment):
            self._assignment = message
            self._assigned.set()
        # A client's wish to stop for good outlasts the server's to stop for now.
        elif isinstance(message, ControlMessage) and self._wanted != "cancel":
            self._wanted = message.kind
