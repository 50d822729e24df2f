"""When sessions were last used: known exactly in memory, written down about once a minute."""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime, timedelta

from app.domain.clock import Clock
from app.domain.errors import AdjointError
from app.domain.session import OPEN, SessionRecord
from app.service.sessions.session_states import expiring
from app.store.unit_of_work import Store

WRITTEN_EVERY = timedelta(minutes=1)

_logger = logging.getLogger(__name__)


class SessionUse:
    """Notes of the last use of sessions, and of those that are being brought to their end. For the event loop."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Write to `store`."""
        self._store = store
        self._clock = clock
        self._used: dict[str, datetime] = {}
        self._written: dict[str, datetime] = {}
        self._ending: set[str] = set()
        self._writing: set[asyncio.Task[None]] = set()

    def note(self, session: SessionRecord) -> None:
        """Note that an open session is used now; StepRefused if it is about to expire."""
        if session.id in self._ending:
            raise expiring(session)
        now = self._clock.now()
        self._used[session.id] = now
        if now - self._written.get(session.id, session.used_at) >= WRITTEN_EVERY:
            self._written[session.id] = now
            task = asyncio.create_task(asyncio.to_thread(self._write, session.id, now))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    def last(self, session: SessionRecord) -> datetime:
        """Return when the session was last used; from any thread."""
        return max(session.used_at, self._used.get(session.id, session.used_at))

    def begin_end(self, session: SessionRecord) -> bool:
        """Have no step of the session begun any more if it has not been used for long enough; tell whether it is so."""
        idle = self._clock.now() - self.last(session)
        if idle < timedelta(seconds=session.ttl_seconds):
            return False
        self._ending.add(session.id)
        return True

    def give_up_end(self, session_id: str) -> None:
        """Let steps be begun again."""
        self._ending.discard(session_id)

    def forget(self, session_id: str) -> None:
        """Forget a session that has ended."""
        self._ending.discard(session_id)
        self._used.pop(session_id, None)
        self._written.pop(session_id, None)

    def _write(self, session_id: str, used_at: datetime) -> None:
        try:
            with self._store.begin() as work:
                session = work.sessions.get(session_id)
                if session.state in OPEN:
                    work.sessions.update(replace(session, used_at=max(session.used_at, used_at)))
        except AdjointError as error:
            _logger.warning("when session %s was last used is not written down: %s", session_id, error.detail)
