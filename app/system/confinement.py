"""Limits that a process sets on itself and the kernel keeps, for the reader of an upload and for workers."""

import contextlib
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a process may take; None: as much as before. Processes that it forks have the same limits, each for itself.

    Attributes:
        memory_bytes: of address space; beyond it, allocations fail with a MemoryError in the process.
        most_memory_bytes: up to which it may be widened again (see `widen`); None: up to what it was before.
        file_bytes: of one file; to write more fails with EFBIG.
        cpu_seconds: after which the kernel ends the process.
        open_files: at a time.
    """

    memory_bytes: int | None = None
    most_memory_bytes: int | None = None
    file_bytes: int | None = None
    cpu_seconds: int | None = None
    open_files: int | None = None

    def enter(self) -> None:
        """Bound this process, to be called when every module is loaded. It leaves no core dump either."""
        _bound(resource.RLIMIT_AS, self.memory_bytes, _hard(resource.RLIMIT_AS, self.most_memory_bytes))
        for kind, most in (
            (resource.RLIMIT_CPU, self.cpu_seconds),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_NOFILE, self.open_files),
            (resource.RLIMIT_CORE, 0),
        ):
            _bound(kind, most, most)


def address_space_bytes() -> int | None:
    """Return the address space that this process has by now; None where the system does not report it."""
    try:
        pages = STATM.read_text(encoding="ascii").split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()


def widen(size_bytes: int) -> None:
    """Allow so much more address space, for files that are mapped and take no memory of their own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        _bound(resource.RLIMIT_AS, soft + size_bytes, hard)


@contextmanager
def room_to_map(size_bytes: int) -> Iterator[None]:
    """Allow so much more address space within the block, for a read-only map of a file."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    widen(size_bytes)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _hard(kind: int, most: int | None) -> int | None:
    return resource.getrlimit(kind)[1] if most is None else most


def _bound(kind: int, soft: int | None, hard: int | None) -> None:
    """Set a limit, as far as what holds already lets it."""
    if soft is None or hard is None:
        return
    held = resource.getrlimit(kind)[1]
    hard = held if hard == resource.RLIM_INFINITY else hard if held == resource.RLIM_INFINITY else min(hard, held)
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    # Some systems have limits that cannot be set.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, hard))
