"""Receiver operating characteristic of one class, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.core.value import Array

EXACT_SCORES = 2**20
"""Scores that are kept; with more of them, all are counted in bins."""
BINS = 2**13
LARGEST = 40.0
"""Bins are of equal width in log-odds from -LARGEST to LARGEST; what is beyond counts in the outermost ones."""


class RocCurve:
    """The ROC curve of a class against all others, from scores and targets that arrive in batches.

    Scores are log-odds. Up to `EXACT_SCORES` of them the curve is exact. Then they are counted in bins of 0.01: each
    point of the curve is still exact at its threshold, and the area differs by less than the share of pairs of rows,
    one of the class and one not, that lie in one bin.
    """

    def __init__(self) -> None:
        """Start without rows."""
        self._scores: list[Array] = []
        self._positive: list[Array] = []
        self._count = 0
        self._bins: Array | None = None
        self._has_nan = False

    @property
    def exact(self) -> bool:
        """Whether every score is kept."""
        return self._bins is None

    def add(self, scores: Array, positive: Array) -> None:
        """Add log-odds (float64 [rows]) of rows, which are of the class or not (bool [rows])."""
        self._has_nan = self._has_nan or bool(np.isnan(scores).any())
        if self._has_nan:
            return
        if self._bins is not None:
            self._bins += _binned(scores, positive)
            return
        self._scores.append(scores.copy())
        self._positive.append(positive.copy())
        self._count += len(scores)
        if self._count > EXACT_SCORES:
            self._bins = np.zeros((2, BINS), np.int64)
            for kept, of_class in zip(self._scores, self._positive, strict=True):
                self._bins += _binned(kept, of_class)
            self._scores, self._positive = [], []

    def report(self, points: int) -> dict[str, Any] | None:
        """Return the area and at most `points` points; None without rows of both kinds, or if a score is NaN."""
        thresholds, won, lost = self._counted()
        positives, negatives = int(won.sum()), int(lost.sum())
        if self._has_nan or not positives or not negatives:
            return None
        before = np.cumsum(won) - won
        # Twice the number of pairs in order, so that a tie counts 1 and everything is an integer.
        pairs = sum(int(n) * (2 * int(b) + int(w)) for n, b, w in zip(lost, before, won, strict=True))
        curve = (thresholds, np.cumsum(won) / positives, np.cumsum(lost) / negatives)
        return {
            "auc": pairs / (2 * positives * negatives),
            "exact": self.exact,
            "points": list(_points(*curve, points)),
        }

    def _counted(self) -> tuple[Array, Array, Array]:
        """Return thresholds in falling order, and how many rows of both kinds have each as their score."""
        if self._bins is not None:
            filled = np.flatnonzero(self._bins.sum(axis=0))[::-1]
            lower = -LARGEST + filled * (2 * LARGEST / BINS)
            return lower, self._bins[1, filled], self._bins[0, filled]
        if not self._count:
            return np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
        scores, positive = np.concatenate(self._scores), np.concatenate(self._positive)
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
        won = np.add.reduceat(positive[order].astype(np.int64), starts)
        return ranked[starts], won, np.diff(np.append(starts, len(ranked))) - won


def log_odds(log_probabilities: Array) -> Array:
    """Return log(p / (1 - p)) of logarithms of probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(log_probabilities - np.log(-np.expm1(np.minimum(log_probabilities, 0.0))))


def sigmoid(log_odds: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-log_odds)))


def _binned(scores: Array, positive: Array) -> Array:
    """Count scores by kind and bin, int64 [2, BINS]."""
    place = np.clip((scores + LARGEST) * (BINS / (2 * LARGEST)), 0, BINS - 1).astype(np.int64)
    return np.bincount(place + positive * BINS, minlength=2 * BINS).reshape(2, BINS)


def _points(thresholds: Array, true: Array, false: Array, most: int) -> Iterator[dict[str, float | None]]:
    """Yield points at equal distances along the curve, its ends among them."""
    yield {"false_positive_rate": 0.0, "true_positive_rate": 0.0, "threshold": None}
    wanted = np.linspace(0, 2, max(most - 1, 1) + 1)[1:]
    chosen = np.unique(np.minimum(np.searchsorted(true + false, wanted - 1e-12), len(true) - 1))
    for place in chosen.tolist():
        threshold = float(sigmoid(thresholds[place]))
        yield {
            "false_positive_rate": float(false[place]),
            "true_positive_rate": float(true[place]),
            "threshold": threshold if math.isfinite(threshold) else None,
        }
