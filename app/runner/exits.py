"""What the end of a process means."""

import signal

from app.runner.port import ExitReason

# How a shell or a container reports SIGKILL, which is what the kernel sends when memory runs out.
KILLED_IN_A_SHELL = 128 + signal.SIGKILL
# OpenBLAS does not fail when it finds no memory: it prints a line and ends the process with this code. Our own code
# does not use it.
BLAS_ABORT = 1


def classify(status: int, *, memory_ran_out: bool | None = False) -> tuple[ExitReason, str]:
    """Say how a process ended that left `status`: its exit code, or minus the signal that killed it.

    `memory_ran_out` tells that the kernel has killed processes for want of memory while this one ran; None if it does
    not say.
    """
    if status == 0:
        return "finished", "the process ended by itself"
    if status == BLAS_ABORT:
        return "blas_abort", "the linear algebra library ended the process, which it does when it finds no memory"
    if status == KILLED_IN_A_SHELL or (status == -signal.SIGKILL and memory_ran_out):
        return "out_of_memory", "the process was killed by the system, since memory had run out"
    if status == -signal.SIGKILL:
        by = "and whether for want of memory the system does not tell"
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
