"""The life of a worker process, from the fork to the last message."""

import contextlib
import ctypes
import logging
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from app.domain.messages import Started
from app.worker.control import Control
from app.worker.loop import work
from app.worker.recorder import Recorder

DONE = 0
BROKEN = os.EX_SOFTWARE
"""Exit code after a fault in this code itself. Not 1: with that OpenBLAS ends a process that it has no memory for."""

NICENESS = 10
OUT_OF_MEMORY_SCORE = 500
_PR_SET_PDEATHSIG = 1

_logger = logging.getLogger(__name__)


def run(channel: socket.socket, parent: int) -> NoReturn:
    """Work on the assignment that comes over `channel`, and end this process. `parent` is the fork server's pid."""
    status = BROKEN
    try:
        _settle(parent)
        _serve(channel)
        status = DONE
    except BaseException:
        _logger.exception("a worker broke down")
    finally:
        os._exit(status)


def _serve(channel: socket.socket) -> None:
    recorder = Recorder(channel)
    recorder.send(Started(os.getpid()))
    control = Control(channel, recorder.flush_overdue)
    control.start()
    recorder.send(work(control.assignment(), recorder, control))


def _settle(parent: int) -> None:
    """Be a modest process that dies with the server and leaves nothing behind."""
    for unwanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(unwanted, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    if sys.platform == "linux":
        # The socket's end tells the same; but a thread is needed to see that, and it may have to wait for the GIL.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Should memory run out, one fit is to go, not the server with all of them.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE))
    if os.getppid() != parent:
        os._exit(BROKEN)
