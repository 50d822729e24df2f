"""Matrices for tests of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.value import Array

WIDER = {np.float32: np.float64, np.float64: np.longdouble}
"""In which products of each type are as good as exact."""


def part(draw: np.random.Generator, rows: int, columns: int, dtype: Any) -> Array:
    """Return a matrix whose rows lie apart in an array of NaN."""
    before, behind = draw.integers(1, 20, 2)
    whole = np.full((rows, before + columns + behind), np.nan, dtype)
    whole[:, before : before + columns] = draw.standard_normal((rows, columns))
    return whole[:, before : before + columns]
