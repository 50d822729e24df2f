"""What processes take: CPU time, and memory as they share it."""

import re
from pathlib import Path

import psutil

KIB, MB = 1024, 1e6


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU time of a process so far, of its children that have ended too."""
    return sum(process.cpu_times()[:4])


def pss(process: psutil.Process) -> float:
    """Return the megabytes of a process; a page that n processes share counts 1/n to each of them."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)
    assert found is not None
    return int(found[1]) * KIB / MB


def fork_server(server: psutil.Process) -> psutil.Process:
    """Return the process that a server forks its workers from."""
    (found,) = (child for child in server.children() if "app.worker.fork_server" in child.cmdline())
    return found
