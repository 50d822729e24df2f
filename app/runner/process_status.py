"""What the operating system reports about worker processes: how they ended, OOM kills, resident memory."""

import contextlib
import signal
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it has no types

from app.domain.replicas import EXIT_PEER_LOST
from app.runner.port import ExitReason
from app.system import control_groups
from app.system.control_groups import ROOT

COUNT = "oom_kill "


def memory_kills(root: Path = ROOT) -> int | None:
    """Return how often the kernel has killed a process for lack of memory; None if the system does not count it.

    The status of a process does not show who killed it; if the count has grown, it was the kernel. A container's own
    count is used if there is one.
    """
    counted = control_groups.memory_kills(root)
    if counted is not None:
        return counted
    try:
        lines = (root / "proc/vmstat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.removeprefix(COUNT)) for line in lines if line.startswith(COUNT)), None)


# How a shell or a container reports SIGKILL, which is what the kernel sends when memory runs out.
SIGKILL_EXIT_CODE = 128 + signal.SIGKILL
# OpenBLAS does not fail when it finds no memory: it prints a line and ends the process with this code. Our own code
# does not use it.
BLAS_ABORT = 1


def classify_exit(status: int, *, memory_ran_out: bool | None = False) -> tuple[ExitReason, str]:
    """Classify the `status` of a process: its exit code, or minus the signal that killed it.

    `memory_ran_out`: whether there was an OOM kill while it ran; None if unknown.
    """
    if status == 0:
        return "finished", "the process ended by itself"
    if status == BLAS_ABORT:
        return "blas_abort", "the linear algebra library ended the process, which it does when it finds no memory"
    if status == EXIT_PEER_LOST:
        return "node_lost", "another replica of the fit, or the connection to it, was lost"
    if status == SIGKILL_EXIT_CODE or (status == -signal.SIGKILL and memory_ran_out):
        return "out_of_memory", "the process was killed by the system, since memory had run out"
    if status == -signal.SIGKILL:
        by = "and the system does not report whether for want of memory"
        by = by if memory_ran_out is None else "and not by the system for want of memory"
        return "killed", f"the process was killed (SIGKILL), {by}"
    if status < 0:
        return "error", f"the process crashed ({_signal_name(-status)})"
    return "error", f"the process ended with exit code {status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def resident_bytes(worker: int) -> int:
    """Return the resident memory of a worker and its other ranks; pages that they share count for each."""
    try:
        return sum(map(_process_bytes, [worker, *_descendants(worker)]))
    except psutil.Error:
        return 0


def _descendants(pid: int) -> list[int]:
    """Return the processes below this one. psutil.Error if it is gone, unless the kernel lists children."""
    # psutil reads the status of each process of the machine for it. Some kernels have no such lists.
    if not Path(f"/proc/{pid}/task/{pid}/children").exists():
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    found: list[int] = []
    below = [pid]
    while below:
        below = [child for process in below for child in _children(process)]
        found += below
    return found


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none if it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # that thread has ended
                found += map(int, (thread / "children").read_text().split())
    return found


def _process_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
