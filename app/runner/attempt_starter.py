"""Claiming of queued fits, and the start of their processes."""

import logging
from collections.abc import Callable
from datetime import datetime

from app.domain.errors import ApiError, Corrupt, Invalid, NotFound, StorageFull, TooLarge
from app.domain.messages import Died, Failed
from app.runner.process_manager import ProcessManager
from app.runner.supervision import RETRYABLE, STORAGE_REASON, Supervision
from app.service.attempts.progress import Claim
from app.service.resources.memory import MemoryPool

DEADLINE_SECONDS = 60.0
"""The longest that a deadline is not checked again: wall clocks are adjusted at times."""

MEMORY_CHECK_SECONDS = 5.0
"""Interval of queue checks while a fit waits for memory."""

NOTICE_SECONDS = 2.0
"""Interval in which a server of several looks for changes by the others whose notifications it has missed."""

_logger = logging.getLogger(__name__)


class AttemptStarter:
    """Claims fits from the queue while workers, memory and storage suffice, and starts their processes."""

    def __init__(
        self,
        shared: Supervision,
        processes: ProcessManager,
        memory: MemoryPool,
        check_storage: Callable[[], None],
    ) -> None:
        """Reserve from `memory`, of which `processes` take a share; `check_storage` raises StorageFull."""
        self._shared = shared
        self._processes = processes
        self._memory = memory
        self._check_storage = check_storage
        self._storage_full = False

    @property
    def has_free_worker(self) -> bool:
        """Whether another fit may be started."""
        return len(self._shared.active) < self._shared.settings.workers

    def claim_due(self) -> None:
        """Check the queue if that is due, and start as many fits as there are free workers."""
        shared = self._shared
        attempts, scheduler, now = shared.attempts, shared.scheduler, shared.clock.monotonic()
        if not scheduler.take_due(now):
            return
        if shared.runner.is_remote and shared.runner.unavailable_reason is not None:
            scheduler.schedule_check(now + shared.retry_seconds)
            return
        try:
            self._expect_changes(now)
            scheduler.schedule_check(self._check_at(attempts.fail_overdue()))
            self._memory.record_usage(self._processes.resident_bytes())
            self._check_storage()
            while self.has_free_worker:
                claim = attempts.claim(skip={*scheduler.backing_off, *shared.active.exiting_fits})
                if claim is None:
                    break
                self._start(claim)
            if self._memory.has_waiting_fit:
                # Session processes may have released memory; nothing notifies of that.
                scheduler.schedule_check(now + MEMORY_CHECK_SECONDS)
            if attempts.is_waiting_for_files:
                # The end of a transfer wakes the supervisor; one that has failed has to be begun again.
                scheduler.schedule_check(now + shared.retry_seconds)
            self._storage_full = False
        except RETRYABLE as error:
            if not (self._storage_full and isinstance(error, StorageFull)):
                _logger.warning("cannot start a fit: %s", error.detail)
            self._storage_full = isinstance(error, StorageFull)
            scheduler.schedule_check(now + shared.retry_seconds)

    def _expect_changes(self, now: float) -> None:
        """Look again soon for what other servers have changed, if there are any: notifications may be missed."""
        if self._shared.has_peers:
            self._shared.change_requests.extend((fit_id, None) for fit_id in self._shared.active.fit_ids)
            self._shared.scheduler.schedule_check(now + NOTICE_SECONDS)

    def _check_at(self, deadline: datetime | None) -> float | None:
        """Return when to check a deadline again, by the monotonic clock."""
        if deadline is None:
            return None
        clock = self._shared.clock
        left = (deadline - clock.now()).total_seconds()
        return clock.monotonic() + min(max(0.0, left), DEADLINE_SECONDS)

    def _start(self, claim: Claim) -> None:
        attempt = self._shared.active.add(claim)
        now = attempt.begun_at
        try:
            self._shared.runner.start(self._shared.attempts.assignment(claim))
        except NotFound as error:
            attempt.gone_at = now
            attempt.buffer.end(Failed("input_missing", error.detail))
        except (TooLarge, Invalid, Corrupt) as error:
            attempt.gone_at = now
            attempt.buffer.end(Failed(error.code, error.detail))
        except RETRYABLE as error:
            attempt.gone_at = now
            attempt.buffer.end(Died(STORAGE_REASON, f"no process could be started: {error.detail}"))
        except (ApiError, OSError) as error:
            _logger.exception("fit %s cannot be started", claim.fit.id)
            attempt.gone_at = now
            attempt.buffer.end(Died("not_started", f"no process could be started ({type(error).__name__})"))
