"""The reports of an attempt that the server has not stored yet."""

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.messages import About, CheckpointWritten, GradientWritten, Message

BYTES_MAX = 64 * 1024**2
"""Size of kept reports from which on the process is not read from: it blocks once its socket is full."""

FILES_MAX = 32
"""Likewise the number of files that were not copied yet."""

BATCH_MAX = 256
"""Reports that are handed over at a time."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A report: a message as text, how the process has exited, or `data`. `file` is one that it is about."""

    number: int
    kind: str
    text: str
    file: Path | None = None
    data: bytes = b""


def file_of(message: Message) -> Path | None:
    """Return the file that a message is about, if there is one."""
    if isinstance(message, About):
        return file_of(message.message)
    return Path(message.path) if isinstance(message, CheckpointWritten | GradientWritten) else None


@dataclass(slots=True)
class Outbox:
    """Numbers reports from 1, and keeps them until they are acknowledged. From any thread."""

    _kept: deque[Kept] = field(default_factory=deque)
    _bytes: int = 0
    _last: int = 0
    _is_alive: bool = False
    _is_closed: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def is_full(self) -> bool:
        """Whether so much is kept that nothing should be added."""
        with self._changed:
            return self._is_full()

    def _is_full(self) -> bool:
        return self._bytes > BYTES_MAX or sum(kept.file is not None for kept in self._kept) >= FILES_MAX

    def add(self, kind: str, text: str, file: Path | None = None, data: bytes = b"") -> None:
        """Keep the next report."""
        with self._changed:
            self._last += 1
            self._kept.append(Kept(self._last, kind, text, file, data))
            self._bytes += len(text) + len(data)
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Wait until something may be added, or the outbox is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or not self._is_full())

    def close(self) -> None:
        """Let nobody wait for room any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def beat(self) -> None:
        """Note that the process is alive."""
        with self._changed:
            self._is_alive = True
            self._changed.notify_all()

    def after(self, number: int, wait: float) -> tuple[bool, list[Kept]]:
        """Return whether the process has sent anything since the last call, and the first reports after a number.

        Waits for `wait` seconds if there are none.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._last > number or self._is_alive, wait)
            is_alive, self._is_alive = self._is_alive, False
            return is_alive, [kept for kept in self._kept if kept.number > number][:BATCH_MAX]

    def acknowledge(self, number: int) -> Iterator[Path]:
        """Forget the reports up to a number; yield the files that they are about."""
        while True:
            with self._changed:
                if not self._kept or self._kept[0].number > number:
                    return
                kept = self._kept.popleft()
                self._bytes -= len(kept.text) + len(kept.data)
                self._changed.notify_all()
            if kept.file is not None:
                yield kept.file
