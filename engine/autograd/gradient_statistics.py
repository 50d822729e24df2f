"""What the gradients of named leaves look like: the first thing to ask for when a training diverges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.core.value import Value


@dataclass(frozen=True, slots=True)
class GradientStatistics:
    """One gradient in five numbers.

    Attributes:
        norm: the square root of the sum of squares, in float64.
        smallest: the smallest element that is not NaN.
        largest: the largest one.
        nan: how many elements are NaN.
        inf: how many are infinite.
    """

    norm: float
    smallest: float
    largest: float
    nan: int
    inf: int

    @property
    def finite(self) -> bool:
        """Whether every element is a finite number."""
        return not (self.nan or self.inf)


def gradient_statistics(leaves: Mapping[str, Value]) -> dict[str, GradientStatistics | None]:
    """Return the statistics of `.grad` of every leaf by name; None for a leaf that has none."""
    return {name: None if leaf.grad is None else _statistics(leaf.grad) for name, leaf in leaves.items()}


def _statistics(gradient: Value) -> GradientStatistics:
    numbers = gradient.numpy().astype(np.float64)
    nan = np.isnan(numbers)
    known = numbers[~nan]
    with np.errstate(all="ignore"):
        norm = float(np.sqrt(np.square(numbers).sum()))
    return GradientStatistics(
        norm=norm,
        smallest=float(known.min()) if known.size else float("nan"),
        largest=float(known.max()) if known.size else float("nan"),
        nan=int(nan.sum()),
        inf=int(np.isinf(numbers).sum()),
    )
