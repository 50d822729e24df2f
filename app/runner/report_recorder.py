"""The reports of attempts: buffered as they arrive, stored when they are due, and what follows from their end."""

import logging
from collections.abc import Sequence

from app.domain.errors import Conflict, TransferPending
from app.domain.fit import FitState
from app.domain.messages import Died, Failed
from app.runner.active_attempt import IMMEDIATELY, ActiveAttempt
from app.runner.port import Exited, Report
from app.runner.supervision import RETRYABLE, STORAGE_REASON, Supervision
from app.service.attempts.progress import AttemptReport

BACKOFF_FACTORS = (1.0, 5.0, 25.0)
"""Delay before the next attempt after the first, second, third crash in a row, in `retry_seconds`; then as after the
last.
"""

UNRECORDED = Failed("internal_error", "the server could not store the reports of the fit; the server's log says why")

TRANSFER_SECONDS = 0.1
"""Interval in which a report is tried again whose files are being transferred."""

_logger = logging.getLogger(__name__)


class ReportRecorder:
    """Stores what the processes of attempts report, and ends attempts whose process has exited."""

    def __init__(self, shared: Supervision, backoff_seconds: Sequence[float] | None = None) -> None:
        """Delay attempts after crashes by `backoff_seconds`, by default BACKOFF_FACTORS times `retry_seconds`."""
        self._shared = shared
        by_default = [factor * shared.retry_seconds for factor in BACKOFF_FACTORS]
        self._backoff_seconds = tuple(by_default if backoff_seconds is None else backoff_seconds)

    def receive(self, report: Report | Exited, *, draining: bool) -> None:
        """Buffer a message of a process, or the verdict on one that has exited."""
        attempt, now = self._shared.active.get(report.handle), self._shared.clock.monotonic()
        if attempt is None:
            return
        if isinstance(report, Exited):
            attempt.gone_at = now
            if not attempt.ended:
                attempt.buffer.end(attempt.exit_verdict(report, draining=draining))
        elif not attempt.ended:
            attempt.buffer.add(report.message, now, report.number)

    def flush(self, attempt: ActiveAttempt, *, draining: bool) -> None:
        """Store reports that are due, and forget an attempt whose process has exited."""
        due_at, now = attempt.flush_at(), self._shared.clock.monotonic()
        if due_at is not None and (due_at <= now or draining) and not attempt.ended:
            attempt.report = attempt.report or attempt.buffer.take()
            attempt.report.seconds = attempt.seconds(now)
            self._record(attempt, attempt.report)
        if attempt.gone and attempt.ended:
            # Only now, after the exit of the process, is its spool directory free of writers, and its memory released.
            self._shared.attempts.release(attempt.claim)
            self._shared.runner.acknowledge(attempt.handle, None)
            self._shared.active.remove(attempt)
            self._shared.scheduler.wake()

    def _record(self, attempt: ActiveAttempt, report: AttemptReport) -> None:
        try:
            recorded = self._shared.attempts.record(attempt.claim, report)
        except TransferPending:
            attempt.retry_at = self._shared.clock.monotonic() + TRANSFER_SECONDS
            return
        except RETRYABLE as error:
            # Backpressure: the attempt is on hold, and its process blocks once the socket is full.
            _logger.warning("fit %s: storing its reports is delayed: %s", attempt.claim.fit.id, error.detail)
            attempt.retry_at = self._shared.clock.monotonic() + self._shared.retry_seconds
            return
        except Exception as error:  # noqa: BLE001 (whatever it is, the fit must not appear to be running)
            self._fail(attempt, report, error)
            return
        attempt.report = attempt.retry_at = None
        if report.received:
            self._shared.runner.acknowledge(attempt.handle, report.received)
        attempt.fit = recorded.fit
        attempt.pid = attempt.pid or report.pid
        if recorded.ended:
            self._shared.active.abandon(attempt)
            if recorded.fit.state is FitState.INTERRUPTED:
                self._back_off(recorded.fit.id, recorded.losses, report)

    def _back_off(self, fit_id: str, losses: int, report: AttemptReport) -> None:
        """Delay the next attempt if the last one crashed."""
        now, scheduler = self._shared.clock.monotonic(), self._shared.scheduler
        if losses:
            scheduler.back_off(fit_id, now + self._backoff_seconds[min(losses, len(self._backoff_seconds)) - 1])
        elif isinstance(report.verdict, Died) and report.verdict.reason in (STORAGE_REASON, "node_lost"):
            scheduler.back_off(fit_id, now + self._shared.retry_seconds)

    def _fail(self, attempt: ActiveAttempt, report: AttemptReport, error: Exception) -> None:
        """Handle reports that cannot be stored, now or later."""
        # Fenced: a newer attempt, or a kill, has taken the token. Whatever this process still reports belongs to an
        # attempt that has ended in the database, so it is dropped, and the process is killed.
        fenced = isinstance(error, Conflict) and error.code == "fenced"
        if fenced or report.verdict == UNRECORDED:
            _logger.warning("fit %s: attempt %s is abandoned", attempt.claim.fit.id, attempt.handle.attempt)
            self._shared.active.abandon(attempt)
        else:
            _logger.error("fit %s: its reports cannot be stored", attempt.claim.fit.id, exc_info=error)
            self._shared.runner.kill(attempt.handle)
            attempt.report, attempt.retry_at = AttemptReport(verdict=UNRECORDED), IMMEDIATELY
