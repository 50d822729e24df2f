"""The processes of a data-parallel fit: rank 0, which talks to the server, and the ranks that it forks.

They end together. Rank 0 ends in the way that the first lost rank did, so that the server knows what has happened and
starts the fit again; the others end when they miss rank 0, at once where the kernel sees to it.
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
"""How long it may take from the loss of a rank's pipe, seen at once, to the end of its process."""

POLL_SECONDS = 0.005

_logger = logging.getLogger(__name__)


class RankProcesses:
    """The other ranks' processes, as rank 0 has them, and its own end of the collective."""

    def __init__(self, collective: engine.Collective, pids: Iterable[int]) -> None:
        """Look after the child processes `pids`."""
        self.collective = collective
        self._pids = set(pids)
        # The control's thread looks after them too, and a pid that was waited for is another process's.
        self._lock = threading.Lock()

    def check(self) -> None:
        """End this process if a rank's has failed; to be called now and then, since a step may take long."""
        with self._lock:
            for pid in [*self._pids]:
                reaped, status = os.waitpid(pid, os.WNOHANG)
                if reaped:
                    self._pids.remove(pid)
                    # One that has done its part, or has told the others why it could not, ends well.
                    if status:
                        _exit_like(os.waitstatus_to_exitcode(status))

    def exit_with_peer(self) -> NoReturn:
        """End this process, since the collective has lost a rank."""
        patience = time.monotonic() + EXIT_WAIT_SECONDS
        while time.monotonic() < patience:
            self.check()
            time.sleep(POLL_SECONDS)
        _logger.error("a rank has left the others, but its process has not ended; the fit cannot go on")
        os._exit(EXIT_FAULT)

    def end(self) -> None:
        """Kill and bury the other ranks: they hold nothing that is not here too."""
        self.collective.close()
        with self._lock:
            for pid in self._pids:
                os.kill(pid, signal.SIGKILL)
            for pid in self._pids:
                os.waitpid(pid, 0)
            self._pids.clear()


def fork_ranks(size: int, channel: socket.socket, follow: Callable[[engine.Collective], None]) -> RankProcesses:
    """Make this process rank 0 of `size`: fork the others, which call `follow` and end. There must be no thread yet.

    `channel` leads to the server and is this process's alone: the others close it, else the server would not notice
    its end. Limits, niceness and ignored signals pass to them. OSError: the system has no room for so many.
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
    rank: int, rendezvous: engine.Rendezvous, parent: int, follow: Callable[[engine.Collective], None]
) -> NoReturn:
    status = EXIT_FAULT
    try:
        if exit_with_parent(parent):
            follow(rendezvous.join(rank))
            status = EXIT_OK
        else:
            status = EXIT_SERVER_GONE
    except engine.CollectiveError:
        # Rank 0 has met with the same, or is gone; what comes of it is for rank 0 to say.
        status = EXIT_OK
    except BaseException:
        _logger.exception("rank %s broke down", rank)
    finally:
        os._exit(status)


def _exit_like(status: int) -> NoReturn:
    """End this process by the signal, or with the exit code, that another ended with."""
    _logger.error("a rank ended with %s; so do the others", status)
    if status < 0:
        signal.raise_signal(-status)
    os._exit(status if status > 0 else EXIT_FAULT)
