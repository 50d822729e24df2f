"""The fork server's loop: fork workers, kill them, and report how they end."""

import contextlib
import gc
import logging
import os
import select
import signal
import socket
from collections.abc import Iterator

import engine
from app.domain.frames import FORK, FORK_SERVER, KILL, LOADING, ORDER, PING, READY
from app.domain.runtime import NATIVE
from app.worker import process
from app.worker.process_group import EXIT_FAULT
from app.worker.warm_up import KernelReporter, WarmUp

_logger = logging.getLogger(__name__)

FORK_FAILED = os.EX_OSERR

MAX_DESCRIPTORS = 2
"""Sockets that come with a fork order: the message channel, and for sessions and computations the frame channel."""


class ForkServer:
    """Forks, kills and reaps workers, each identified by a number that the runner has assigned."""

    def __init__(self, orders: socket.socket) -> None:
        """Read orders from `orders`, and report on it how workers ended."""
        self._orders = orders
        self._numbers: dict[int, int] = {}
        self._preloaded = False
        self._warm_up = WarmUp()

    def serve(self) -> None:
        """Serve until the runner is gone; then kill and reap every worker."""
        # What is loaded stays where it is: a collection in a worker would otherwise copy the pages that it shares.
        gc.collect()
        gc.freeze()
        # An order or a report that finds the connection broken means the same as its end.
        with _child_exits() as exits, contextlib.suppress(ConnectionError):
            self._report(FORK_SERVER, READY)
            while True:
                waiting = [self._orders, exits, self._warm_up.reports]
                ready, _, _ = select.select(waiting, [], [], None if self._warm_up.is_idle else 0)
                if not ready:
                    self._take_step()
                if exits in ready:
                    exits.recv(4096)
                    self._reap()
                if self._warm_up.reports in ready:
                    self._warm_up.receive()
                if self._orders in ready and not self._handle_order():
                    break
        for pid in self._numbers:
            os.kill(pid, signal.SIGKILL)
        # Their ranks, which die with them, are children of this process by then, or soon.
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def _handle_order(self) -> bool:
        order, channels, _, _ = socket.recv_fds(self._orders, ORDER.size, MAX_DESCRIPTORS)
        while order and len(order) < ORDER.size:
            order += self._orders.recv(ORDER.size - len(order))
        if not order:
            return False
        number, what = ORDER.unpack(order)
        if what == FORK:
            self._fork(number, *(socket.socket(fileno=end) for end in channels))
        elif what == PING:
            self._report(FORK_SERVER, READY)
        elif what == KILL:
            for pid in [pid for pid, known in self._numbers.items() if known == number]:
                os.kill(pid, signal.SIGKILL)
        return True

    def _fork(self, number: int, channel: socket.socket, frames: socket.socket | None = None) -> None:
        parent = os.getpid()
        with channel, frames or contextlib.nullcontext():
            try:
                pid = os.fork()
            except OSError:
                self._report(number, FORK_FAILED)
                return
            if pid == 0:
                self._become_worker(channel, frames, parent)
            self._numbers[pid] = number
        if not self._preloaded:
            # The first worker loads the compiler itself; later ones inherit it from here. A server that
            # has no work has not got it in its memory.
            self._preloaded = True
            self._preload()

    def _preload(self) -> None:
        """Load the compiler. If that fails, workers try it themselves and report why."""
        if NATIVE not in engine.executors():
            return
        self._report(FORK_SERVER, LOADING)
        if reason := engine.why_native_unusable():
            _logger.warning("fits and sessions get the NumPy executor: %s", reason)
        else:
            self._warm_up.start()
        gc.freeze()
        self._report(FORK_SERVER, READY)

    def _take_step(self) -> None:
        """Warm up by one step, which later workers inherit. If that fails, they do it themselves."""
        try:
            self._warm_up.take_step()
        except Exception:
            _logger.warning("the fork server cannot warm up; workers start more slowly", exc_info=True)
        if self._warm_up.is_idle:
            gc.freeze()

    def _become_worker(self, channel: socket.socket, frames: socket.socket | None, parent: int) -> None:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # Otherwise the runner would not see the end of the stream while a worker runs.
            self._orders.close()
            self._warm_up.reports.close()
            process.run_worker(channel, frames, parent, KernelReporter(self._warm_up.reporting))
        finally:
            os._exit(EXIT_FAULT)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                # An orphaned rank has no number; only this process can reap it.
                if pid in self._numbers:
                    self._report(self._numbers.pop(pid), os.waitstatus_to_exitcode(status))

    def _report(self, number: int, status: int) -> None:
        self._orders.sendall(ORDER.pack(number, status))


@contextlib.contextmanager
def _child_exits() -> Iterator[socket.socket]:
    """Yield a socket that becomes readable when a child process ends."""
    readable, writable = socket.socketpair()
    with readable, writable:
        writable.setblocking(False)
        signal.set_wakeup_fd(writable.fileno(), warn_on_full_buffer=False)
        # With the default handler nothing would be written.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        try:
            yield readable
        finally:
            signal.set_wakeup_fd(-1)
