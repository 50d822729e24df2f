"""A runner without processes, for tests: the test plays the worker."""

import socket
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

from app.domain.fit import Attempt
from app.domain.messages import AnyAssignment, Control, Message
from app.runner.port import Exited, ExitReason, Handle, Report

from .patience import PATIENCE


class InMemoryRunner:
    """A runner (see `port.Runner`) that records its calls; `report` and `end` play the process."""

    def __init__(self) -> None:
        """Start with no attempts."""
        self.assignments: dict[Handle, Any] = {}
        """What was to be done."""
        self.frame_sockets: dict[Handle, socket.socket] = {}
        """Of sessions the process's end of the line."""
        self.stopped: dict[Handle, tuple[str, float]] = {}
        self.killed: list[Handle] = []
        self.sent: list[tuple[Handle, Control]] = []
        self.exits_on_stop = False
        """Whether a process ends when it is asked to, without a word."""
        self.ignores_kill = False
        """Whether a killed process keeps running; the test ends it."""
        self.unavailable_reason: str | None = None
        """Why no process can be started."""
        self.is_remote = False
        """Whether attempts go on without the server; those that `adopt` finds then are `running`, by their tokens."""
        self.running: frozenset[str] = frozenset()
        self.released: list[Handle] = []
        self.acknowledged: dict[Handle, int | None] = {}
        self._known: set[Handle] = set()
        self._reports: list[Report | Exited] = []
        self._changed = threading.Condition()
        self._woken = False

    def open(self) -> None:
        """Nothing to get ready."""

    def adopt(self, attempts: Sequence[Attempt]) -> frozenset[str]:
        """Return the tokens of `running`."""
        found = [attempt for attempt in attempts if attempt.token in self.running]
        with self._changed:
            self._known |= {Handle(attempt.fit_id, attempt.number, attempt.token) for attempt in found}
            self._changed.notify_all()
        return frozenset(attempt.token for attempt in found)

    def acknowledge(self, handle: Handle, number: int | None) -> None:
        """Note the number."""
        with self._changed:
            self.acknowledged[handle] = number
            self._changed.notify_all()

    def release(self, handle: Handle) -> None:
        """Note the handle, and forget its attempt."""
        with self._changed:
            self.released.append(handle)
            self._known.discard(handle)
            self._changed.notify_all()

    def start(self, assignment: AnyAssignment, frames: socket.socket | None = None) -> Handle:
        """Note the assignment."""
        handle = Handle(assignment.owner_id, assignment.attempt, assignment.token)
        with self._changed:
            self.assignments[handle] = assignment
            if frames is not None:
                self.frame_sockets[handle] = frames.dup()
            self._known.add(handle)
            self._changed.notify_all()
        return handle

    def stop(self, handle: Handle, kind: Literal["cancel", "drain"], grace: float) -> None:
        """Note how the attempt was asked to stop; the grace is up to the test."""
        with self._changed:
            self.stopped[handle] = (kind, grace)
            self._changed.notify_all()
        if self.exits_on_stop:
            self.end(handle, "finished")

    def send(self, handle: Handle, message: Control) -> None:
        """Record the message."""
        with self._changed:
            self.sent.append((handle, message))
            self._changed.notify_all()

    def kill(self, handle: Handle) -> None:
        """Report the attempt as killed, unless it is stubborn."""
        with self._changed:
            self.killed.append(handle)
            self._changed.notify_all()
        if handle in self._known and not self.ignores_kill:
            self.end(handle, "killed", "the process was killed", asked=True)

    def known(self) -> tuple[Handle, ...]:
        """Return the attempts whose end was not received yet."""
        return tuple(self._known)

    def receive(self, timeout: float | None, hold: Collection[Handle] = ()) -> list[Report | Exited]:
        """Return the reports since the last call, in order."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._woken or any(report.handle not in hold for report in self._reports), timeout
            )
            self._woken = False
            received = [report for report in self._reports if report.handle not in hold]
            self._reports = [report for report in self._reports if report.handle in hold]
            self._known -= {report.handle for report in received if isinstance(report, Exited)}
            return received

    def wake(self) -> None:
        """End a `receive` that waits."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """Forget every attempt."""
        self._known.clear()
        for frames in self.frame_sockets.values():
            frames.close()

    def report(self, handle: Handle, *messages: Message, number: int = 0) -> None:
        """Report messages of the attempt's process, numbered from `number` on unless that is 0."""
        with self._changed:
            numbers = range(number, number + len(messages)) if number else [0] * len(messages)
            self._reports += [Report(handle, *each) for each in zip(messages, numbers, strict=True)]
            self._changed.notify_all()

    def end(self, handle: Handle, reason: ExitReason, detail: str = "", *, asked: bool = False) -> None:
        """Report that the attempt's process has exited."""
        with self._changed:
            self._reports.append(Exited(handle, reason, detail, asked))
            self._changed.notify_all()

    def await_start(self, number: int = 1) -> Handle:
        """Wait until `number` attempts were started, and return the last of them."""
        self._await(lambda: len(self.assignments) >= number, f"attempt {number} was not started")
        return [*self.assignments][number - 1]

    def await_stop(self, handle: Handle) -> tuple[str, float]:
        """Wait until the attempt is asked to stop, and return how and with how much grace."""
        self._await(lambda: handle in self.stopped, f"{handle.owner_id} was not asked to stop")
        return self.stopped[handle]

    def await_kill(self, handle: Handle) -> None:
        """Wait until the attempt is killed."""
        self._await(lambda: handle in self.killed, f"{handle.owner_id} was not killed")

    def await_known(self, handle: Handle) -> None:
        """Wait until the attempt is one of this runner's."""
        self._await(lambda: handle in self._known, f"{handle.owner_id} was not adopted")

    def await_release(self, handle: Handle) -> None:
        """Wait until the attempt is left to another server."""
        self._await(lambda: handle in self.released, f"{handle.owner_id} was not released")

    def _await(self, condition: Callable[[], bool], complaint: str) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, PATIENCE):
                raise TimeoutError(complaint)
