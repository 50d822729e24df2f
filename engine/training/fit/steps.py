"""Inputs and results of training steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.core.value import Array
from engine.training.fit.losses import LossTally


@dataclass(frozen=True)
class StepInputs:
    """Inputs of one training step.

    Attributes:
        rows: the examples of the batch.
        step: steps done before.
        epoch: counted from 1.
        rates: the learning rate of each parameter group.
        momentum: what the schedule sets it to, if it does.
        averaging: how far the average moves to the new weights; None when it does not.
    """

    rows: Array
    step: int
    epoch: int
    rates: Sequence[float]
    momentum: float | None = None
    averaging: float | None = None


@dataclass(frozen=True)
class StepBatch:
    """Inputs of consecutive steps on batches of equal size.

    Attributes:
        first: the first of them.
        rows: the examples of each batch [steps, rows], int64.
        rates: the learning rates [steps, groups].
        momenta: what the schedule sets the momentum to, if it does.
        averaging: how far the average moves, if it does at each step.
    """

    first: StepInputs
    rows: Array
    rates: Array
    momenta: Array | None = None
    averaging: Array | None = None


@dataclass(frozen=True)
class SkippedSteps:
    """Losses and loss weights of steps that ran in one call and produced no metric row."""

    losses: Sequence[float]
    weights: Sequence[float]


@dataclass
class StepResult:
    """The result of one training step: losses and metric statistics, norms, whether the update was applied, and the
    captured gradients.
    """

    losses: LossTally
    norms: dict[str, float] = field(default_factory=dict)
    finite: bool = True
    gradients: dict[str, Array] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """The loss over the batch, before the step."""
        return self.losses.value
