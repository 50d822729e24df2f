"""What an attempt has reported and the database does not hold yet."""

from app.domain.messages import Failed, Finished, Heartbeat, Message, NumericsChanged, Points, Started
from app.domain.verdict import Died, Expired, Verdict
from app.service.attempts.attempt_progress import Progress

NOW = float("-inf")


class Inbox:
    """Gathers news so that one commit takes many; the first row and changes of state do not wait."""

    def __init__(self, flush_seconds: float) -> None:
        """Let other news wait for `flush_seconds` at most."""
        self._flush_seconds = flush_seconds
        self._progress = Progress()
        self._has_had_rows = False
        self._expired: Expired | None = None
        self.due_at: float | None = None
        """When the news should be written down, by the monotonic clock; None while there are none."""

    def take(self, message: Message, now: float) -> None:
        """Take a message from the attempt's process."""
        if isinstance(message, Heartbeat):
            return
        self._progress.add(message)
        if isinstance(message, Started | NumericsChanged | Finished | Failed) or self._is_first_row(message):
            self.due_at = NOW
        elif self.due_at is None:
            self.due_at = now + self._flush_seconds

    def expire(self, verdict: Expired) -> None:
        """Note the limit for which the process is being stopped: it ends by that, unless it is done before."""
        self._expired = self._expired or verdict

    def end(self, verdict: Verdict) -> None:
        """Note how the attempt ended, unless its process has said so itself."""
        self._progress.verdict = self._progress.verdict or verdict
        self.due_at = NOW

    def gather(self) -> Progress:
        """Return all news and start again without any."""
        progress, self._progress = self._progress, Progress()
        if self._expired is not None and _is_cut_short(progress.verdict):
            progress.verdict = self._expired
        self.due_at = None
        return progress

    def _is_first_row(self, message: Message) -> bool:
        first = isinstance(message, Points) and not self._has_had_rows
        self._has_had_rows = self._has_had_rows or first
        return first


def _is_cut_short(verdict: Verdict | None) -> bool:
    """Whether this is what becomes of a process that is stopped."""
    return isinstance(verdict, Died) or verdict == Finished("drained")
