"""Leadership among several servers on one database: the one that leads takes over the fits."""

import logging
from collections.abc import Iterator

from app.domain.errors import RayUnusable
from app.runner.active_attempt import ActiveAttempt
from app.runner.supervision import RETRYABLE, Supervision

_logger = logging.getLogger(__name__)


class Takeover:
    """Takes over the fits when this server begins to lead, and gives them up when it no longer does."""

    def __init__(self, shared: Supervision) -> None:
        self._shared = shared
        self._epoch = shared.leadership.epoch
        self._retry_at = 0.0
        self._undecided: list[ActiveAttempt] = []

    @property
    def leads(self) -> bool:
        """Whether this server runs the fits, and has taken over those that were running."""
        return self._epoch is not None

    @property
    def is_settled(self) -> bool:
        """Whether all attempts of a time as the leader are left to the next one, or ended."""
        return not self._undecided

    def follow(self, *, draining: bool) -> None:
        """Take over the fits if this server has become the leader; stop its processes if it no longer is."""
        shared = self._shared
        epoch, now = shared.leadership.epoch, shared.clock.monotonic()
        if (epoch == self._epoch and self.is_settled) or now < self._retry_at:
            return
        self._give_up()
        try:
            self._decide()
            if epoch is None or draining:
                return
            lost = shared.attempts.end_lost(shared.runner.adopt)
        except (*RETRYABLE, RayUnusable) as error:
            _logger.warning("cannot follow the change of the server that runs the fits: %s", error.detail)
            self._retry_at = now + shared.retry_seconds
            return
        _logger.info("this server runs the fits from now on; %s processes were lost", lost)
        self._epoch = epoch
        self.resume_running()
        shared.scheduler.wake()

    def resume_running(self) -> None:
        """Resume the attempts that have outlived their server."""
        for running in self._shared.attempts.running:
            attempt = self._shared.active.add(running.claim)
            attempt.pid = running.pid
            self._shared.change_requests.append((running.claim.fit.id, None))

    def deadlines(self) -> Iterator[float]:
        """Iterate over the times at which `follow` has something to do, by the monotonic clock."""
        if self._shared.leadership.epoch != self._epoch or not self.is_settled:
            yield self._retry_at

    def _give_up(self) -> None:
        """End local processes, and store no more of what remote ones report: the other server receives it again."""
        self._epoch = None
        for attempt in self._shared.active:
            if attempt.ended:
                continue
            if self._shared.runner.is_remote:
                self._shared.active.remove(attempt)
                self._undecided.append(attempt)
            else:
                self._shared.active.abandon(attempt)

    def _decide(self) -> None:
        """Leave the remote attempts that are in force to the other server, and end the others; one of RETRYABLE if the
        database does not say which.

        An actor may have been made after the other server had looked for actors: that has ended the attempt then, and
        ends no actor that it has not found.
        """
        while self._undecided:
            attempt = self._undecided[-1]
            if self._shared.attempts.fit(attempt.claim) is not None:
                self._shared.attempts.release(attempt.claim)
                self._shared.runner.release(attempt.handle)
            else:
                self._shared.active.put(attempt)
                self._shared.active.abandon(attempt)
            self._undecided.pop()
