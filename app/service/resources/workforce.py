"""What the use cases need of the workers, whoever runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A worker process and what it works on: a fit or a session."""

    pid: int
    fit_id: str | None
    attempt: int
    state: str
    rss_bytes: int
    session_id: str | None = None


class Workforce(Protocol):
    """The workers as a use case sees them. Every method is quick, and may be called from any thread."""

    def wake(self) -> None:
        """Look at the queue: there may be a fit to claim."""
        ...

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Tell the process that works on the fit to stop; nothing happens if there is none.

        Of a sweep it may be one `variant` only that is to stop, by its fit's id.
        """
        ...

    def pause(self, fit_id: str) -> None:
        """Tell the process that works on the fit to write a checkpoint and go; nothing happens if there is none."""
        ...

    def kill(self, fit_id: str) -> None:
        """Kill the process that works on the fit, if there is one, whose attempt has ended in the database already."""
        ...

    def heed(self, fit_id: str) -> None:
        """Look at what is asked of the fit that a process works on: its limits of time may be others."""
        ...

    def trouble(self) -> str | None:
        """Say why no fit can be started at present, None if one can."""
        ...

    def workers(self) -> Sequence[WorkerStatus]:
        """Return the processes that are running now."""
        ...
