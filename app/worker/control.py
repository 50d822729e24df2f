"""What the server wants from this worker: first an assignment, then listened for in a thread while the fit goes on."""

import logging
import os
import select
import socket
import threading
from collections.abc import Callable
from typing import Literal, NoReturn

import engine
from app.domain.errors import BadMessage
from app.domain.frames import LineReader
from app.domain.messages import AnyAssignment, Message
from app.domain.messages import Control as ControlMessage

EXIT_SERVER_GONE = os.EX_UNAVAILABLE
"""Exit code of a worker whose server is gone."""

TICK_SECONDS = 0.05
CHUNK_BYTES = 1 << 16

StopRequest = Literal["cancel", "drain"]
STOP_REQUESTS: tuple[StopRequest | None, ...] = (None, "cancel", "drain")

_logger = logging.getLogger(__name__)


class Control:
    """Flags that the fit looks at between steps. Ends the process at once when the server is gone."""

    def __init__(self, channel: socket.socket) -> None:
        """Listen on `channel`, once asked to."""
        self._channel = channel
        self._lines = LineReader()
        self._assignment: AnyAssignment | None = None
        self._stop_requested: StopRequest | None = None
        self._cancelled: set[str] = set()
        self._on_stop_request: Callable[[], None] = lambda: None

    @property
    def stop_requested(self) -> StopRequest | None:
        """How the fit should stop, None if it should go on."""
        return self._stop_requested

    def for_variant(self, fit_id: str) -> "VariantControl":
        """Return what is wanted of one variant of a sweep."""
        return VariantControl(self, fit_id)

    def is_cancelled(self, fit_id: str) -> bool:
        """Whether this variant of a sweep, and not the sweep, should stop for good."""
        return fit_id in self._cancelled

    def assignment(self) -> AnyAssignment:
        """Wait for what there is to do. Needs no thread, so that the process may still be forked."""
        while self._assignment is None:
            self._read_messages()
        return self._assignment

    def start(self, tick: Callable[[], None], on_stop_request: Callable[[], None] | None = None) -> None:
        """Start the thread that reads messages; it calls `tick` every `TICK_SECONDS` or so, and `on_stop_request`."""
        self._on_stop_request = on_stop_request or self._on_stop_request
        threading.Thread(target=self._listen, args=(tick,), name="control", daemon=True).start()

    def _listen(self, tick: Callable[[], None]) -> NoReturn:
        try:
            while True:
                readable, _, _ = select.select([self._channel], [], [], TICK_SECONDS)
                if readable:
                    self._read_messages()
                else:
                    tick()
        finally:
            # A worker that nobody looks after must not go on.
            _logger.exception("a worker stops: the thread that listens to the server broke down")
            os._exit(EXIT_SERVER_GONE)

    def _read_messages(self) -> None:
        """Wait for something to be said, and obey."""
        try:
            messages = self._lines.feed(self._receive())
        except BadMessage:
            _logger.exception("a worker stops: it cannot make out what the server wants")
            os._exit(EXIT_SERVER_GONE)
        for message in messages:
            self._handle_message(message)

    def _receive(self) -> bytes:
        try:
            data = self._channel.recv(CHUNK_BYTES)
        except OSError:
            data = b""
        if not data:
            os._exit(EXIT_SERVER_GONE)
        return data

    def _handle_message(self, message: Message) -> None:
        if isinstance(message, AnyAssignment):
            self._assignment = message
        elif isinstance(message, ControlMessage) and message.fit_id is not None:
            self._cancelled.add(message.fit_id)
        # A client's wish to stop for good outlasts the server's to stop for now.
        elif isinstance(message, ControlMessage) and self._stop_requested != "cancel":
            self._stop_requested = message.kind
            self._on_stop_request()


class VariantControl:
    """What the server wants of one variant: as of the whole sweep, or that it alone should stop."""

    def __init__(self, control: Control, fit_id: str) -> None:
        """Look at `control`."""
        self._control = control
        self._fit_id = fit_id

    @property
    def stop_requested(self) -> StopRequest | None:
        """How the variant should stop, None if it should go on."""
        return "cancel" if self._control.is_cancelled(self._fit_id) else self._control.stop_requested


def agree_on_stop(collective: engine.Collective, stop_requested: StopRequest | None) -> StopRequest | None:
    """Return what rank 0 wants, on every rank. All ask at the same step; what others want does not count."""
    return STOP_REQUESTS[collective.gather(bytes([STOP_REQUESTS.index(stop_requested)]))[0][0]]
