"""Limits that the child sets on itself before it looks at the file."""

import ctypes
import signal
import sys

from app.ingest.limits import MIB, IngestLimits
from app.system.confinement import Confinement

_PR_SET_PDEATHSIG = 1


def confine(limits: IngestLimits, size_bytes: int) -> None:
    """Bound memory, CPU time, written files and open files of this process; it cannot raise them again.

    To be called when every module is loaded. `size_bytes` is the size of the file to read.
    """
    Confinement(
        memory_bytes=limits.memory_bytes,
        # There is room for mapping a file that was written within the limits.
        most_memory_bytes=limits.memory_bytes + limits.max_expanded_bytes,
        file_bytes=limits.max_expanded_bytes + MIB,
        cpu_seconds=limits.cpu_budget(size_bytes),
        open_files=limits.open_files,
    ).enter()


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the server dies, however it dies (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
