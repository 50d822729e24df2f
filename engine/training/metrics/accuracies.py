"""Accuracy: the share of rows whose class is predicted, alone or among the k highest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.core.constraints import Range
from engine.core.errors import AttributeValueError
from engine.core.value import Value
from engine.ops.compare import eq, gt, isnan, logical_and, logical_or, lt, where
from engine.ops.creation import arange
from engine.ops.index import gather
from engine.ops.reduce import sum
from engine.ops.shape import reshape
from engine.training.metrics.forms import BY_CLASS, PredictionForm
from engine.training.metrics.joining import Statistics
from engine.training.metrics.metric import ClassMetric, ThresholdMetric
from engine.training.metrics.operands import Operands


@dataclass(frozen=True, kw_only=True)
class Accuracy(ThresholdMetric):
    """Share of rows whose predicted class is the target class; of equal scores the first class is predicted.

    A binary prediction is 1 when its probability is greater than `threshold`. Targets equal to `ignore_index` are left
    out, by default those the loss leaves out. No rows: NaN.
    """

    kind: ClassVar[str] = "accuracy"
    parts: ClassVar[tuple[str, ...]] = ("hits", "rows")

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Count the rows and those predicted right."""
        return {"hits": sum(operands.hits(self.threshold)), "rows": operands.row_count}

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return hits / rows."""
        return {self.row_name: share(joined)}


@dataclass(frozen=True, kw_only=True)
class TopKAccuracy(ClassMetric):
    """Share of rows whose target class is among the `k` classes with the highest scores, of equals the first ones.

    With k = 1 it is the accuracy. Targets equal to `ignore_index` are left out, by default those the loss leaves out.
    No rows: NaN.
    """

    kind: ClassVar[str] = "top_k_accuracy"
    takes: ClassVar[tuple[PredictionForm, ...]] = BY_CLASS
    parts: ClassVar[tuple[str, ...]] = ("hits", "rows")

    k: Annotated[int, Range(1)] = 5

    @property
    def default_name(self) -> str:
        """It tells k."""
        return f"top_{self.k}_accuracy"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Count the rows and those whose class is near enough to the top."""
        if self.k > operands.classes:
            raise AttributeValueError(f"{self.row_name}: k {self.k} must be at most {operands.classes}, the classes")
        hits = logical_and(lt(_rank(operands.rows, operands.target_classes), self.k), operands.counted)
        return {"hits": sum(hits), "rows": operands.row_count}

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return hits / rows."""
        return {self.row_name: share(joined)}


def share(joined: Statistics) -> float:
    """Return hits / rows, NaN without rows."""
    rows = int(joined["rows"])
    return int(joined["hits"]) / rows if rows else math.nan


def _rank(rows: Value, target: Value) -> Value:
    """Count the classes ahead of the target's own, int64 [rows]: higher ones, and equal ones before it.

    As for argmax, NaN is higher than any number, so that rank 0 is what it finds.
    """
    target = reshape(target, shape=(target.size, 1))
    own = gather(rows, target, axis=1)
    before = lt(arange(stop=rows.shape[1]), target)
    nan = isnan(rows)
    higher = logical_or(logical_or(gt(rows, own), nan), logical_and(eq(rows, own), before))
    return sum(where(isnan(own), logical_and(nan, before), higher), axis=1)
