"""What an attempt has reported and the database does not hold yet."""

from app.domain.messages import Failed, Finished, Message, Points, Started
from app.service.attempt_progress import Progress, Verdict

NOW = float("-inf")


class Inbox:
    """Gathers news so that one commit takes many; the first row and changes of state do not wait."""

    def __init__(self, flush_seconds: float) -> None:
        """Let other news wait for `flush_seconds` at most."""
        self._flush_seconds = flush_seconds
        self._progress = Progress()
        self._has_had_rows = False
        self.due_at: float | None = None
        """When the news should be written down, by the monotonic clock; None while there are none."""

    def take(self, message: Message, now: float) -> None:
        """Take a message from the attempt's process."""
        self._progress.add(message)
        if isinstance(message, Started | Finished | Failed) or self._is_first_row(message):
            self.due_at = NOW
        elif self.due_at is None:
            self.due_at = now + self._flush_seconds

    def cancel(self) -> None:
        """Note that the fit was asked to stop."""
        self._progress.cancelling = True
        self.due_at = NOW

    def end(self, verdict: Verdict) -> None:
        """Note how the attempt ended, unless its process has said so itself."""
        self._progress.verdict = self._progress.verdict or verdict
        self.due_at = NOW

    def gather(self) -> Progress:
        """Return all news and start again without any."""
        progress, self._progress = self._progress, Progress()
        self.due_at = None
        return progress

    def _is_first_row(self, message: Message) -> bool:
        first = isinstance(message, Points) and not self._has_had_rows
        self._has_had_rows = self._has_had_rows or first
        return first
