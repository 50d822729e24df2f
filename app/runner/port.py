"""The runner port: a process for each attempt, its messages, and how it ended."""

import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.domain.fit import Attempt
from app.domain.messages import AnyAssignment, Control, Message

ExitReason = Literal[
    "finished", "killed", "out_of_memory", "blas_abort", "error", "stalled", "fork_server", "node_lost", "no_node",
    "not_stored",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Handle:
    """An attempt at the fit or session `owner_id` that was given to a runner."""

    owner_id: str
    attempt: int
    token: str


@dataclass(frozen=True, slots=True)
class Report:
    """A message from an attempt's process. `number` counts its messages from 1; it is 0 for those of the runner."""

    handle: Handle
    message: Message
    number: int = 0


@dataclass(frozen=True, slots=True)
class Exited:
    """The exit of an attempt's process; nothing follows it. `detail` is for people, `reason` for programs.

    `asked`: whether the runner was asked to kill it; `with_server`: whether it exited with its fork server.
    """

    handle: Handle
    reason: ExitReason
    detail: str
    asked: bool = False
    with_server: bool = False


class Runner(Protocol):
    """Runs attempts, each in a process of its own.

    One thread uses it; other threads may only call `wake` and `unavailable_reason`. Before that thread has started,
    another one may call `open` and `adopt`.
    """

    @property
    def is_remote(self) -> bool:
        """Whether fits and sessions run outside this server. Fits go on without it, and keep what it has not stored."""
        ...

    @property
    def unavailable_reason(self) -> str | None:
        """Why no process can be started at present, None if one can."""
        ...

    def open(self) -> None:
        """Prepare, so that the first start is as fast as the others."""
        ...

    def adopt(self, attempts: Sequence[Attempt]) -> frozenset[str]:
        """Resume attempts of an earlier server; return the tokens of those that may still run.

        Of these the messages after `Attempt.received` are received next.
        """
        ...

    def start(self, assignment: AnyAssignment, frames: socket.socket | None = None) -> Handle:
        """Start a process for the assignment. Does not wait: a process that cannot be started is reported as exited.

        `frames` is the socket from which the process of a session reads its steps; the caller closes its own
        copy.
        """
        ...

    def stop(self, handle: Handle, kind: Literal["cancel", "drain"], grace: float) -> None:
        """Ask the process to write a checkpoint and exit; kill it after `grace` seconds."""
        ...

    def send(self, handle: Handle, message: Control) -> None:
        """Send a message to the process that does not end it."""
        ...

    def kill(self, handle: Handle) -> None:
        """Kill the process. Its exit is reported by `receive`."""
        ...

    def acknowledge(self, handle: Handle, number: int | None) -> None:
        """The messages up to this number are stored; None: all, and the end of the attempt, which can be forgotten."""
        ...

    def release(self, handle: Handle) -> None:
        """Stop receiving messages of a remote attempt, which continues under another server."""
        ...

    def known(self) -> tuple[Handle, ...]:
        """Return the attempts whose end was not reported yet."""
        ...

    def receive(self, timeout: float | None, hold: Collection[Handle] = ()) -> Sequence[Report | Exited]:
        """Wait for reports for at most `timeout` seconds (None: no limit), or until `wake` is called.

        Attempts in `hold` are not read from: their messages stay in the socket, and a process that sends more
        blocks.
        """
        ...

    def wake(self) -> None:
        """End a `receive` that is waiting, or the next one. Any thread may call it."""
        ...

    def close(self) -> None:
        """Kill every process and wait until they have exited."""
        ...
