"""Sessions: create, list, execute steps, pause, close, expire."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.domain.errors import ApiError, StepRefused
from app.domain.frames import Step
from app.domain.session import OPEN, SessionRecord, SessionState
from app.service.resources.idempotency import SaveResponse
from app.service.resources.storage import StorageContext
from app.service.sessions.creation import BEGINNING_SEQ, SessionCreation
from app.service.sessions.session_storage import SessionStorage
from app.service.sessions.state import SessionActivity, SessionView, SessionWorkerPool, inactive_error
from app.service.sessions.steps import SessionSteps, StepResult
from app.store.lists import ALL, Filters
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import UnitOfWork

_logger = logging.getLogger(__name__)


class Sessions:
    """The use cases of sessions. Its coroutines belong to the server's event loop."""

    def __init__(
        self,
        storage: StorageContext,
        creation: SessionCreation,
        steps: SessionSteps,
        activity: SessionActivity,
        files: SessionStorage,
        worker_pool: SessionWorkerPool,
    ) -> None:
        self._store = storage.store
        self._creation = creation
        self._steps = steps
        self._activity = activity
        self._files = files
        self._sweeper = storage.sweeper
        self._worker_pool = worker_pool

    def create(self, request: Mapping[str, Any], save_response: SaveResponse[SessionView]) -> SessionView:
        """Check and store a session (see `SessionCreation.create`)."""
        return self._creation.create(request, save_response)

    def get(self, session_id: str) -> SessionView:
        """Return the session; NotFound if there is none."""
        with self._store.read() as work:
            return self._view(work.sessions.get(session_id))

    def list(self, page: PageRequest, filters: Filters = ALL) -> Page[SessionView]:
        """Return a page of the sessions that meet `filters`."""
        with self._store.read() as work:
            found = work.sessions.list(page, filters)
        return Page(tuple(map(self._view, found.items)), found.next_cursor, found.findings)

    async def execute(self, session_id: str, step: Step, body: bytes = b"") -> StepResult:
        """Execute a step (see `SessionSteps.execute`)."""
        return await self._steps.execute(session_id, step, body)

    async def operation(self, session_id: str, seq: int, wait: float = 0.0) -> StepResult:
        """Return the result of an accepted step (see `SessionSteps.operation`)."""
        return await self._steps.operation(session_id, seq, wait)

    async def wake(self, session_id: str) -> SessionView:
        """Start the process of an active session if it has none, and return the session."""
        view = await asyncio.to_thread(self.get, session_id)
        if view.session.state is SessionState.ACTIVE:
            await self._worker_pool.wake(view.session)
        return await asyncio.to_thread(self.get, session_id)

    async def pause(self, session_id: str) -> SessionView:
        """Accept no steps for now, and suspend the process; StepRefused if the session has ended."""
        await asyncio.to_thread(self._move, session_id, SessionState.PAUSED)
        await self._worker_pool.suspend(session_id)
        return await asyncio.to_thread(self.get, session_id)

    async def resume(self, session_id: str) -> SessionView:
        """Accept steps again; StepRefused if the session has ended."""
        await asyncio.to_thread(self._move, session_id, SessionState.ACTIVE)
        return await asyncio.to_thread(self.get, session_id)

    async def close(self, session_id: str) -> SessionView:
        """End the session: its process and its directory are gone when this returns.

        Queued steps are refused. A session that has ended already is not changed.
        """
        await asyncio.to_thread(self._end, session_id, SessionState.CLOSED)
        await self._worker_pool.end(session_id)
        await asyncio.to_thread(self._files.remove, session_id)
        self._activity.forget(session_id)
        return await asyncio.to_thread(self.get, session_id)

    async def expire(self) -> None:
        """End the sessions that were idle for too long, each with a last checkpoint."""
        for session in await asyncio.to_thread(self._overdue):
            if self._activity.begin_expiry(session):
                try:
                    await self._expire(session)
                except ApiError as error:
                    _logger.warning("session %s cannot expire yet: %s", session.id, error.detail)
                finally:
                    self._activity.cancel_expiry(session.id)

    async def _expire(self, session: SessionRecord) -> None:
        checkpoint_id = None
        try:
            # The same name for the same silence: what was saved and could not be taken over is not saved twice.
            saved = await self._steps.save(session, f"expiry {self._activity.last_used(session).isoformat()}")
            checkpoint_id = saved.id
        except StepRefused as error:
            _logger.warning("session %s expires without a checkpoint: %s", session.id, error.detail)
        await asyncio.to_thread(self._end, session.id, SessionState.EXPIRED, checkpoint_id)
        await self._worker_pool.end(session.id)
        await asyncio.to_thread(self._files.remove, session.id)
        self._activity.forget(session.id)

    def _view(self, session: SessionRecord) -> SessionView:
        return SessionView(
            replace(session, used_at=self._activity.last_used(session)), self._worker_pool.status(session.id)
        )

    def _overdue(self) -> Sequence[SessionRecord]:
        with self._store.read() as work:
            expired = work.sessions.expired()
            servers = work.servers.list() if expired and self._activity.has_peers else ()
        return [session for session in expired if self._activity.ends(session, servers)]

    def _move(self, session_id: str, state: SessionState) -> None:
        with self._store.begin() as work:
            session = work.sessions.get(session_id)
            if session.state not in OPEN:
                raise inactive_error(session)
            self._activity.check_owner(work, session)
            if session.state is not state:
                work.sessions.update(replace(session, state=state, used_at=self._activity.last_used(session)))

    def _end(self, session_id: str, state: SessionState, checkpoint_id: str | None = None) -> None:
        with self._store.begin() as work:
            session = work.sessions.get(session_id)
            if session.state in OPEN:
                self._activity.check_owner(work, session)
                self._finish(work, session, state, checkpoint_id)

    def _finish(self, work: UnitOfWork, session: SessionRecord, state: SessionState, checkpoint_id: str | None) -> None:
        """Store the end of a session, and delete its initial checkpoint."""
        finished = replace(
            session,
            state=state,
            used_at=self._activity.last_used(session),
            finished_at=work.now,
            checkpoint_id=checkpoint_id,
        )
        work.sessions.update(finished)
        self._files.discard(work, session.id)
        beginning = work.checkpoints.of_step(session.id, BEGINNING_SEQ)
        if beginning is not None and not beginning.deleted:
            work.checkpoints.delete(beginning.id)
            work.after_commit(lambda: self._sweeper.discard([beginning.digest]))
