"""What the server and a process that reads uploads exchange: a line for each request, and frames for the answer.

The process forks for each request, and passes on what the fork writes; so what a file does to the fork that reads it
does not outlast that file.
"""

import contextlib
import os
import select
import struct
import subprocess
import time
from collections.abc import Iterator

Process = subprocess.Popen[bytes]

KEPT_BYTES = 2000
"""How much of what a process has written about its failure is kept."""

FORK_SECONDS = 1.0
"""How long the end of a fork is waited for after that of its process, which the kernel kills it with."""

_FRAME = struct.Struct("<Ii")
"""The number of bytes that follow; and, if that is 0, the exit status of the fork, which has ended."""

_BLOCK = 1 << 16


class ChildError(Exception):
    """The child ended without a verdict; the cause of an `Invalid` with the code `unreadable`, for the server's log."""


def pass_on(output: int, fork: int, answers: int) -> None:
    """Write what `fork` writes, which is read from the pipe `output`, as frames to `answers`; and its exit status."""
    while block := os.read(output, _BLOCK):
        _write(answers, _FRAME.pack(len(block), 0) + block)
    _, status = os.waitpid(fork, 0)
    _write(answers, _FRAME.pack(0, os.waitstatus_to_exitcode(status)))


def ask_reader(process: Process, request: bytes, timeout: float) -> Iterator[bytes]:
    """Yield the lines that the fork of a process writes which serves a request, a line too.

    Raises:
        ChildError: it took more than `timeout` seconds, or ended with another status than 0. The process may be in any
            state then, and has to be ended.
    """
    assert process.stdin is not None
    try:
        _write(process.stdin.fileno(), request)
    except BrokenPipeError:
        raise _ended(process) from None
    begun, kept, frames = list[bytes](), b"", _Frames(process, time.monotonic() + timeout)
    for block in frames:
        kept = (kept + block)[-KEPT_BYTES:]
        for part in block.splitlines(keepends=True):
            begun.append(part)
            if part.endswith(b"\n"):
                yield b"".join(begun)
                begun.clear()
    if frames.status != 0:
        raise _failed(frames.status, kept)
    if begun:
        yield b"".join(begun)


def end_process(process: Process) -> None:
    """Kill a process, and return when it and its fork have ended: they write no file any more."""
    process.kill()
    with process:
        _wait_for_fork(process, time.monotonic() + FORK_SECONDS)


def _wait_for_fork(process: Process, end: float) -> None:
    """Wait until nobody has the other end of the errors of a process, which its fork keeps open."""
    assert process.stderr is not None
    descriptor, readable = process.stderr.fileno(), select.poll()
    readable.register(descriptor, select.POLLIN)
    while readable.poll(max(0.0, end - time.monotonic()) * 1000) and os.read(descriptor, _BLOCK):
        pass


class _Frames:
    """Iterates over the content of the frames of one answer, and knows the exit status afterwards."""

    def __init__(self, process: Process, end: float) -> None:
        assert process.stdout is not None
        self.status = 0
        self._process = process
        self._descriptor = process.stdout.fileno()
        self._end = end
        self._readable = select.poll()
        self._readable.register(self._descriptor, select.POLLIN)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            size, self.status = _FRAME.unpack(self._read(_FRAME.size))
            if size == 0:
                return
            yield self._read(size)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not self._readable.poll(max(0.0, self._end - time.monotonic()) * 1000):
                raise ChildError("no verdict within the time for a file of this size")
            block = os.read(self._descriptor, size - len(data))
            if not block:
                raise _ended(self._process)
            data += block
        return data


def _ended(process: Process) -> ChildError:
    """Return the error of a process that ended itself."""
    assert process.stderr is not None
    process.kill()
    status, noise = process.wait(), b""
    errors = process.stderr.fileno()
    os.set_blocking(errors, False)  # a fork of it may still be there
    with contextlib.suppress(BlockingIOError):
        noise = os.read(errors, _BLOCK)
    return _failed(status, noise)


def _failed(status: int, noise: bytes | bytearray) -> ChildError:
    return ChildError(f"exit status {status}: {noise[-KEPT_BYTES:].decode(errors='replace')}")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
