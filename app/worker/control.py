"""Messages from the server to the worker: the assignment, then stop requests, read by a thread while the fit runs."""

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
    """Flags that the fit checks between steps. The process exits at once if the server is gone."""

    def __init__(self, channel: socket.socket, on_tick: Callable[[], None] = lambda: None) -> None:
        """Read `channel`; `on_tick` is called at each tick of the thread, before that of `start`."""
        self._channel = channel
        self._on_tick = on_tick
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
        """Return the control of one variant of a sweep."""
        return VariantControl(self, fit_id)

    def is_cancelled(self, fit_id: str) -> bool:
        """Whether this variant, and not the whole sweep, is cancelled."""
        return fit_id in self._cancelled

    def assignment(self) -> AnyAssignment:
        """Wait for the assignment. Needs no thread, so that the process may still fork."""
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
                    self._on_tick()
                    tick()
        finally:
            # Without this thread nothing would stop the worker, or notice that the server is gone.
            _logger.exception("the control thread failed; the worker exits")
            os._exit(EXIT_SERVER_GONE)

    def _read_messages(self) -> None:
        try:
            messages = self._lines.feed(self._receive())
        except BadMessage:
            _logger.exception("malformed message from the server; the worker exits")
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
        # A cancellation by the client takes precedence over a drain by the server.
        elif isinstance(message, ControlMessage) and self._stop_requested != "cancel":
            self._stop_requested = message.kind
            self._on_stop_request()


class VariantControl:
    """The control of one variant: stop requests of the whole sweep, and its own cancellation."""

    def __init__(self, control: Control, fit_id: str) -> None:
        self._control = control
        self._fit_id = fit_id

    @property
    def stop_requested(self) -> StopRequest | None:
        """How the variant should stop, None if it should go on."""
        return "cancel" if self._control.is_cancelled(self._fit_id) else self._control.stop_requested


def agree_on_stop(collective: engine.Collective, stop_requested: StopRequest | None) -> StopRequest | None:
    """Return the stop request of rank 0, on every rank.

    All ranks call it at the same step. Only rank 0 is connected to the server; if each rank decided for itself, one
    could leave a step that others wait for in a collective operation.
    """
    return STOP_REQUESTS[collective.gather(bytes([STOP_REQUESTS.index(stop_requested)]))[0][0]]
