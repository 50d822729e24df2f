"""How often the kernel has killed a process because memory ran out: for the container if it can tell, or the machine.

A process that was killed does not know by whom; if this has grown meanwhile, it was the kernel.
"""

from pathlib import Path

from app.system import control_groups
from app.system.control_groups import ROOT

COUNT = "oom_kill "


def memory_kills(root: Path = ROOT) -> int | None:
    """Return the count so far; None where the system does not tell."""
    counted = control_groups.memory_kills(root)
    if counted is not None:
        return counted
    try:
        lines = (root / "proc/vmstat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.removeprefix(COUNT)) for line in lines if line.startswith(COUNT)), None)
