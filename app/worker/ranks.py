"""The processes of a data-parallel fit: rank 0, which is connected to the server, and the ranks that it forks.

They exit together. Rank 0 exits in the same way as the first lost rank, so that the server classifies the loss and
resumes the fit; the others exit with rank 0, immediately where the kernel supports it.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import NoReturn

import engine
from app.worker.control import EXIT_SERVER_GONE
from app.worker.process_group import EXIT_FAULT, EXIT_OK, exit_with_parent

EXIT_WAIT_SECONDS = 1.0
"""The longest time from the loss of a rank's pipe, which is noticed at once, to its exit."""

POLL_SECONDS = 0.005

_logger = logging.getLogger(__name__)


class RankProcesses:
    """The processes of the other ranks, as seen by rank 0, and its own end of the collective."""

    def __init__(self, collective: engine.Collective, pids: Iterable[int]) -> None:
        self.collective = collective
        self._pids = set(pids)
        # The control thread checks them too, and a pid that was reaped may belong to another process.
        self._lock = threading.Lock()

    def check(self) -> None:
        """Exit if the process of a rank has failed; call it regularly, since a step may take long."""
        with self._lock:
            for pid in [*self._pids]:
                reaped, status = os.waitpid(pid, os.WNOHANG)
                if reaped:
                    self._pids.remove(pid)
                    # A rank that has finished, or has reported its error to the others, exits with 0.
                    if status:
                        _exit_like(os.waitstatus_to_exitcode(status))

    def exit_with_peer(self) -> NoReturn:
        """Exit like the rank that the collective has lost."""
        patience = time.monotonic() + EXIT_WAIT_SECONDS
        while time.monotonic() < patience:
            self.check()
            time.sleep(POLL_SECONDS)
        _logger.error("a rank has left the collective, but its process has not exited; the fit stops")
        os._exit(EXIT_FAULT)

    def end(self) -> None:
        """Kill and reap the other ranks; their state is a copy of this one's."""
        self.collective.close()
        with self._lock:
            for pid in self._pids:
                os.kill(pid, signal.SIGKILL)
            for pid in self._pids:
                os.waitpid(pid, 0)
            self._pids.clear()


def fork_ranks(size: int, channel: socket.socket, follow: Callable[[engine.Collective], object]) -> RankProcesses:
    """Make this process rank 0 of `size`: fork the others, which call `follow` and exit. No thread may be running.

    `channel` belongs to rank 0: the others close it, or the server would not notice when rank 0 exits. Limits,
    niceness and ignored signals are inherited. OSError if the system cannot fork that many.
    """
    if size == 1:
        return RankProcesses(engine.Alone(), ())
    rendezvous = engine.Rendezvous(size)
    parent = os.getpid()
    pids = []
    for rank in range(1, size):
        pid = os.fork()
        if pid == 0:
            channel.close()
            _serve_rank(rank, rendezvous, parent, follow)
        pids.append(pid)
    return RankProcesses(rendezvous.join(0), pids)


def _serve_rank(
    rank: int, rendezvous: engine.Rendezvous, parent: int, follow: Callable[[engine.Collective], object]
) -> NoReturn:
    status = EXIT_FAULT
    try:
        if exit_with_parent(parent):
            follow(rendezvous.join(rank))
            status = EXIT_OK
        else:
            status = EXIT_SERVER_GONE
    except engine.CollectiveError:
        # Rank 0 gets the same error, or is gone; it reports the verdict.
        status = EXIT_OK
    except BaseException:
        _logger.exception("unhandled error in rank %s", rank)
    finally:
        os._exit(status)


def _exit_like(status: int) -> NoReturn:
    """Exit by the same signal or exit code as another process."""
    _logger.error("a rank exited with %s; the others follow", status)
    if status < 0:
        signal.raise_signal(-status)
    os._exit(status if status > 0 else EXIT_FAULT)
