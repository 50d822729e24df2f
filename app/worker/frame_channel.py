"""The line of a session's process: frames come in and go out, and a bell ends waiting for them."""

import contextlib
import select
import socket

from app.domain.frames import Frame, FrameReader, Head, to_frame

CHUNK_BYTES = 1 << 20
MOST_BYTES = 16 << 20
"""After so many bytes what has come is looked at first."""


class FrameChannel:
    """One end of the line. One thread uses it; any other may call `notify` only."""

    def __init__(self, sock: socket.socket) -> None:
        """Use `sock`."""
        self._socket = sock
        self._frames = FrameReader()
        self._wakeup_in, self._wakeup_out = socket.socketpair()
        for side in (self._wakeup_in, self._wakeup_out):
            side.setblocking(False)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._poll.register(self._wakeup_in, select.POLLIN)

    def notify(self) -> None:
        """End a `receive` that waits, or the next one at once."""
        with contextlib.suppress(OSError):
            self._wakeup_out.send(b"\0")

    def receive(self, timeout: float | None) -> list[Frame] | None:
        """Wait at most `timeout` seconds (None: until something comes), and return all frames that are there.

        None when the other end is closed. BadMessage if what comes are no frames.
        """
        ready = dict(self._poll.poll(None if timeout is None else max(0.0, timeout) * 1000))
        if self._wakeup_in.fileno() in ready:
            self._wakeup_in.recv(CHUNK_BYTES)
        return self._read() if self._socket.fileno() in ready else []

    def _read(self) -> list[Frame] | None:
        frames: list[Frame] = []
        taken = 0
        while taken < MOST_BYTES:
            try:
                data = self._socket.recv(CHUNK_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                return frames or None
            taken += len(data)
            frames += self._frames.feed(data)
            if len(data) < CHUNK_BYTES:
                break
        return frames

    def send(self, *frames: tuple[Head, bytes]) -> None:
        """Send frames; waits until the other end takes them. What it does not take because it is gone is lost."""
        with contextlib.suppress(OSError):
            self._socket.sendall(b"".join([to_frame(head, body) for head, body in frames]))
