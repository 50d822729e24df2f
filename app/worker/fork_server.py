"""The process that workers are forked from: it has NumPy and the engine loaded, so a worker is up in milliseconds.

The runner starts it as `python -m app.worker.fork_server FORMAT`, with the format of its log, a socket as its standard
input, and the environment as workers need it. It ends when the other end of that socket does, however the server ended,
and they exit with it. An error that ends it is logged and sent to the runner, which reports it for the fits that fail
because of it.

`multiprocessing`'s fork server would load the server's main module into every worker, needs the environment of the
whole server changed while it starts, and leaves a folder and a second helper process behind when the server is killed.
"""

import contextlib
import logging
import os
import signal
import socket
import sys
from typing import cast

from app.domain.frames import DYING, ORDER
from app.system.imports import importing
from app.system.log import LogFormat, configure_log
from app.worker.process_group import EXIT_FAULT, become_subreaper

REASON_CHARACTERS = 1000

_logger = logging.getLogger(__name__)


def main(log_format: str = "auto") -> None:
    """Serve the runner at the other end of standard input, and log in this format."""
    # A service manager sends SIGTERM to every process; the server decides when to stop.
    for unwanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(unwanted, signal.SIG_IGN)
    become_subreaper()
    configure_log("warning", cast(LogFormat, log_format))
    orders = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        # Imported here, so that a library that does not load is reported as any other error is.
        with importing():
            from app.worker.forking import ForkServer

        ForkServer(orders).serve()
    except BaseException as error:
        _logger.critical("error in the fork server; it exits", exc_info=True)
        _report(error, orders)
        os._exit(EXIT_FAULT)


def _report(error: BaseException, orders: socket.socket) -> None:
    """Send the last line of the traceback to the runner, if it is still there."""
    reason = f"{type(error).__name__}: {error}"[:REASON_CHARACTERS].encode(errors="replace")
    with contextlib.suppress(OSError):
        orders.sendall(ORDER.pack(DYING, len(reason)) + reason)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)
