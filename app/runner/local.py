"""Workers as processes of this machine, forked from a server that has the engine loaded."""

import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from app.domain.clock import Clock
from app.domain.errors import BadMessage
from app.domain.fit import Attempt
from app.domain.frames import FORK, KILL, LineReader, to_line
from app.domain.messages import AnyAssignment, Control, Message, Started
from app.runner.fork_server import ForkServer, ForkServerExit
from app.runner.port import Exited, ExitReason, Handle, Report
from app.runner.process_status import SIGKILL_EXIT_CODE, classify_exit, memory_kills
from app.system.log import LogFormat

CHUNK_BYTES = 1 << 16
"""Bytes that are asked for at a time. Memory for more than 128 KiB is mapped and given back at each call."""
LEASE_SECONDS = 30.0

_COMMAND = (sys.executable, "-P", "-m", "app.worker.fork_server")

_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Worker:
    """A process of this runner. It has exited when its socket has been read to the end and `status` is known.

    `memory_kills` is the OOM kill count when it started, `killed` whether this runner killed it; `server_exit` is
    how the fork server ended, if the process ended with it; `reported` counts its messages.
    """

    handle: Handle
    assignment: AnyAssignment
    channel: socket.socket
    lines: LineReader = field(default_factory=LineReader)
    unsent: bytearray = field(default_factory=bytearray)
    read_to_end: bool = False
    status: int | None = None
    deadline: float | None = None
    memory_kills: int | None = field(default_factory=memory_kills)
    killed: bool = False
    server_exit: ForkServerExit | None = None
    reported: int = 0

    def report(self, message: Message) -> Report:
        """Return a message that was read as the next report."""
        self.reported += 1
        return Report(self.handle, message, self.reported)

    def interest(self, hold: Collection[Handle]) -> int:
        if self.read_to_end:
            return 0
        reading = 0 if self.handle in hold else selectors.EVENT_READ
        return reading | (selectors.EVENT_WRITE if self.unsent else 0)


class LocalRunner:
    """A runner (see `port.Runner`) over a fork server, which is restarted if it exits or stops responding."""

    def __init__(self, clock: Clock, lease_seconds: float = LEASE_SECONDS, log_format: LogFormat = "auto") -> None:
        """Nothing is started before `open` or the first `start`.

        A fork server that does not respond for `lease_seconds` counts as stalled, as a worker does. The fork server
        logs in `log_format`.
        """
        self._clock = clock
        self._server = ForkServer(clock, lease_seconds)
        self._log_format = log_format
        self._opened = False
        self._numbers = count(1)
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._wakeup_in, self._wakeup_out = socket.socketpair()
        for end in (self._wakeup_in, self._wakeup_out):
            end.setblocking(False)
        self._selector.register(self._wakeup_in, selectors.EVENT_READ)
        self._kills_known = 0

    is_remote = False

    @property
    def unavailable_reason(self) -> str | None:
        """Return why no process can be started now, None if one can; from any thread."""
        return self._server.unavailable_reason

    def open(self) -> None:
        """Start the fork server; it loads the engine in the background."""
        self._opened = True
        if self._server.channel is None:
            self._selector.register(self._server.open((*_COMMAND, self._log_format)), selectors.EVENT_READ)

    def adopt(self, attempts: Sequence[Attempt]) -> frozenset[str]:  # noqa: ARG002
        """Return nothing: processes of this machine have exited with their server."""
        return frozenset()

    def release(self, handle: Handle) -> None:
        """Do nothing: no process of this machine continues under another server."""

    def start(self, assignment: AnyAssignment, frames: socket.socket | None = None) -> Handle:
        """Fork a process. It gets its assignment once it has reported that it runs."""
        self.open()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        handle = Handle(assignment.owner_id, assignment.attempt, assignment.token)
        number = next(self._numbers)
        worker = self._workers[number] = _Worker(handle, assignment, ours)
        with theirs:
            try:
                descriptors = [end.fileno() for end in (theirs, frames) if end is not None]
                self._server.send_order(number, FORK, descriptors)
            except OSError:
                _logger.exception("the fork server does not accept orders")
                worker.status = os.EX_UNAVAILABLE
        return handle

    def stop(self, handle: Handle, kind: Literal["cancel", "drain"], grace: float) -> None:
        """Request a stop; kill the process after `grace` seconds."""
        for _, worker in self._workers_of(handle):
            self._send(worker, Control(kind))
            worker.deadline = self._clock.monotonic() + grace

    def send(self, handle: Handle, message: Control) -> None:
        """Send a message; it is buffered until the process has started."""
        for _, worker in self._workers_of(handle):
            self._send(worker, message)

    def acknowledge(self, handle: Handle, number: int | None) -> None:
        """Do nothing: no message is kept."""

    def kill(self, handle: Handle) -> None:
        """Kill by the fork server: only the parent can be sure that the pid still belongs to the process."""
        for number, worker in self._workers_of(handle):
            worker.deadline, worker.killed = None, True
            if worker.status is None:
                with contextlib.suppress(OSError):
                    self._server.send_order(number, KILL)

    def known(self) -> tuple[Handle, ...]:
        """Return the attempts whose end was not reported yet."""
        return tuple(worker.handle for worker in self._workers.values())

    def receive(self, timeout: float | None, hold: Collection[Handle] = ()) -> list[Report | Exited]:
        """Wait for reports (see `port.Runner`). Processes that exceed the deadline of `stop` are killed here."""
        received: list[Report | Exited] = []
        self._check_server()
        self._update_selector(hold)
        for key, events in self._selector.select(self._select_timeout(timeout)):
            if key.fileobj is self._wakeup_in:
                self._wakeup_in.recv(CHUNK_BYTES)
            elif key.fileobj is self._server.channel:
                self._read_server()
            else:
                received += self._transfer(key.data, events)
        self._kill_overdue()
        return [*received, *self._reap()]

    def wake(self) -> None:
        """End a `receive` that waits."""
        # A full socket wakes the receiver anyway; a closed one means that there is no receiver.
        with contextlib.suppress(OSError):
            self._wakeup_out.send(b"\0")

    def close(self) -> None:
        """Kill every process and wait until it is gone."""
        self._opened = False
        if (channel := self._server.channel) is not None:
            # It kills its workers and waits for them; one that has none may still be loading the engine.
            self._server.end(kill=not self._workers)
            self._selector.unregister(channel)
        for worker in self._workers.values():
            self._unregister(worker)
        self._workers.clear()
        self._selector.close()
        self._wakeup_in.close()
        self._wakeup_out.close()

    def _workers_of(self, handle: Handle) -> list[tuple[int, _Worker]]:
        return [(number, worker) for number, worker in self._workers.items() if worker.handle == handle]

    def _update_selector(self, hold: Collection[Handle]) -> None:
        watched = self._selector.get_map()
        for worker in self._workers.values():
            interest = worker.interest(hold)
            key = watched.get(worker.channel) if not worker.read_to_end else None
            if key is None and interest:
                self._selector.register(worker.channel, interest, worker)
            elif key is not None and not interest:
                self._selector.unregister(worker.channel)
            elif key is not None and key.events != interest:
                self._selector.modify(worker.channel, interest, worker)

    def _select_timeout(self, timeout: float | None) -> float | None:
        deadlines = [worker.deadline for worker in self._workers.values() if worker.deadline is not None]
        if self._opened:
            deadlines.append(self._server.check_at)
        if any(worker.status is not None and worker.read_to_end for worker in self._workers.values()):
            return 0
        if not deadlines:
            return timeout
        left = max(0.0, min(deadlines) - self._clock.monotonic())
        return left if timeout is None else min(left, timeout)

    def _transfer(self, worker: _Worker, events: int) -> list[Report | Exited]:
        if events & selectors.EVENT_WRITE:
            self._send_unsent(worker)
        if not events & selectors.EVENT_READ:
            return []
        try:
            data = worker.channel.recv(CHUNK_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self._unregister(worker)
            return []
        try:
            return [worker.report(message) for message in self._decode(worker, data)]
        except BadMessage:
            _logger.exception("%s: malformed message from worker; killing it", worker.handle.owner_id)
            self.kill(worker.handle)
            return []

    def _decode(self, worker: _Worker, data: bytes) -> list[Message]:
        messages = worker.lines.feed(data)
        if any(isinstance(message, Started) for message in messages):
            self._send(worker, worker.assignment)
        return messages

    def _send(self, worker: _Worker, message: Message) -> None:
        worker.unsent += to_line(message)
        self._send_unsent(worker)

    def _send_unsent(self, worker: _Worker) -> None:
        """Send as much as fits without blocking: a worker that does not read must not hold up the others."""
        try:
            sent = worker.channel.send(worker.unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(worker.unsent)  # the process has exited; drop the rest
        del worker.unsent[:sent]

    def _unregister(self, worker: _Worker) -> None:
        worker.read_to_end = True
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(worker.channel)
        worker.channel.close()

    def _check_server(self) -> None:
        """Keep a responsive fork server running."""
        channel = self._server.channel
        if channel is not None:
            self._handle_server_exit(channel, self._server.check_alive())
        elif self._opened and self._clock.monotonic() >= self._server.check_at:
            try:
                self.open()
            except OSError:
                _logger.exception("the fork server cannot be started")

    def _read_server(self) -> None:
        channel = self._server.channel
        assert channel is not None
        report = self._server.read()
        if isinstance(report, tuple):
            number, status = report
            if number in self._workers:
                self._workers[number].status = status
        else:
            self._handle_server_exit(channel, report)

    def _handle_server_exit(self, channel: socket.socket, end: ForkServerExit | None) -> None:
        """Mark every worker as killed if the fork server has ended: the kernel kills them with it."""
        if end is None:
            return
        _logger.error("the fork server has exited: %s; running fits will be resumed", end.detail)
        self._selector.unregister(channel)
        for worker in self._workers.values():
            if worker.status is None:
                worker.status, worker.server_exit = end.status, end
            # Where the kernel does not kill them, they exit when they read the end of the stream.
            with contextlib.suppress(OSError):
                worker.channel.shutdown(socket.SHUT_WR)

    def _kill_overdue(self) -> None:
        now = self._clock.monotonic()
        for worker in self._workers.values():
            if worker.deadline is not None and now >= worker.deadline:
                self.kill(worker.handle)

    def _reap(self) -> Iterator[Exited]:
        for number, worker in [*self._workers.items()]:
            if worker.status is not None and worker.read_to_end:
                del self._workers[number]
                memory_ran_out = not worker.killed and self._memory_ran_out(worker)
                reason, detail = _classify(worker, worker.status, memory_ran_out=memory_ran_out)
                yield Exited(worker.handle, reason, detail, worker.killed, worker.server_exit is not None)

    def _memory_ran_out(self, worker: _Worker) -> bool | None:
        """Whether there was an OOM kill since the worker started that is not attributed to another worker."""
        kills = memory_kills()
        if kills is None or worker.memory_kills is None:
            return None
        before = max(worker.memory_kills, self._kills_known)
        if kills > before and worker.status in (-signal.SIGKILL, SIGKILL_EXIT_CODE):
            self._kills_known = before + 1
        return kills > before


def _classify(worker: _Worker, status: int, *, memory_ran_out: bool | None) -> tuple[ExitReason, str]:
    """Return how a process ended: with the fork server, or for itself."""
    reason, detail = classify_exit(status, memory_ran_out=memory_ran_out)
    if (end := worker.server_exit) is None:
        return reason, detail
    reason = "fork_server" if end.error else "stalled" if end.silent else reason
    return reason, f"it ended with the process that it was forked from: {end.detail}"
