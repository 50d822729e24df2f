"""Smallest, largest and mean value of a column, gathered block by block."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Statistics:
    """Running statistics of one column over its finite values.

    `missing` counts NaN. Integers stay exact; `minimum`, `maximum` and `mean` are None where no finite value was seen,
    so every field can be written as JSON.
    """

    minimum: float | None = None
    maximum: float | None = None
    missing: int = 0
    count: int = 0
    _mean: float = 0.0

    @property
    def mean(self) -> float | None:
        """Mean of the finite values, or None where there is none or where it exceeds float64."""
        return self._mean if self.count and math.isfinite(self._mean) else None

    def add(self, block: NDArray[Any]) -> None:
        """Count in a flat block of any real dtype."""
        if block.dtype.kind == "f":
            block = self._finite(block)
        elif block.dtype.kind == "b":
            block = block.view(np.uint8)
        if not block.size:
            return
        low, high = block.min().item(), block.max().item()
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)
        self.count += block.size
        with np.errstate(over="ignore", invalid="ignore"):
            mean = block.mean(dtype=np.float64).item()
            # Means are merged by weight (Chan, Golub, LeVeque 1979), so that long columns neither overflow nor drift.
            self._mean += (mean - self._mean) * (block.size / self.count)

    def _finite(self, block: NDArray[Any]) -> NDArray[Any]:
        if block.dtype == np.float16:
            block = block.astype(np.float32)  # exact, and NumPy reduces float16 very slowly
        finite = np.isfinite(block)
        if finite.all():
            return block
        self.missing += int(np.count_nonzero(np.isnan(block)))
        kept: NDArray[Any] = block[finite]
        return kept
