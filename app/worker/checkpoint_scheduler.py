"""When a worker writes checkpoints: as the recipe asks, but no more than is worth it, and no less."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import engine
from app.domain.errors import StorageFailed, StorageFull

FREE_SECONDS = 1.0
"""What may be spent on checkpoints before anybody counts: a short fit has one of each epoch."""

SPACING_SECONDS = 1.0
"""Then ends of epochs and best values that come faster than this share a checkpoint: to do it again costs less."""

COST = 0.03
"""And the part of the time that these may take."""

CHEAP = 0.1
"""Checkpoints by the clock are left out where writing one takes more than this part of the time between them."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A checkpoint as it was taken, and what the server is told of it."""

    checkpoint: engine.Checkpoint
    step: int
    epoch: int
    seq: int
    metrics: dict[str, Any]
    is_best: bool

    @classmethod
    def of(cls, fit: engine.Fit) -> Self:
        """Take one of where the fit stands."""
        return cls(fit.snapshot(), fit.step, fit.epoch, fit.seq, dict(fit.latest), fit.improved)


class Keeper:
    """Has a fit's checkpoints written.

    Those that were asked for are written when they are due, and so is the last one. Of those at the ends of epochs that
    nobody has asked for, and of the best so far, once `FREE_SECONDS` are spent, only what `SPACING_SECONDS` and `COST`
    allow, in favour of the newest; but what was the best when the fit stops is never left out. In between one is
    written by the clock. None of this touches the fit.
    """

    def __init__(
        self,
        fit: engine.Fit,
        write: Callable[[Taken], None],
        longest: float | None,
        *,
        by_epochs: bool = False,
        write_by_clock: Callable[[Taken], None] | None = None,
    ) -> None:
        """Begin where `fit` stands.

        Args:
            fit: the fit, before its first step here.
            write: writes a checkpoint, and returns when it is on the disk.
            longest: seconds from one checkpoint to the next that are long enough for one by the clock; None for never.
            by_epochs: whether those at the ends of epochs were asked for.
            write_by_clock: writes one that nobody has asked for, without which the fit goes on; by default `write`.
        """
        self._policy = fit.recipe.checkpoint
        self._by_epochs = by_epochs
        self._write_down = write
        self._write_by_clock = write_by_clock or write
        self._longest = longest
        self._saved = _place(fit)
        self._held: Taken | None = None
        self._seconds = self._spent = 0.0
        self._written_at = time.monotonic()

    def after(self, fit: engine.Fit) -> None:
        """Write what is due after a step; what the fit ends with is left to `end`."""
        if fit.done:
            return
        if fit.checkpoint_due:
            if self._asked_for(fit) or self._worthwhile():
                self._keep(fit)
            elif fit.improved and self._policy.keep_best:
                self._held = None  # not both in memory at a time
                self._held = Taken.of(fit)
        elif self._by_the_clock():
            # Nobody has asked for it, so nobody need hear that there was no room.
            with contextlib.suppress(StorageFull, StorageFailed):
                self._keep(fit, self._write_by_clock)
        elif self._held is not None and self._worthwhile():
            self._write_held()

    def end(self, fit: engine.Fit) -> None:
        """Write what is left when nothing more will be done."""
        # None of a failure: a process that is killed before it can tell would let the next one go on behind it.
        if _place(fit) != self._saved and fit.failure is None:
            self._keep(fit)
        else:
            self._write_held()

    def _keep(self, fit: engine.Fit, write: Callable[[Taken], None] | None = None) -> None:
        if fit.improved:
            self._held = None
        self._write_held()
        self._write(Taken.of(fit), write or self._write_down)
        self._saved = _place(fit)

    def _write_held(self) -> None:
        if self._held is not None:
            self._write(self._held, self._write_down)
            self._held = None  # not before it is written: one that finds no room is tried again at the end

    def _write(self, taken: Taken, write: Callable[[Taken], None]) -> None:
        begun = time.monotonic()
        try:
            write(taken)
        finally:
            self._written_at = time.monotonic()
            self._seconds = self._written_at - begun
            self._spent += self._seconds

    def _asked_for(self, fit: engine.Fit) -> bool:
        steps, epochs = self._policy.every_steps, self._policy.every_epochs if self._by_epochs else None
        return bool((steps and fit.step % steps == 0) or (epochs and fit.step % (epochs * fit.steps_per_epoch) == 0))

    def _worthwhile(self) -> bool:
        """Whether little was spent so far, or the last one is long enough ago."""
        if self._spent < FREE_SECONDS:
            return True
        spacing = self._seconds / COST if self._longest is None else min(self._seconds / COST, self._longest)
        return time.monotonic() - self._written_at >= max(SPACING_SECONDS, spacing)

    def _by_the_clock(self) -> bool:
        if self._longest is None or self._seconds >= CHEAP * self._longest:
            return False
        return time.monotonic() - self._written_at >= self._longest


def _place(fit: engine.Fit) -> tuple[int, int]:
    """Tell where a fit stands: not every step makes a row, and one that goes back comes by a step again."""
    return fit.step, fit.seq
