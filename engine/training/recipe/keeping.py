"""What is kept of a fit: checkpoints and metric rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.core.constraints import Range
from engine.training.recipe.capturing import GradientRecord

Often = Annotated[int | None, Range(1, 10**9)]
TRAINING_ROWS = 10_000
"""About how many training rows a fit makes at most, unless it is told how often."""


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """When to write checkpoints (besides the last one), and how many to keep."""

    every_steps: Often = None
    every_epochs: Often = 1
    keep_last: Annotated[int, Range(1, 10**9)] = 3
    keep_best: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """Which training steps become metric rows, and what is in them.

    By default a fit makes about `TRAINING_ROWS` of them at most: a row of every step if it has no more steps than that.
    With `epochs` the end of an epoch makes a row of its own: the loss over the epoch with its uncertainty, and the
    metrics over its rows; validation rows then hold uncertainties too. `gradients` are captured beside the rows.
    """

    every_steps: Often = None
    gradient_norms: bool = True
    epochs: bool = False
    gradients: GradientRecord | None = None

    def every(self, total_steps: int) -> int:
        """Return the steps from one row to the next in a fit of `total_steps`; the last step makes a row in any case.

        It depends on nothing else, so that a fit that goes on after a break makes the rows of one that had none.
        """
        return self.every_steps or max(1, -(-total_steps // TRAINING_ROWS))
