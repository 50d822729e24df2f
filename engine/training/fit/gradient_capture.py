"""Captured gradients: at which steps, and of which parameters."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.core.value import Array
from engine.training.recipe.options import GradientRecord
from engine.training.train_state import FlatGroup

NEVER = sys.maxsize


@dataclass(frozen=True, slots=True)
class CapturedGradient:
    """The gradient of the loss with respect to the parameter `name`, at the parameters after `step` steps.

    `array` has the parameter's shape and dtype; it is before clipping and noise, and without the loss scale.
    """

    step: int
    name: str
    array: Array


class GradientCapture:
    """Selects the steps at which gradients are captured, and the parameters."""

    def __init__(self, record: GradientRecord | None, trained: Iterable[str]) -> None:
        """Capture gradients of trained parameters as the record says; without a record none."""
        self.names = () if record is None else record.names(trained)
        self._steps = sorted(record.steps) if record is not None and self.names else []
        self._every = record.every_steps if record is not None and self.names else None

    def next(self, step: int) -> int:
        """Return the first number of steps, from `step` on, after which gradients are captured, or `NEVER`."""
        place = bisect_left(self._steps, step)
        listed = self._steps[place] if place < len(self._steps) else NEVER
        return listed if self._every is None else min(listed, -(-step // self._every) * self._every)

    def wanted(self, step: int) -> tuple[str, ...]:
        """Return the parameters whose gradients are captured after `step` steps."""
        return self.names if self.next(step) == step else ()


def extract_gradients(
    flat: FlatGroup, vector: Array, names: Iterable[str], divisor: float = 1.0, scale: float = 1.0
) -> dict[str, Array]:
    """Copy gradients of some parameters out of a vector of sums, divided as the step that uses it divides."""
    with np.errstate(all="ignore"):
        mean = vector if divisor == 1.0 else vector / vector.dtype.type(divisor)
        plain = mean if scale == 1.0 else (mean * np.float64(1.0 / scale)).astype(vector.dtype)
    views = flat.views(plain)
    return {name: views[name].copy() for name in names if name in views}
