"""Names of a plan's inputs and outputs beside those of the graph, whose names never contain a colon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from engine.core.value import Array

RATE = ":lr:"
"""The learning rate of a parameter group, float64; its place follows."""
MOMENTUM = ":momentum"
"""The momentum that a schedule feeds, float64."""
SHARE = ":share"
"""The factor of the loss of a part of a batch, float64."""
WEIGHT = ":weight"
"""The divisor of the accumulated gradients of a batch's parts, float64."""
BATCH_LOSS = ":loss"
"""The loss over a batch that is computed in parts, float64."""
STEP = ":step"
"""The number of the step, from 0, int64, on which the size of noise depends."""
AVERAGING = ":averaging"
"""The rate of the weight average, float64."""

LOSS, LOSS_WEIGHT, FINITE = "loss", "loss_weight", "finite"
SQUARED_NORM = "squared_norm:"
GRADIENT = "gradient:"
"""The sum of the gradients of a batch's parts; the name of the vector follows. Captured: that of the parameter."""

NEW = "new:"
"""The new value of a state; its name follows."""
OUTPUT, EACH_LOSS = "output:", "loss:"
"""A declared output, and one of the losses; the reference follows."""
SAVED = ":saved:"
"""A value that the backward pass reads of the forward pass; its number follows."""
COTANGENT = ":cotangent:"
"""The cotangent of an output or loss; the reference follows."""
CLIPPED = "clipped"
"""Whether a limit has changed a gradient."""


def rate_input(group: int) -> str:
    """Return the name of the input for the learning rate of a parameter group."""
    return f"{RATE}{group}"


def norms_of(outputs: Mapping[str, Array]) -> Iterator[tuple[str, float]]:
    """Yield the name ("" for all gradients together) and the root of each squared norm among a plan's outputs."""
    for name, output in outputs.items():
        if name.startswith(SQUARED_NORM):
            yield name.removeprefix(SQUARED_NORM), root(output.item())


def root(squared: float) -> float:
    """Return the square root of a sum of squares; NaN remains NaN."""
    return math.sqrt(squared) if squared >= 0 else squared
