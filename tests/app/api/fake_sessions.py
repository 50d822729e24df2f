"""Sessions without processes: what a route hands on is kept to be looked at, and answered as a test says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.domain.errors import NotFound
from app.domain.frames import Step
from app.domain.session import SessionRecord, SessionState
from app.service.sessions.state import SessionStatus
from app.service.sessions.steps import StepResult
from app.store.lists import Filters
from app.store.pages import Page, PageRequest

SESSION = "sess_01m7xpv32a4ykd0nsmnkebvv3p"
JSON = "application/json"
THEN = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
REQUEST = {
    "optimizer": {"kind": "adam", "lr": 0.01},
    "seed": 7,
    "precision": "float32",
    "dataset": None,
    "parameters": [{"name": "w", "shape": [2], "dtype": "float32"}],
}
RECORD = SessionRecord(
    id=SESSION,
    kind="training",
    state=SessionState.ACTIVE,
    graph_id="graph_01m7xpv32a4ykd0nsmnkebvv3p",
    request=REQUEST,
    labels={"team": "a"},
    attempt=1,
    ttl_seconds=60.0,
    created_at=THEN,
    used_at=THEN,
)
STATUS = SessionStatus(process="ready", pid=1, next_seq=3, step=1)


@dataclass(frozen=True)
class View:
    """A session that stands still."""

    session: SessionRecord = RECORD
    status: SessionStatus = STATUS


@dataclass
class FakeSessions:
    """The use cases, of one session."""

    answer: StepResult | Exception = field(default_factory=lambda: StepResult(200, 1, JSON, b'{"seq":1}'))
    steps: list[tuple[Step, bytes]] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def anew(self) -> "FakeSessions":
        """Forget what has happened, and return itself."""
        fresh = FakeSessions()
        self.answer, self.steps, self.calls = fresh.answer, fresh.steps, fresh.calls
        return self

    def create(self, request: Mapping[str, Any], keep: Any) -> View:
        """Take down what is wanted."""
        self.calls.append(("create", request))
        return View()

    def get(self, session_id: str) -> View:
        """Return the one there is."""
        self._known(session_id)
        return View()

    def list(self, page: PageRequest, filters: Filters) -> Page[Any]:
        """Return the one there is."""
        self.calls.append(("list", (page, filters)))
        return Page((View(),), None)

    async def wake(self, session_id: str) -> View:
        """Take it down."""
        return self._called("wake", session_id)

    async def pause(self, session_id: str) -> View:
        """Take it down."""
        return self._called("pause", session_id)

    async def resume(self, session_id: str) -> View:
        """Take it down."""
        return self._called("resume", session_id)

    async def close(self, session_id: str) -> None:
        """Take it down."""
        self._called("close", session_id)

    async def execute(self, session_id: str, step: Step, body: bytes) -> StepResult:
        """Take the step down, and answer as was said."""
        self._known(session_id)
        self.steps.append((step, body))
        return self._answered()

    async def operation(self, session_id: str, seq: int, wait: float) -> StepResult:
        """Take it down, and answer as was said."""
        self._called("operation", (seq, wait), session_id)
        return self._answered()

    def _answered(self) -> StepResult:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def _called(self, name: str, what: Any, session_id: str | None = None) -> View:
        self._known(session_id or what)
        self.calls.append((name, what))
        return View()

    def _known(self, session_id: str) -> None:
        if session_id != SESSION:
            raise NotFound(f"there is no session {session_id}")


def answered_by_file(path: Path, content: bytes) -> StepResult:
    """Return an answer whose body is in a file."""
    path.write_bytes(content)
    return StepResult(200, None, "application/vnd.safetensors", path)
