"""Bounding the memory of what is tried: what asks for more gets a MemoryError, and the machine is left alone."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def address_space() -> int:
    """Return the bytes of address space that this process has mapped."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


@contextmanager
def memory_bound(more_bytes: int) -> Iterator[None]:
    """Let this process map `more_bytes` beyond what it has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + more_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def admit_all() -> None:
    """Have computations meet the limit of their process: what they need is not asked for."""
    from app.worker.compute.memory import MemoryGrant  # tests that bound their own memory do without

    MemoryGrant.admit = lambda self, cost, request, held: None  # type: ignore[method-assign]
