"""Metrics of predicted numbers, and the loss in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError
from engine.core.losses import PredictionForm
from engine.core.value import Array, Value
from engine.graph.trace import Trace
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import abs, square
from engine.ops.reduce.reduce import sum
from engine.ops.shape.creation import full
from engine.ops.shape.shape import reshape
from engine.training.metrics.metric import TAKEN, Goal, Metric, Moments, Statistics, StatisticsMerger
from engine.training.metrics.operands import NUMBERS, Operands
from engine.training.metrics.target_units import Units, loss_in_units


@dataclass(frozen=True, kw_only=True)
class Mae(Metric):
    """Mean absolute error |prediction - target| over all elements. Without elements: NaN."""

    kind: ClassVar[str] = "mae"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("error", "elements")
    goal: ClassVar[Goal | None] = "min"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        x, y = operands.in_float64()
        return {"error": sum(abs(x - y)), "elements": _count(x.size)}

    def value(self, joined: Statistics) -> dict[str, float]:
        return {self.row_name: _mean(joined)}


@dataclass(frozen=True, kw_only=True)
class Rmse(Metric):
    """Square root of the mean squared error (prediction - target)² over all elements. Without elements: NaN."""

    kind: ClassVar[str] = "rmse"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("error", "elements")
    goal: ClassVar[Goal | None] = "min"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        x, y = operands.in_float64()
        return {"error": sum(square(x - y)), "elements": _count(x.size)}

    def value(self, joined: Statistics) -> dict[str, float]:
        return {self.row_name: math.sqrt(_mean(joined))}


@dataclass(frozen=True, kw_only=True)
class R2(Metric):
    """Coefficient of determination: 1 - squared errors / squared deviations of the targets from their mean.

    It is computed for each element of a row; `average` combines them: "uniform" is their mean, "weighted" the mean
    weighted by the deviations. Equal targets give 1 if they are predicted exactly and else 0, as in scikit-learn. Fewer
    than two
    rows: NaN.
    """

    kind: ClassVar[str] = "r2"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("rows", "mean", "spread", "residual")
    joining: ClassVar[type[StatisticsMerger]] = Moments

    average: Literal["uniform", "weighted"] = "uniform"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
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
        spread, residual = joined["spread"], joined["residual"]
        if int(joined["rows"]) < 2 or not len(spread):
            return {self.row_name: math.nan}
        if self.average == "weighted" and spread.any():
            return {self.row_name: float(1 - residual.sum() / spread.sum())}
        return {self.row_name: float(np.mean(_determination(residual, spread)))}


def _determination(residual: Array, spread: Array) -> Array:
    """Return 1 - residual / spread of each element; without a spread 1 or 0."""
    exact = np.where(residual == 0, 1.0, np.where(np.isnan(residual), np.nan, 0.0))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(spread == 0, exact, 1 - residual / np.where(spread == 0, 1, spread))


def _count(number: int) -> Value:
    return full(shape=(), value=number, dtype=INT64)


def _mean(joined: Statistics) -> float:
    elements = int(joined["elements"])
    return float(joined["error"]) / elements if elements else math.nan


LOSS, NORMALIZED_LOSS = TAKEN[0], TAKEN[1]
"""The row names of the loss in the units of the data, and of the one that is trained, in normalised units."""
OF_LOSS = (LOSS, f"{LOSS}_uncertainty")
"""Names of values of the trained loss in metric rows."""


@dataclass(frozen=True, kw_only=True)
class UnitsLoss(Metric):
    """The loss of the graph in the units of the data, for fits with a normalised target; not for requests.

    Attributes:
        summed: whether the loss is a sum over rows, not their mean.
    """

    kind: ClassVar[str] = "loss_in_units"
    takes: ClassVar[tuple[PredictionForm, ...]] = NUMBERS
    parts: ClassVar[tuple[str, ...]] = ("loss", "rows")
    goal: ClassVar[Goal | None] = "min"

    summed: bool = False

    def of_graph(self, graph: Trace, units: Units) -> dict[str, Value]:
        """Return the loss, times the rows where it is their mean, and the rows of a batch."""
        total = loss_in_units(graph, units)
        rows = graph.inputs[next(iter(units))].shape[0]
        with graph.trace():
            counted = 1.0 if self.summed else float(rows)
            return {"loss": cast(total, dtype=FLOAT64) * counted, "rows": full(shape=(), value=float(rows))}

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        raise AttributeValueError(f"{self.kind} follows from the graph, not from predictions of {operands.form}")

    def value(self, joined: Statistics) -> dict[str, float]:
        divisor = 1.0 if self.summed else float(joined["rows"])
        return {self.row_name: float(joined["loss"]) / divisor}


def loss_in_units_first(values: Mapping[str, float]) -> dict[str, float]:
    """Return the values of a row with `loss` in the units of the data; the trained loss is `normalized_loss`.

    The uncertainty of the trained loss is renamed too. Rows of fits without a normalised target are not changed.
    """
    if UnitsLoss.kind not in values:
        return dict(values)
    renamed = {name: name for name in values} | {name: NORMALIZED_LOSS + name.removeprefix(LOSS) for name in OF_LOSS}
    rest = {renamed[name]: value for name, value in values.items() if name != UnitsLoss.kind}
    return {LOSS: values[UnitsLoss.kind], **rest}
