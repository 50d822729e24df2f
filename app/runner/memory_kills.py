"""How often the kernel has killed a process because memory ran out: for the container if it can tell, or the machine.

A process that was killed does not know by whom; if this has grown meanwhile, it was the kernel.
"""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def memory_kills(root: Path = ROOT) -> int:
    """Return the count so far; 0 where the system does not tell."""
    for path in _counters(root):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        counts = [line.removeprefix("oom_kill ") for line in lines if line.startswith("oom_kill ")]
        if counts:
            return int(counts[0])
    return 0


def _counters(root: Path) -> Iterator[Path]:
    """Go through the files that may hold the count, the narrowest first."""
    yield from _own_group(root)
    yield root / "proc/vmstat"


def _own_group(root: Path) -> Iterator[Path]:
    """Name the file of this process's control group, in either version of the hierarchy."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if not controllers:
            yield root / "sys/fs/cgroup" / path.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield root / "sys/fs/cgroup/memory" / path.lstrip("/") / "memory.oom_control"
