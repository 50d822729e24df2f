"""What the use cases of sessions need of their processes, whoever runs them."""

from dataclasses import dataclass
from typing import Protocol

from app.domain.frames import Accepted, Answered, Step
from app.domain.session import SessionRecord


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """The process of a session, and where the session is, as far as it has told since this server began.

    `process` is "starting", "ready" or "stopping", None if there is none now; the next step starts one.
    """

    process: str | None
    pid: int | None
    next_seq: int | None
    step: int | None


NO_PROCESS = SessionStatus(None, None, None, None)
"""Of a session whose process has not been heard of since this server began."""


class SessionWorkforce(Protocol):
    """The processes of sessions. Its coroutines belong to the server's event loop."""

    async def carry_out(self, session: SessionRecord, step: Step, body: bytes) -> tuple[Answered | Accepted, bytes]:
        """Have a step carried out, by a process that is started if there is none; return what came of it.

        `Accepted` only if the step asks for it. SessionsFull if more wait than may, or no process is to be had;
        Draining if the server is stopping; StepRefused once the session has ended.
        """
        ...

    async def wake(self, session: SessionRecord) -> None:
        """Start a process if there is none; returns when it is ready. Raises as `carry_out` does."""
        ...

    async def attach(self, session_id: str, dataset_id: str) -> None:
        """Tell the process, if there is one, of a dataset that steps may take rows of from now on."""
        ...

    async def rest(self, session_id: str) -> None:
        """Have the process write a snapshot and go; returns when it is gone. The next step starts another one."""
        ...

    async def end(self, session_id: str) -> None:
        """Kill the process; returns when it is gone. What waits for it is refused."""
        ...

    def status(self, session_id: str) -> SessionStatus:
        """Say what is known; from any thread."""
        ...
