"""The stop of processes: as clients request it, at time limits, and when the server drains."""

import logging

from app.domain.fit import FitState
from app.domain.messages import Control
from app.runner.active_attempt import ActiveAttempt
from app.runner.supervision import RETRYABLE, Supervision

CANCEL_GRACE_SECONDS = 10.0
"""How long a process that is to stop may take to write a checkpoint; then it is killed."""

_logger = logging.getLogger(__name__)


class StopControl:
    """Stops processes. The requested state of a fit is read from the database, which is the one source of truth."""

    def __init__(self, shared: Supervision) -> None:
        self._shared = shared

    def apply_requests(self) -> None:
        """Apply the requested states of the fits for which that was requested; those that fail stay requested."""
        requests = self._shared.change_requests
        try:
            while requests:
                fit_id, variant = requests[0]
                for attempt in self._shared.active:
                    if attempt.claim.fit.id == fit_id and not attempt.ended:
                        self._apply(attempt, variant)
                requests.popleft()
        except RETRYABLE as error:
            _logger.warning("cannot read the requested state of a fit: %s", error.detail)

    def enforce_time_limits(self, attempt: ActiveAttempt) -> None:
        """Stop a fit that has reached a time limit, unless it is stopping already."""
        if attempt.is_working and not attempt.stopping:
            expired = attempt.check_expired(self._shared.clock)
            if expired is not None:
                attempt.buffer.expire(expired)
                self._shared.active.stop(attempt, "drain", CANCEL_GRACE_SECONDS)

    def drain(self, seconds: float) -> None:
        """Stop all processes with a checkpoint, within `seconds`; remote ones continue without this server."""
        if not self._shared.runner.is_remote:
            for attempt in self._shared.active:
                self._shared.active.stop(attempt, "drain", seconds)

    def _apply(self, attempt: ActiveAttempt, variant: str | None) -> None:
        """Apply the state that the database requests of a fit."""
        shared = self._shared
        if variant is not None:
            shared.runner.send(attempt.handle, Control("cancel", variant))
            return
        fit = shared.attempts.fit(attempt.claim)
        if fit is None:
            shared.active.abandon(attempt)
            return
        attempt.fit = fit
        if fit.state is FitState.CANCELLING:
            shared.active.stop(attempt, "cancel", CANCEL_GRACE_SECONDS)
        elif fit.state is FitState.PAUSING:
            shared.active.stop(attempt, "drain", CANCEL_GRACE_SECONDS)
        elif fit.sweep is not None and shared.has_peers:
            # Another server may have cancelled some of its variants; a repeated request changes nothing.
            for withdrawn in shared.attempts.withdrawn_variants(attempt.claim):
                shared.runner.send(attempt.handle, Control("cancel", withdrawn))
