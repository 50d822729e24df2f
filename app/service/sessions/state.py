"""The state of a session: its process, its view, its last use, and the errors of one that takes no steps."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Protocol

from app.domain.clock import Clock
from app.domain.errors import ApiError, StepRefused
from app.domain.frames import Step, StepAccepted, StepReply
from app.domain.servers import ServerStatus
from app.domain.session import OPEN, SessionRecord, SessionState
from app.service.sessions.ownership import SOLE_OWNER, SessionOwnership
from app.store.unit_of_work import Store, UnitOfWork


@dataclass(frozen=True, slots=True)
class KernelCount:
    """How many kernels of how many are compiled."""

    count: int
    total: int


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """The process of a session, and the position of the session, as last reported to this server.

    `process` is "starting", "ready" or "stopping", None if there is none; the next step starts one. `compiling` are
    the kernels that it waits for, None if there are none.
    """

    process: str | None
    pid: int | None
    next_seq: int | None
    step: int | None
    compiling: KernelCount | None = None


NO_PROCESS = SessionStatus(None, None, None, None)
"""The status of a session without reports since this server started."""


class SessionWorkerPool(Protocol):
    """The processes of sessions. Its coroutines belong to the server's event loop."""

    async def execute(self, session: SessionRecord, step: Step, body: bytes) -> tuple[StepReply | StepAccepted, bytes]:
        """Execute a step, and return the reply; a process is started if there is none.

        `StepAccepted` only if the step asks for it. SessionsFull if the queue is full or no process is available;
        Draining if the server is stopping; StepRefused once the session has ended.
        """
        ...

    async def wake(self, session: SessionRecord) -> None:
        """Start a process if there is none; returns when it is ready. Raises as `execute` does."""
        ...

    async def attach(self, session_id: str, dataset_id: str) -> None:
        """Tell the process, if there is one, of a dataset that steps may take rows of from now on."""
        ...

    async def suspend(self, session_id: str) -> None:
        """Let the process write a snapshot and exit; returns when it has exited. The next step starts another one."""
        ...

    async def end(self, session_id: str) -> None:
        """Kill the process; returns when it is gone. What waits for it is refused."""
        ...

    def status(self, session_id: str) -> SessionStatus:
        """Return the status; from any thread."""
        ...


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session at one moment. `session.request` holds every option, and `parameters`: their names, shapes, dtypes."""

    session: SessionRecord
    status: SessionStatus


REFUSED: Mapping[SessionState, str] = MappingProxyType(
    {
        SessionState.PAUSED: "session {id} is paused and takes no steps; resume it first",
        SessionState.CLOSED: "session {id} is closed; begin another one, with a checkpoint of it if it has saved one",
        SessionState.EXPIRED: "session {id} was not used for longer than its ttl_seconds and has expired; begin "
        "another one with its checkpoint{checkpoint}",
        SessionState.FAILED: "session {id} has failed ({error}); begin another one, with a checkpoint of it if it has "
        "saved one",
    }
)


def inactive_error(session: SessionRecord, next_seq: int | None = None) -> StepRefused:
    """Return the error for steps of a session that is not active; `next_seq` is its next sequence number, if known."""
    error = (session.error or {}).get("code", "")
    checkpoint = f" {session.checkpoint_id}" if session.checkpoint_id else ", if it has saved one"
    detail = REFUSED[session.state].format(id=session.id, error=error, checkpoint=checkpoint)
    known = {} if next_seq is None else {"expected_seq": next_seq}
    return StepRefused(detail, code=f"session_{session.state.value}", extensions=known)


def expiring_error(session: SessionRecord) -> StepRefused:
    """Return why a session takes no steps whose time is over, while its last checkpoint is being saved."""
    detail = f"session {session.id} was not used for longer than its ttl_seconds and is expiring; begin another one"
    return StepRefused(detail, code=f"session_{SessionState.EXPIRED.value}")


WRITTEN_EVERY = timedelta(minutes=1)

_logger = logging.getLogger(__name__)


class SessionActivity:
    """The last use of sessions, and which of them are expiring. For the event loop."""

    def __init__(self, store: Store, clock: Clock, ownership: SessionOwnership = SOLE_OWNER) -> None:
        """Leave the expiry of sessions to the servers that they belong to, by their `ownership`."""
        self._ownership = ownership
        self._store = store
        self._clock = clock
        self._used: dict[str, datetime] = {}
        self._written: dict[str, datetime] = {}
        self._expiring: set[str] = set()
        self._writing: set[asyncio.Task[None]] = set()

    def record_use(self, session: SessionRecord) -> None:
        """Note that an open session is used now; StepRefused if it is about to expire."""
        if session.id in self._expiring:
            raise expiring_error(session)
        now = self._clock.now()
        self._used[session.id] = now
        if now - self._written.get(session.id, session.used_at) >= WRITTEN_EVERY:
            self._written[session.id] = now
            task = asyncio.create_task(asyncio.to_thread(self._write, session.id, now))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    def last_used(self, session: SessionRecord) -> datetime:
        """Return when the session was last used; from any thread."""
        return max(session.used_at, self._used.get(session.id, session.used_at))

    def check_owner(self, work: UnitOfWork, session: SessionRecord) -> None:
        """Raise SessionElsewhere if another server runs the session, and has to change its state."""
        self._ownership.check(work, session)

    @property
    def has_peers(self) -> bool:
        """Whether other servers use the database."""
        return self._ownership is not SOLE_OWNER

    def ends(self, session: SessionRecord, servers: tuple[ServerStatus, ...]) -> bool:
        """Whether it is for this server, of these, to end the session when nobody has used it for too long."""
        return self._ownership.ends(session, servers)

    def begin_expiry(self, session: SessionRecord) -> bool:
        """Accept no more steps if the session has been idle for its TTL; return whether it has."""
        idle = self._clock.now() - self.last_used(session)
        if idle < timedelta(seconds=session.ttl_seconds):
            return False
        self._expiring.add(session.id)
        return True

    def cancel_expiry(self, session_id: str) -> None:
        """Accept steps again."""
        self._expiring.discard(session_id)

    def forget(self, session_id: str) -> None:
        """Forget a session that has ended."""
        self._expiring.discard(session_id)
        self._used.pop(session_id, None)
        self._written.pop(session_id, None)

    def _write(self, session_id: str, used_at: datetime) -> None:
        try:
            with self._store.begin() as work:
                session = work.sessions.get(session_id)
                if session.state in OPEN:
                    work.sessions.update(replace(session, used_at=max(session.used_at, used_at)))
        except ApiError as error:
            _logger.warning("the last use of session %s cannot be stored: %s", session_id, error.detail)
