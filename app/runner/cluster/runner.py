"""Fits and sessions on the nodes of a Ray cluster; computations in processes of the server's machine."""

import logging
import socket
import threading
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from app.domain.clock import Clock
from app.domain.errors import RayUnusable
from app.domain.fit import Attempt
from app.domain.messages import AnyAssignment, Assignment, Control, SessionAssignment, decode, encode
from app.domain.runtime import Runtime
from app.runner.cluster.bridge_process import CONNECT_SECONDS, BridgeProcess
from app.runner.cluster.protocol import (
    Acknowledge,
    Adopt,
    Adopted,
    Connect,
    Connected,
    Ended,
    Event,
    Found,
    Gone,
    Kill,
    Order,
    Refused,
    Release,
    Reported,
    Send,
    Start,
    StartReplicas,
    StartSession,
)
from app.runner.local import LocalRunner
from app.runner.port import Exited, Handle, Report
from app.system.log import LogFormat

BACKOFF_SECONDS = (1.0, 5.0, 25.0)
"""Delay before the bridge is started again, by the number of its ends in a row."""

KILL_SECONDS = 15.0
"""After this time an attempt that was killed counts as gone, even if the bridge has not reported it."""

LOST = "the connection to Ray was lost"

_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Remote:
    """An attempt on a node: the folder for its files, the last report passed on, and the last one that is stored.

    One at a session ends with its bridge, and is forgotten once its end was reported.
    """

    handle: Handle
    staging: str
    is_session: bool = False
    received: int = 0
    stored: int = 0
    kill_by: float | None = None
    waiting: deque[Report | Exited] = field(default_factory=deque)

    @property
    def is_adoptable(self) -> bool:
        """Whether another bridge can go on with it: with those at fits that are not being killed."""
        return not self.is_session and self.kill_by is None


class RayRunner:
    """A runner (see `port.Runner`) over a bridge process, which is started again if it ends."""

    is_remote = True

    def __init__(self, clock: Clock, local: LocalRunner, terms: Connect, log_format: LogFormat, staging: str) -> None:
        """Connect to nothing before `open`; `local` runs what are no fits. Files come to `staging`, by token."""
        self._clock = clock
        self._local = local
        self._terms = terms
        self._log_format = log_format
        self._staging = staging
        self._bridge: BridgeProcess | None = None
        self._fault: str | None = "the connection to Ray has not been made yet"
        self._restart_at: float | None = None
        self._ends = 0
        self._attempts: dict[str, _Remote] = {}
        self._ending: set[str] = set()
        """The tokens of actors that the bridge is to end: if it ends before that itself, the next one ends them."""

        self._inbox: deque[Event | None] = deque()
        self._arrived = threading.Event()

    @property
    def unavailable_reason(self) -> str | None:
        """Return why no process can be started now, None if one can; from any thread."""
        return self._fault or self._local.unavailable_reason

    def open(self) -> None:
        """Connect to the cluster; RayUnusable if that is of no use."""
        self._local.open()
        if self._bridge is None and self._restart_at is None:
            self._start_bridge()
            event = self._await_event((Connected, Refused))
            if not isinstance(event, Connected):
                self.close()
                raise RayUnusable(
                    event.detail if isinstance(event, Refused) else "the connection to Ray ended; the log says why"
                )
            self._fault = None

    def adopt(self, attempts: Sequence[Attempt]) -> frozenset[str]:
        """Find the actors of attempts at fits, and kill those of others.

        Reports that are not stored are received again. RayUnusable if there is no connection: nothing has changed
        then, and another one is made.
        """
        self.open()
        if self._fault is not None:
            raise RayUnusable(self._fault)
        self._attempts = {token: remote for token, remote in self._attempts.items() if not remote.is_adoptable}
        for attempt in attempts:
            if attempt.token not in self._attempts:  # those at variants come with that at their sweep
                handle = Handle(attempt.fit_id, attempt.number, attempt.token)
                staging = f"{self._staging}/{attempt.token}"
                self._attempts[attempt.token] = _Remote(
                    handle, staging, received=attempt.received, stored=attempt.received
                )
        return self._adopt_known(are_all=True)

    def start(self, assignment: AnyAssignment, frames: socket.socket | None = None) -> Handle:
        """Have an actor made for a fit or a session; fork a process for computations."""
        if isinstance(assignment, SessionAssignment):
            assert frames is not None  # sessions have one
            return self._start_session(assignment, frames)
        if not isinstance(assignment, Assignment):
            return self._local.start(assignment, frames)
        handle = Handle(assignment.owner_id, assignment.attempt, assignment.token)
        self._attempts[assignment.token] = _Remote(handle, assignment.staging)
        self._send(order_of(assignment))
        return handle

    def _start_session(self, assignment: SessionAssignment, frames: socket.socket) -> Handle:
        handle = Handle(assignment.owner_id, assignment.attempt, assignment.token)
        remote = self._attempts[assignment.token] = _Remote(handle, assignment.folder, is_session=True)
        if self._bridge is None or self._fault is not None:
            remote.waiting.append(Exited(handle, "node_lost", self._fault or "the connection to Ray was lost"))
            return handle
        self._bridge.start_session(
            StartSession(
                assignment.token,
                encode(assignment).decode(),
                assignment.folder,
                Runtime.from_json(assignment.runtime).threads,
                assignment.reserved_bytes,
                assignment.session_id,
                assignment.attempt,
            ),
            frames,
        )
        return handle

    def stop(self, handle: Handle, kind: Literal["cancel", "drain"], grace: float) -> None:
        """Request a stop; the process is killed after `grace` seconds."""
        if handle.token in self._attempts:
            self._send(Send(handle.token, encode(Control(kind)).decode(), grace))
        else:
            self._local.stop(handle, kind, grace)

    def send(self, handle: Handle, message: Control) -> None:
        """Pass a message on."""
        if handle.token in self._attempts:
            self._send(Send(handle.token, encode(message).decode()))
        else:
            self._local.send(handle, message)

    def kill(self, handle: Handle) -> None:
        """Kill the process; if its node is not reached, its exit is reported nevertheless."""
        remote = self._attempts.get(handle.token)
        if remote is None:
            self._local.kill(handle)
        elif remote.kill_by is None:
            remote.kill_by = self._clock.monotonic() + KILL_SECONDS
            self._ending.add(handle.token)
            self._send(Kill(handle.token))

    def acknowledge(self, handle: Handle, number: int | None) -> None:
        """Have the actor forget reports, or end."""
        remote = self._attempts.get(handle.token)
        if remote is not None:
            self._send(Acknowledge(handle.token, number))
            remote.stored = number or remote.stored
            if number is None:
                del self._attempts[handle.token]
                self._ending.add(handle.token)

    def release(self, handle: Handle) -> None:
        """Follow the attempt no longer; its actor goes on."""
        if self._attempts.pop(handle.token, None) is not None:
            self._send(Release(handle.token))

    def known(self) -> tuple[Handle, ...]:
        """Return the attempts whose end was not reported yet."""
        return (*(remote.handle for remote in self._attempts.values()), *self._local.known())

    def receive(self, timeout: float | None, hold: Collection[Handle] = ()) -> list[Report | Exited]:
        """Wait for reports (see `port.Runner`)."""
        self._check_bridge()
        self._sort_events()
        received = [*self._take(hold)]
        received += self._local.receive(0.0 if received else self._timeout(timeout), hold)
        self._sort_events()
        return [*received, *self._take(hold)]

    def wake(self) -> None:
        """End a `receive` that waits."""
        self._local.wake()

    def close(self) -> None:
        """End the bridge and what runs on this machine; attempts at fits go on."""
        self._attempts.clear()
        if self._bridge is not None:
            self._bridge.close()
            self._bridge = None
        self._local.close()

    def _send(self, order: Order) -> None:
        if self._bridge is not None:
            self._bridge.send(order)

    def _start_bridge(self) -> None:
        self._inbox.clear()
        self._arrived.clear()
        self._bridge = BridgeProcess(self._terms, self._log_format, self._take_event)

    def _take_event(self, event: Event | None) -> None:
        """Note an event; called in the thread of the bridge."""
        self._inbox.append(event)
        self._arrived.set()
        self._local.wake()

    def _await_event(self, kinds: tuple[type, ...]) -> Event | None:
        """Wait for an event of one of these kinds, and return it; None where the bridge ends. All others are kept."""
        end = self._clock.monotonic() + CONNECT_SECONDS
        while True:
            self._arrived.clear()
            for event in [*self._inbox]:
                if event is None:
                    return None
                if isinstance(event, kinds):
                    self._inbox.remove(event)
                    return event
            if not self._arrived.wait(end - self._clock.monotonic()):
                self._inbox.append(None)  # a bridge that does not answer is ended as well

    def _adopt_known(self, *, are_all: bool) -> frozenset[str]:
        """Have the bridge go on with the attempts that are known; forget those without an actor.

        RayUnusable if the bridge exits before it answers: the actors may be running, so no attempt is dropped.
        """
        fits = [remote for remote in self._attempts.values() if remote.is_adoptable]
        adopted = [Adopted(remote.handle.token, remote.stored, remote.staging) for remote in fits]
        self._send(Adopt([asdict(each) for each in adopted], are_all, sorted(self._ending)))
        found = self._await_event((Found,))
        if not isinstance(found, Found):
            raise RayUnusable(LOST)
        # A new bridge has looked for all of them: what it has not found has ended.
        self._ending = {*found.ending, *(self._ending if are_all else ())}
        tokens = frozenset(found.tokens)
        self._attempts = {
            token: remote for token, remote in self._attempts.items() if token in tokens or not remote.is_adoptable
        }
        return tokens

    def _check_bridge(self) -> None:
        """Start the bridge again if it has ended, and go on with the attempts."""
        if self._bridge is not None or self._restart_at is None or self._clock.monotonic() < self._restart_at:
            return
        self._restart_at = None
        self._start_bridge()

    def _sort_events(self) -> None:
        while self._inbox:
            event = self._inbox.popleft()
            match event:
                case None:
                    self._note_end()
                case Connected():
                    self._go_on()
                case Refused(detail):
                    self._fault = detail
                case Reported(token, number, message) if token in self._attempts:
                    remote = self._attempts[token]
                    # What an earlier follower of the attempt has sent may come late: it leaves a gap.
                    if number == 0 or number == remote.received + 1:
                        remote.received += number > 0
                        remote.waiting.append(Report(remote.handle, decode(message.encode()), number))
                case Ended(token, reason, detail, asked, with_server) if token in self._attempts:
                    remote = self._attempts[token]
                    remote.waiting.append(Exited(remote.handle, reason, detail, asked, with_server))
                case Gone(token):
                    self._ending.discard(token)
                case _:
                    pass  # of an attempt that is not known any more
        self._end_overdue()

    def _note_end(self) -> None:
        """The bridge has ended: start another one soon."""
        if self._bridge is None:
            return
        self._bridge.close()
        self._bridge = None
        self._fault = self._fault or LOST
        _logger.error("the bridge to Ray has ended: %s; fits go on, and it is started again", self._fault)
        for remote in self._attempts.values():
            if remote.is_session:
                remote.waiting.append(Exited(remote.handle, "node_lost", f"its node is not reached: {self._fault}"))
        delay = BACKOFF_SECONDS[min(self._ends, len(BACKOFF_SECONDS) - 1)]
        self._ends += 1
        self._restart_at = self._clock.monotonic() + delay

    def _go_on(self) -> None:
        """A new bridge is connected: attempts that have no actor any more were lost with the cluster."""
        before = {token: remote for token, remote in self._attempts.items() if not remote.is_session}
        try:
            found = self._adopt_known(are_all=False)
        except RayUnusable:
            return  # its end comes next
        self._fault, self._ends = None, 0
        for token, remote in before.items():
            if token not in found:
                self._attempts[token] = remote
                detail = "the actor of the attempt is gone; the fit resumes from its last checkpoint"
                remote.waiting.append(Exited(remote.handle, "node_lost", detail))

    def _end_overdue(self) -> None:
        now = self._clock.monotonic()
        for remote in self._attempts.values():
            if remote.kill_by is not None and now >= remote.kill_by:
                remote.kill_by = None
                detail = "the attempt was killed, which Ray has not confirmed"
                remote.waiting.append(Exited(remote.handle, "node_lost", detail, asked=True))

    def _take(self, hold: Collection[Handle]) -> Iterator[Report | Exited]:
        for remote in [*self._attempts.values()]:
            while remote.waiting and remote.handle not in hold:
                report = remote.waiting.popleft()
                yield report
                if isinstance(report, Exited):
                    remote.kill_by = None
                    if remote.is_session:
                        self.acknowledge(remote.handle, None)
                        break

    def _timeout(self, timeout: float | None) -> float | None:
        moments = [remote.kill_by for remote in self._attempts.values() if remote.kill_by is not None]
        moments += [] if self._restart_at is None else [self._restart_at]
        if not moments:
            return timeout
        left = max(0.0, min(moments) - self._clock.monotonic())
        return left if timeout is None else min(left, timeout)


def order_of(assignment: Assignment) -> Start:
    """Return the order to run an attempt; replicas on one node share its memory, and are one actor."""
    text, staging, replicas = encode(assignment).decode(), assignment.staging, assignment.replicas
    threads, memory = Runtime.from_json(assignment.runtime).threads, assignment.memory_bytes
    if assignment.placement == "node":
        total = None if memory is None else memory * replicas
        return Start(assignment.token, text, staging, threads * replicas, total)
    strategy: Literal["PACK", "SPREAD"] = "PACK" if assignment.placement == "pack" else "SPREAD"
    return StartReplicas(assignment.token, text, staging, threads, memory, replicas, strategy)
