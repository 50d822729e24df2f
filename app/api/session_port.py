"""What the routes of sessions need of the use cases behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from app.domain.checkpoint import CheckpointRecord
from app.domain.frames import Step
from app.domain.session import SessionRecord, SessionState
from app.service.idempotency import Keep
from app.service.session_workforce import SessionStatus
from app.store.pages import Page, PageRequest


class SessionView(Protocol):
    """A session at one moment. `session.request` holds every option, and `parameters`: their names, shapes, dtypes."""

    @property
    def session(self) -> SessionRecord:
        """What is known of it for good."""
        ...

    @property
    def status(self) -> SessionStatus:
        """How its process is doing."""
        ...


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of a step.

    Attributes:
        status: 200, 201 for a checkpoint that was saved, 202 if the step was accepted and is still to be carried out.
        seq: the place that it took, None if it only read.
        media: the type of the body.
        body: the answer as the client gets it, or the path of a file that holds it, which whoever sends it deletes;
            empty if there is a `checkpoint`.
        checkpoint: what was saved.
        replayed: whether the step was carried out before, and this is what came of it then.
    """

    status: int
    seq: int | None
    media: str = "application/json"
    body: bytes | Path = b""
    checkpoint: CheckpointRecord | None = None
    replayed: bool = False


class Sessions(Protocol):
    """The use cases of sessions; the coroutines belong to the server's event loop."""

    def create(self, request: Mapping[str, Any], keep: Keep[Any]) -> SessionView:
        """Check a session in full and store it."""
        ...

    def get(self, session_id: str) -> SessionView:
        """Return a session."""
        ...

    def list(
        self, page: PageRequest, state: SessionState | None = None, label: tuple[str, str] | None = None
    ) -> Page[Any]:
        """Return a page of sessions."""
        ...

    async def wake(self, session_id: str) -> SessionView:
        """Start a process unless there is one, and return the session once that has told where it is."""
        ...

    async def pause(self, session_id: str) -> SessionView:
        """Have its process write a snapshot and go."""
        ...

    async def resume(self, session_id: str) -> SessionView:
        """Let steps be taken again."""
        ...

    async def close(self, session_id: str) -> object:
        """End it for good."""
        ...

    async def carry_out(self, session_id: str, step: Step, body: bytes) -> Carried:
        """Have a step carried out."""
        ...

    async def operation(self, session_id: str, seq: int, wait: float) -> Carried:
        """Return what came of a step that was accepted, after `wait` seconds at most."""
        ...
