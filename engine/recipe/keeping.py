"""What is kept of a fit: checkpoints and metric rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.ranges import Range

Often = Annotated[int | None, Range(1, 10**9)]


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

    With `epochs` the end of an epoch makes a row of its own: the loss over the epoch with its uncertainty, and the
    metrics over its rows; validation rows then hold uncertainties too.
    """

    every_steps: Annotated[int, Range(1, 10**9)] = 1
    gradient_norms: bool = True
    epochs: bool = False
