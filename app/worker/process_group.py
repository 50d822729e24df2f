"""How workers' processes end: with which codes, and with the processes they belong to."""

import ctypes
import os
import signal
import sys

EXIT_OK = 0
EXIT_FAULT = os.EX_SOFTWARE
"""Exit code after a fault in this code itself. Not 1: with that OpenBLAS ends a process that it has no memory for."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def exit_with_parent(parent: int) -> bool:
    """Have the kernel kill this process as soon as `parent`, which forked it, ends; False if it has ended already.

    Elsewhere than on Linux a process has to notice at the socket or pipe that the two share.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def become_subreaper() -> None:
    """Have the descendants whose parent ends become children of this process, which should bury them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
