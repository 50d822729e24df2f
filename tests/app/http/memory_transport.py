"""A transport without a network: what a connection writes is kept."""

import asyncio
from typing import Any


class MemoryTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.sent += data

    def write_eof(self) -> None:
        """Go on: nothing is written afterwards."""

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """Go on: a test sends no more than it means to."""

    def resume_reading(self) -> None:
        """Go on."""
