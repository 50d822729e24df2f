"""The report on predicted numbers: sizes of the errors, in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.value import Array, Value
from engine.training.metrics.operands import Operands

PREDICTIONS, TARGETS = "report:predictions", "report:targets"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SAMPLE = 2**17
"""Errors that are kept for quantiles; of more, evenly spaced ones."""


def number_outputs(operands: Operands) -> dict[str, Value]:
    """Return what `NumberReport.add` reads of one batch; call it while tracing the graph."""
    predictions, targets = operands.in_float64()
    return {PREDICTIONS: predictions, TARGETS: targets}


class NumberReport:
    """Errors (prediction - target) over all elements, added up batch by batch in bounded memory."""

    def __init__(self) -> None:
        """Start without rows."""
        self._count = 0
        self._sum = self._absolute = self._square = self._largest = 0.0
        self._kept: list[Array] = []
        self._stride = 1

    def add(self, outputs: Mapping[str, Array]) -> None:
        """Add the outputs of one batch; they may be overwritten afterwards."""
        errors = (outputs[PREDICTIONS] - outputs[TARGETS]).reshape(-1)
        first = -self._count % self._stride
        self._kept.append(errors[first :: self._stride].copy())
        self._count += errors.size
        with np.errstate(over="ignore", invalid="ignore"):
            self._sum += float(errors.sum())
            self._absolute += float(np.abs(errors).sum())
            self._square += float((errors**2).sum())
            self._largest = float(np.maximum(self._largest, np.abs(errors).max(initial=0.0)))
        while sum(map(len, self._kept)) > SAMPLE:
            self._stride *= 2
            self._kept = [np.concatenate(self._kept)[::2]]

    def report(self) -> dict[str, Any]:
        """Return the report as plain data; None where a number is not finite or there are no rows."""
        count = self._count
        errors = np.concatenate(self._kept) if self._kept else np.empty(0)
        known = errors[np.isfinite(errors)]
        quantiles = np.quantile(known, QUANTILES).tolist() if len(known) else [None] * len(QUANTILES)
        return {
            "elements": count,
            "mean_error": _finite(self._sum / count if count else math.nan),
            "mean_absolute_error": _finite(self._absolute / count if count else math.nan),
            "root_mean_squared_error": _finite(math.sqrt(self._square / count) if count else math.nan),
            "largest_error": _finite(self._largest if count else math.nan),
            "error_quantiles": [{"share": q, "error": e} for q, e in zip(QUANTILES, quantiles, strict=True)],
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
