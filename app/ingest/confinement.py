"""Limits that the child sets on itself before it looks at the file."""

import ctypes
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from app.ingest.limits import MIB, IngestLimits

_PR_SET_PDEATHSIG = 1


def confine(limits: IngestLimits, size_bytes: int) -> None:
    """Bound memory, CPU time, written files and open files of this process; it cannot raise them again.

    To be called when every module is loaded. `size_bytes` is the size of the file to read.
    """
    # The hard limit leaves room for mapping a file that was written within the limits (see `room_to_map`).
    memory = (limits.memory_bytes, limits.memory_bytes + limits.max_expanded_bytes)
    resource.setrlimit(resource.RLIMIT_AS, memory)
    cpu = limits.cpu_budget(size_bytes)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    written = limits.max_expanded_bytes + MIB
    resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the server dies, however it dies (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def room_to_map(size_bytes: int) -> Iterator[None]:
    """Allow `size_bytes` more address space for a read-only map of a file, which needs no memory of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = soft if soft == resource.RLIM_INFINITY else soft + size_bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
