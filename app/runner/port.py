"""What a runner promises: a process for each attempt, what it says, and how it ended."""

import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.domain.messages import AnyAssignment, Control, Message

ExitReason = Literal["finished", "killed", "out_of_memory", "blas_abort", "error", "stalled", "fork_server"]


@dataclass(frozen=True, slots=True)
class Handle:
    """An attempt at the fit or session `owner_id` that was given to a runner."""

    owner_id: str
    attempt: int
    token: str


@dataclass(frozen=True, slots=True)
class Report:
    """A message from an attempt's process."""

    handle: Handle
    message: Message


@dataclass(frozen=True, slots=True)
class Exited:
    """The end of an attempt's process; nothing follows it. `detail` tells a person more than `reason`.

    `asked` tells whether the runner was told to kill it, `with_server` whether the process that it was forked from has
    ended.
    """

    handle: Handle
    reason: ExitReason
    detail: str
    asked: bool = False
    with_server: bool = False


class Runner(Protocol):
    """Runs attempts, each in a process of its own.

    One thread uses it; other threads may only call `wake` and `unavailable_reason`.
    """

    @property
    def unavailable_reason(self) -> str | None:
        """Why no process can be started at present, None if one can."""
        ...

    def open(self) -> None:
        """Get ready, so that the first start is as quick as the others."""
        ...

    def start(self, assignment: AnyAssignment, frames: socket.socket | None = None) -> Handle:
        """Start a process for the assignment. Does not wait: if it cannot be started, it is reported as exited.

        `frames` is the socket from which the process of a session reads its steps; the caller closes its own copy.
        """
        ...

    def stop(self, handle: Handle, kind: Literal["cancel", "drain"], grace: float) -> None:
        """Ask the process to write a checkpoint and end; kill it if it lives on after `grace` seconds."""
        ...

    def send(self, handle: Handle, message: Control) -> None:
        """Say something to the process that does not end it."""
        ...

    def kill(self, handle: Handle) -> None:
        """End the process now. It is reported as exited once it is gone."""
        ...

    def known(self) -> tuple[Handle, ...]:
        """Return the attempts whose end was not reported yet."""
        ...

    def receive(self, timeout: float | None, hold: Collection[Handle] = ()) -> Sequence[Report | Exited]:
        """Wait for news at most `timeout` seconds (None: as long as the runner likes), or until `wake` is called.

        What attempts in `hold` have to say is left where it is; a process that goes on talking comes to a halt.
        """
        ...

    def wake(self) -> None:
        """End a `receive` that waits, or the next one at once. Any thread may call it."""
        ...

    def close(self) -> None:
        """Kill every process and wait until it is gone."""
        ...
