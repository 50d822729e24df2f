"""How worker processes exit: exit codes, and exiting with the process that they belong to."""

import ctypes
import os
import signal
import sys

EXIT_OK = 0
EXIT_FAULT = os.EX_SOFTWARE
"""Exit code after an error in our own code. Not 1: OpenBLAS exits with 1 when it cannot allocate memory."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def exit_with_parent(parent: int) -> bool:
    """Let the kernel kill this process when `parent`, which forked it, exits; False if it has exited already.

    Other systems than Linux do not support it: there the process notices the end of the socket that the two share.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def become_subreaper() -> None:
    """Let orphaned descendants become children of this process, which must reap them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
