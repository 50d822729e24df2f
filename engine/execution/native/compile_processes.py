"""Processes that compile kernels beside one that waits for them, and keep the code on disk for it.

`python -m engine.execution.native.compile_processes` is one of them: it reads the names of codes from standard input,
a line each ("relu_float32"), and answers each with a line when the code is on disk. It ends when the input does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread

from engine.execution.native.codes import Code, find_codes

KERNELS_PER_PROCESS = 4
"""For fewer, the second that a process takes to start is not worth it."""


def compile_codes(codes: Sequence[Code], processes: int) -> Iterator[None]:
    """Compile kernels, here and in up to `processes` other processes, and load them; yield after each.

    What another process was given and did not compile is compiled here, so that its error is raised.
    """
    waiting, ready = deque(codes), SimpleQueue[Code]()
    with _compiling(waiting, ready, min(processes, len(codes) // KERNELS_PER_PROCESS)):
        for _ in codes:
            if ready.empty() and (own := _take(waiting)):
                kernel, dtype = own
            else:
                kernel, dtype = ready.get()
            kernel.address(dtype)
            yield


@contextmanager
def _compiling(waiting: deque[Code], ready: SimpleQueue[Code], processes: int) -> Iterator[None]:
    """Have codes that wait compiled by other processes within the block."""
    with suppress(RuntimeError):  # no more threads can be started: those that there are will do
        for _ in range(processes if sys.executable else 0):
            Thread(target=_delegate, args=(waiting, ready), daemon=True, name="compile").start()
    try:
        yield
    finally:
        waiting.clear()


def _delegate(waiting: deque[Code], ready: SimpleQueue[Code]) -> None:
    """Give codes that wait to a process, one after another, until it fails or none waits; each is ready then."""
    # A process that cannot be started, or does not read what it was sent last, is one that fails.
    with suppress(OSError), _start() as process:
        is_there = True
        while is_there and (code := _take(waiting)):
            kernel, dtype = code
            try:
                is_there = _ask(process, f"{kernel.name}_{dtype.name}")
            finally:
                ready.put(code)


def _start() -> subprocess.Popen[str]:
    """Start a process that imports what this one does."""
    return subprocess.Popen(  # noqa: S603 - the command is fixed
        [sys.executable, "-P", "-m", __name__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _ask(process: subprocess.Popen[str], name: str) -> bool:
    """Have a code compiled; return whether the process is still there."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        return bool(process.stdout.readline())
    except OSError:
        return False


def _take(waiting: deque[Code]) -> Code | None:
    """Take the next code, None if all are taken."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _serve() -> None:
    """Compile the codes that are named on standard input; those that this process does not know are passed over."""
    for line in sys.stdin:
        for kernel, dtype in find_codes([line.strip()]):
            kernel.address(dtype)
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
