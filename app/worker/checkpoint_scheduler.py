"""When a worker writes checkpoints: as requested, and beyond that as long as it is cheap."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import engine
from app.domain.errors import StorageFailed, StorageFull

FREE_SECONDS = 1.0
"""Time that may be spent on checkpoints before they are rationed: a short fit has one for each epoch."""

SPACING_SECONDS = 1.0
"""Then checkpoints at ends of epochs and best values that come faster than this are skipped: repeating the work is
cheaper.
"""

MAX_TIME_SHARE = 0.03
"""And the share of the run time that they may take."""

MAX_CLOCK_SHARE = 0.1
"""Checkpoints by the clock are skipped if writing one takes more than this share of the interval."""


@dataclass(frozen=True, slots=True)
class PendingCheckpoint:
    """A snapshot in memory, with the values that are reported about it."""

    checkpoint: engine.Checkpoint
    step: int
    epoch: int
    seq: int
    metrics: dict[str, Any]
    is_best: bool

    @classmethod
    def of(cls, fit: engine.Fit) -> Self:
        """Take a snapshot of the current state of the fit."""
        return cls(fit.snapshot(), fit.step, fit.epoch, fit.seq, dict(fit.latest), fit.improved)


class CheckpointScheduler:
    """Schedules the checkpoints of a fit.

    Requested checkpoints are written when they are due, and so is the last one. Checkpoints at the ends of epochs that
    were not requested, and those of a new best value, are limited once `FREE_SECONDS` are spent: `SPACING_SECONDS` and
    `MAX_TIME_SHARE` decide, in favour of the newest. The best one when the fit stops is always written. In between,
    checkpoints are written by the clock. The schedule does not change the numbers of the fit.
    """

    def __init__(
        self,
        fit: engine.Fit,
        write: Callable[[PendingCheckpoint], None],
        interval_seconds: float | None,
        *,
        epochs_requested: bool = False,
        write_by_clock: Callable[[PendingCheckpoint], None] | None = None,
    ) -> None:
        """Start at the current step of `fit`.

        Args:
            fit: the fit, before its first step here.
            write: writes a checkpoint, and returns when it is on the disk.
            longest: seconds from one checkpoint to the next that are long enough for one by the clock; None for never.
            by_epochs: whether checkpoints at the ends of epochs were requested.
            write_by_clock: writes one that was not requested; the fit continues if that fails; by default `write`.
        """
        self._policy = fit.recipe.checkpoint
        self._epochs_requested = epochs_requested
        self._write_requested = write
        self._write_by_clock = write_by_clock or write
        self._interval_seconds = interval_seconds
        self._saved = _position(fit)
        self._pending: PendingCheckpoint | None = None
        self._seconds = self._spent = 0.0
        self._written_at = time.monotonic()

    def after_step(self, fit: engine.Fit) -> None:
        """Write what is due after a step; the state at the end is left to `finish`."""
        if fit.done:
            return
        if fit.checkpoint_due:
            if self._is_requested(fit) or self._is_affordable():
                self._save(fit)
            elif fit.improved and self._policy.keep_best:
                self._pending = None  # not both in memory at a time
                self._pending = PendingCheckpoint.of(fit)
        elif self._is_due_by_clock():
            # It was not requested, so a full disk need not be reported.
            with contextlib.suppress(StorageFull, StorageFailed):
                self._save(fit, self._write_by_clock)
        elif self._pending is not None and self._is_affordable():
            self._write_pending()

    def finish(self, fit: engine.Fit) -> None:
        """Write what is still unsaved when the fit stops here."""
        # No checkpoint of a failed state: if this process is killed before it reports, the next attempt would resume
        # after the failure.
        if _position(fit) != self._saved and fit.failure is None:
            self._save(fit)
        else:
            self._write_pending()

    def _save(self, fit: engine.Fit, write: Callable[[PendingCheckpoint], None] | None = None) -> None:
        if fit.improved:
            self._pending = None
        self._write_pending()
        self._write(PendingCheckpoint.of(fit), write or self._write_requested)
        self._saved = _position(fit)

    def _write_pending(self) -> None:
        if self._pending is not None:
            self._write(self._pending, self._write_requested)
            self._pending = None  # only after the write: it is tried again at the end if the disk is full

    def _write(self, pending: PendingCheckpoint, write: Callable[[PendingCheckpoint], None]) -> None:
        begun = time.monotonic()
        try:
            write(pending)
        finally:
            self._written_at = time.monotonic()
            self._seconds = self._written_at - begun
            self._spent += self._seconds

    def _is_requested(self, fit: engine.Fit) -> bool:
        steps, epochs = self._policy.every_steps, self._policy.every_epochs if self._epochs_requested else None
        return bool((steps and fit.step % steps == 0) or (epochs and fit.step % (epochs * fit.steps_per_epoch) == 0))

    def _is_affordable(self) -> bool:
        """Whether little time was spent so far, or the last checkpoint is long enough ago."""
        if self._spent < FREE_SECONDS:
            return True
        spacing = (
            self._seconds / MAX_TIME_SHARE
            if self._interval_seconds is None
            else min(self._seconds / MAX_TIME_SHARE, self._interval_seconds)
        )
        return time.monotonic() - self._written_at >= max(SPACING_SECONDS, spacing)

    def _is_due_by_clock(self) -> bool:
        if self._interval_seconds is None or self._seconds >= MAX_CLOCK_SHARE * self._interval_seconds:
            return False
        return time.monotonic() - self._written_at >= self._interval_seconds


def _position(fit: engine.Fit) -> tuple[int, int]:
    """Identify a state of the fit: not every step makes a row, and after a rollback a step number repeats."""
    return fit.step, fit.seq
