"""Parameters that keep their values for some epochs of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.core.constraints import Range


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """Keeps the parameters whose names fit a pattern (or one of several) as they are, in some epochs.

    The epochs are those from `first_epoch` to `last_epoch`, both included, counted from 1; without `last_epoch` all
    that follow. A frozen parameter has no gradient, and its optimizer state and count of steps stand still.
    """

    match: str | tuple[str, ...]
    first_epoch: Annotated[int, Range(1)] = 1
    last_epoch: Annotated[int | None, Range(1)] = None

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns as a list."""
        return (self.match,) if isinstance(self.match, str) else self.match

    def holds(self, epoch: int) -> bool:
        """Tell whether it freezes in `epoch`, counted from 1."""
        return self.first_epoch <= epoch and (self.last_epoch is None or epoch <= self.last_epoch)

    def faults(self) -> list[tuple[str, str]]:
        """Find an end before the start."""
        backwards = self.last_epoch is not None and self.last_epoch < self.first_epoch
        return [("/last_epoch", f"must be at least first_epoch, {self.first_epoch}")] if backwards else []
