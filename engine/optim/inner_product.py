"""Inner products whose bits depend on the numbers alone: not on threads, nor on where the arrays lie."""

from __future__ import annotations

import numpy as np

from engine.core.value import Array

BLOCK = 2**16
"""Elements that are multiplied and added at once, few enough to stay in the cache."""


def inner(a: Array, b: Array) -> float:
    """Return the inner product of two vectors of the same length, added pairwise in float64 within each block.

    BLAS would divide a long vector among however many threads there are. Overflow gives inf or NaN, without a warning.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = (slice(start, start + BLOCK) for start in range(0, a.size, BLOCK))
        return sum((float(np.add.reduce(np.multiply(a[at], b[at], dtype=np.float64))) for at in blocks), 0.0)


def largest(vector: Array) -> float:
    """Return the greatest absolute element, 0 for a vector without elements; NaN where there is one."""
    return float(np.max(np.abs(vector), initial=0.0))
