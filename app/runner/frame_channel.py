"""The server's end of the frame channel to a worker process, in the event loop."""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable

from app.domain.errors import BadMessage
from app.domain.frames import FrameReader, Head, to_frame

CHUNK_BYTES = 1 << 16
"""Bytes that are asked for at a time. Memory for more than 128 KiB is mapped and given back at each call."""

_logger = logging.getLogger(__name__)


class FrameChannel:
    """Sends frames in order and passes on those that arrive. Nothing blocks: what cannot be sent yet is buffered."""

    def __init__(
        self, sock: socket.socket, on_frame: Callable[[Head, bytes], None], on_lost: Callable[[], None]
    ) -> None:
        """Use `sock` in the running event loop; `on_frame` gets each frame, `on_lost` is called once at the end."""
        sock.setblocking(False)
        self._socket = sock
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader()
        self._unsent: deque[memoryview] = deque()
        self._blocked = False
        self._open = True
        self._loop.add_reader(sock, self._receive)

    def send(self, head: Head, body: bytes = b"") -> None:
        """Send a frame; it is dropped if the process has exited."""
        if not self._open:
            return
        waited = bool(self._unsent)
        self._unsent.append(memoryview(to_frame(head, body)))
        if not waited:
            self._send()

    def read_to_end(self) -> None:
        """Read what a process that has exited sent last."""
        while self._open and self._receive():
            pass

    def close(self) -> None:
        """Close the channel; `on_lost` is not called."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._unsent.clear()
            self._socket.close()

    def _send(self) -> None:
        try:
            while self._unsent:
                sent = self._socket.send(self._unsent[0])
                if sent < len(self._unsent[0]):
                    self._unsent[0] = self._unsent[0][sent:]
                else:
                    self._unsent.popleft()
        except BlockingIOError:
            self._blocked = True
            self._loop.add_writer(self._socket, self._send)
            return
        except OSError:
            # What it has sent before can still be read, then the end of the stream.
            self._unsent.clear()
        if self._blocked:
            self._blocked = False
            self._loop.remove_writer(self._socket)

    def _receive(self) -> bool:
        """Read what is available; return whether there was anything."""
        try:
            data = self._socket.recv(CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._handle_loss()
            return False
        try:
            frames = self._reader.feed(data)
        except BadMessage:
            _logger.exception("malformed frame from a worker; closing its channel")
            self._handle_loss()
            return False
        for head, body in frames:
            self._on_frame(head, body)
        return True

    def _handle_loss(self) -> None:
        self.close()
        self._on_lost()
