"""How the statistics of batches become those of all their rows: added up, kept one after another, or merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from engine.core.dtypes import FLOAT64, INT64, is_float
from engine.core.value import Array

Statistics = Mapping[str, Array]


class Joining(Protocol):
    """The statistics of the batches so far. Batches count in the order in which they are added."""

    def add(self, batch: Statistics) -> None:
        """Take in another batch; its arrays may be overwritten afterwards."""

    def arrays(self) -> dict[str, Array]:
        """Return the statistics of all rows so far; nothing before the first batch."""


class Sums:
    """Sums: integers in int64, numbers in float64."""

    def __init__(self) -> None:
        """Start without batches."""
        self._totals: dict[str, Array] = {}

    def add(self, batch: Statistics) -> None:
        """Add the statistics of a batch."""
        for name, array in batch.items():
            total = array.astype(FLOAT64 if is_float(array.dtype) else INT64)
            self._totals[name] = self._totals[name] + total if name in self._totals else total

    def arrays(self) -> dict[str, Array]:
        """Return the totals."""
        return dict(self._totals)


class Collection:
    """Every row, for what cannot be computed from less: memory grows with the rows."""

    def __init__(self) -> None:
        """Start without batches."""
        self._parts: dict[str, list[Array]] = {}

    def add(self, batch: Statistics) -> None:
        """Copy the rows of a batch."""
        for name, array in batch.items():
            self._parts.setdefault(name, []).append(array.copy())

    def arrays(self) -> dict[str, Array]:
        """Return all rows one after another."""
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}


class Moments:
    """Sums, and the squared deviations of targets from a mean that moves with the rows.

    `rows`, `mean` and `spread` (the sum of squared deviations from the mean) are merged by the formula of Chan, Golub
    and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979), which stays exact
    where the targets lie far from 0; what else there is adds up.
    """

    def __init__(self) -> None:
        """Start without batches."""
        self._merged: dict[str, Array] = {}

    def add(self, batch: Statistics) -> None:
        """Merge the statistics of a batch; one without rows changes nothing."""
        if not self._merged or not self._merged["rows"]:
            self._merged = {name: array.copy() for name, array in batch.items()}
        elif batch["rows"]:
            self._merged = _merged(self._merged, batch)

    def arrays(self) -> dict[str, Array]:
        """Return the statistics of all rows."""
        return dict(self._merged)


def _merged(a: Statistics, b: Statistics) -> dict[str, Array]:
    share = b["rows"] / (a["rows"] + b["rows"])
    shift = b["mean"] - a["mean"]
    merged = {name: a[name] + b[name] for name in a}
    merged["mean"] = a["mean"] + shift * share
    merged["spread"] = merged["spread"] + shift**2 * (a["rows"] * share)
    return merged
