"""Metrics of numbers: mean absolute error, root of the mean squared error, coefficient of determination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from engine.core.dtypes import INT64
from engine.core.value import Array, Value
from engine.ops.creation import full
from engine.ops.elementwise import abs, square
from engine.ops.reduce import sum
from engine.ops.shape import reshape
from engine.training.metrics.forms import NUMBERS, PredictionForm
from engine.training.metrics.joining import Joining, Moments, Statistics
from engine.training.metrics.metric import Goal, Metric
from engine.training.metrics.operands import Operands


@dataclass(frozen=True, kw_only=True)
class Mae(Metric):
    """Mean absolute error |prediction - target| over all elements. None: NaN."""

    kind: ClassVar[str] = "mae"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("error", "elements")
    goal: ClassVar[Goal | None] = "min"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Add up the errors in float64."""
        x, y = operands.in_float64()
        return {"error": sum(abs(x - y)), "elements": _count(x.size)}

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the mean error."""
        return {self.row_name: _mean(joined)}


@dataclass(frozen=True, kw_only=True)
class Rmse(Metric):
    """Square root of the mean squared error (prediction - target)² over all elements. None: NaN."""

    kind: ClassVar[str] = "rmse"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("error", "elements")
    goal: ClassVar[Goal | None] = "min"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Add up the squared errors in float64."""
        x, y = operands.in_float64()
        return {"error": sum(square(x - y)), "elements": _count(x.size)}

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the root of the mean."""
        return {self.row_name: math.sqrt(_mean(joined))}


@dataclass(frozen=True, kw_only=True)
class R2(Metric):
    """Coefficient of determination: 1 - squared errors / squared deviations of the targets from their mean.

    Each place behind the axis of rows has its own; `average` says how they become one number: "uniform" is their mean,
    "weighted" the mean by the deviations. Targets that are all equal give 1 where they are met exactly and else 0, as
    in scikit-learn. Fewer than two rows: NaN.
    """

    kind: ClassVar[str] = "r2"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("rows", "mean", "spread", "residual")
    joining: ClassVar[type[Joining]] = Moments

    average: Literal["uniform", "weighted"] = "uniform"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Return the rows, and for each place the mean of the targets, their spread and the squared errors."""
        x, y = operands.in_float64()
        rows = y.shape[0] if y.ndim else 1
        places = math.prod(y.shape[1:])
        x, y = reshape(x, shape=(rows, places)), reshape(y, shape=(rows, places))
        mean = sum(y, axis=0) / max(rows, 1)
        return {
            "rows": _count(rows),
            "mean": mean,
            "spread": sum(square(y - mean), axis=0),
            "residual": sum(square(x - y), axis=0),
        }

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the average over the places."""
        spread, residual = joined["spread"], joined["residual"]
        if int(joined["rows"]) < 2 or not len(spread):
            return {self.row_name: math.nan}
        if self.average == "weighted" and spread.any():
            return {self.row_name: float(1 - residual.sum() / spread.sum())}
        return {self.row_name: float(np.mean(_determination(residual, spread)))}


def _determination(residual: Array, spread: Array) -> Array:
    """Return 1 - residual / spread of each place; without a spread 1 or 0."""
    exact = np.where(residual == 0, 1.0, np.where(np.isnan(residual), np.nan, 0.0))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(spread == 0, exact, 1 - residual / np.where(spread == 0, 1, spread))


def _count(number: int) -> Value:
    return full(shape=(), value=number, dtype=INT64)


def _mean(joined: Statistics) -> float:
    elements = int(joined["elements"])
    return float(joined["error"]) / elements if elements else math.nan
