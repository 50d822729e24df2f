"""The fork server's loop: fork workers, kill them, and report how they end."""

import contextlib
import gc
import logging
import os
import select
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from typing import NoReturn

import engine
from app.domain.frames import FORK, FORK_SERVER, KILL, LOADING, ORDER, PING, READY
from app.domain.runtime import NATIVE
from app.worker import process
from app.worker.last_fit import begin_fit
from app.worker.process_group import EXIT_FAULT, EXIT_OK, exit_with_parent
from app.worker.standby import MAX_DESCRIPTORS, Standby, await_order, named_standby
from app.worker.warm_up import WarmUp, WorkerReporter, train_once

_logger = logging.getLogger(__name__)

FORK_FAILED = os.EX_OSERR

STANDBY_SECONDS = 0.5
"""Time without orders after which a worker is forked for the next one: the last one has made its plans by then."""


class ForkServer:
    """Forks, kills and reaps workers, each identified by a number that the runner has assigned."""

    def __init__(self, orders: socket.socket) -> None:
        """Read orders from `orders`, and report on it how workers ended."""
        self._orders = orders
        self._numbers: dict[int, int] = {}
        self._preloaded = False
        self._warm_up = WarmUp()
        self._standby: Standby | None = None
        self._standby_at: float | None = None
        self._is_outdated = False

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
                ready, _, _ = select.select(waiting, [], [], self._idle_seconds())
                if not ready and not self._warm_up.is_idle:
                    self._take_step()
                elif not ready:
                    self._fork_standby()
                if exits in ready:
                    exits.recv(4096)
                    self._reap()
                if self._warm_up.reports in ready:
                    self._receive()
                if self._orders in ready and not self._handle_order():
                    break
        self._dismiss_standby()
        for pid in self._numbers:
            os.kill(pid, signal.SIGKILL)
        # Their ranks, which die with them, are children of this process by then, or soon.
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def _idle_seconds(self) -> float | None:
        """Return how long to wait for orders before there is something else to do; None: for ever."""
        if not self._warm_up.is_idle:
            return 0
        return None if self._standby_at is None else max(self._standby_at - time.monotonic(), 0)

    def _handle_order(self) -> bool:
        order, channels, _, _ = socket.recv_fds(self._orders, ORDER.size, MAX_DESCRIPTORS)
        while order and len(order) < ORDER.size:
            order += self._orders.recv(ORDER.size - len(order))
        if not order:
            return False
        number, what = ORDER.unpack(order)
        if what == FORK:
            self._start(number, channels)
        elif what == PING:
            self._report(FORK_SERVER, READY)
        elif what == KILL:
            for pid in [pid for pid, known in self._numbers.items() if known == number]:
                os.kill(pid, signal.SIGKILL)
        return True

    def _start(self, number: int, channels: list[int]) -> None:
        """Have the worker that waits take an order, or fork one."""
        if self._preloaded:
            self._standby_at = time.monotonic() + STANDBY_SECONDS
        standby = self._take_standby()
        if standby is not None and standby.hand_over(channels):
            self._numbers[standby.pid] = number
            for end in channels:
                os.close(end)
        else:
            self._fork(number, *(socket.socket(fileno=end) for end in channels))

    def _take_standby(self) -> Standby | None:
        """Return the worker that waits, which takes an order now; None if there is none, or if it is still busy."""
        standby = self._standby
        if standby is None or not standby.is_ready:
            return None
        self._standby = None
        return standby

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

    def _receive(self) -> None:
        """Read the report of a worker. One that waits is replaced after a fit that is new to it."""
        before = self._warm_up.last_fits
        self._warm_up.receive()
        if self._warm_up.last_fits is not before:
            self._is_outdated = True
            self._standby_at = time.monotonic() + STANDBY_SECONDS

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
            # One that was forked before does not have what is loaded now.
            self._dismiss_standby()
            self._standby_at = time.monotonic() + STANDBY_SECONDS

    def _become_worker(self, channel: socket.socket, frames: socket.socket | None, parent: int) -> NoReturn:
        try:
            self._leave()
            process.run_worker(channel, frames, parent, self._reporter())
        finally:
            os._exit(EXIT_FAULT)

    def _fork_standby(self) -> None:
        """Fork a worker for the next order. If that fails, it is forked when it is needed."""
        self._standby_at = None
        if self._is_outdated:
            self._dismiss_standby()
        if self._standby is not None:
            return
        self._is_outdated = False
        parent = os.getpid()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                return
            if pid == 0:
                ours.close()
                self._become_standby(theirs, parent)
        self._standby = Standby(pid, ours)

    def _become_standby(self, orders: socket.socket, parent: int) -> NoReturn:
        try:
            self._leave()
            if not exit_with_parent(parent):
                os._exit(EXIT_OK)
            with named_standby():
                _write_to_pages(self._warm_up.last_fits)
                channels = await_order(orders)
            if not channels:
                os._exit(EXIT_OK)
            frames = channels[1] if len(channels) > 1 else None
            process.run_worker(channels[0], frames, parent, self._reporter())
        finally:
            os._exit(EXIT_FAULT)

    def _reporter(self) -> WorkerReporter:
        return WorkerReporter(self._warm_up.reporting, self._warm_up.last_fits)

    def _leave(self) -> None:
        """Give up, in a forked process, what is the fork server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Otherwise the runner would not see the end of the stream while a worker runs.
        self._orders.close()
        self._warm_up.reports.close()
        if self._standby is not None:
            self._standby.close()

    def _dismiss_standby(self) -> None:
        standby, self._standby, self._standby_at = self._standby, None, None
        if standby is not None:
            standby.dismiss()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                # An orphaned rank has no number; only this process can reap it.
                if pid in self._numbers:
                    self._report(self._numbers.pop(pid), os.waitstatus_to_exitcode(status))
                elif self._standby is not None and pid == self._standby.pid:
                    self._standby.close()
                    self._standby = None

    def _report(self, number: int, status: int) -> None:
        self._orders.sendall(ORDER.pack(number, status))


def _write_to_pages(last_fits: Sequence[bytes]) -> None:
    """Train once, and begin the last fits, so that the pages that a fit writes to are copied for this process."""
    try:
        train_once()
    except Exception:
        _logger.warning("a worker that waits cannot train; the next fit starts more slowly", exc_info=True)
    for description in last_fits:
        # Its data may be gone, and what it can do depends on that.
        with contextlib.suppress(Exception):
            begin_fit(description)


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
