"""The worker's end of a frame channel: frames in and out, and a wakeup from other threads."""

import contextlib
import select
import socket

from app.domain.frames import Frame, FrameReader, Head, to_frame

CHUNK_BYTES = 1 << 16
"""Bytes that are asked for at a time. Memory for more than 128 KiB is mapped and given back at each call."""
MOST_BYTES = 16 << 20
"""After this many bytes the frames read so far are handled first."""


class FrameChannel:
    """One thread uses it; other threads may only call `notify`."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._frames = FrameReader()
        self._wakeup_in, self._wakeup_out = socket.socketpair()
        for side in (self._wakeup_in, self._wakeup_out):
            side.setblocking(False)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._poll.register(self._wakeup_in, select.POLLIN)

    def notify(self) -> None:
        """Wake a `receive` that is waiting, or the next one."""
        with contextlib.suppress(OSError):
            self._wakeup_out.send(b"\0")

    def receive(self, timeout: float | None) -> list[Frame] | None:
        """Wait at most `timeout` seconds (None: no limit), and return all frames that are available.

        None if the other end is closed. BadMessage if the bytes are not frames.
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
        """Send frames; blocks until the other end has read them. They are dropped if it is closed."""
        with contextlib.suppress(OSError):
            self._socket.sendall(b"".join([to_frame(head, body) for head, body in frames]))
