"""How much memory a fit may take on this machine."""

import os
from pathlib import Path

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
SHARE = 0.7
MARGIN = 1.25
PROCESS_BYTES = 128 * 1024**2


def memory_budget() -> int:
    """Return the bytes that fits may take: a share of what the machine, or the container, has."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = CGROUP_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        limit = "max"
    return int(SHARE * (min(total, int(limit)) if limit.isdigit() else total))


def memory_needed(estimate: dict[str, int]) -> int:
    """Return the bytes that a fit's process may take at its peak; rows are mapped from files and not counted."""
    counted = sum(size for term, size in estimate.items() if term != "data_bytes")
    return int(MARGIN * counted) + PROCESS_BYTES
