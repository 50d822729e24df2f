"""Metrics computed from counts of classes: precision, recall, F1, and the confusion matrix.

Terms and conventions are those of scikit-learn, with zero_division=0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError
from engine.core.value import Array, Value
from engine.ops.elementwise.casting import cast
from engine.ops.index.index import scatter_add
from engine.ops.shape.shape import reshape
from engine.training.metrics.metric import Goal, Statistics, ThresholdMetric, check_class_count
from engine.training.metrics.operands import Operands

Average = Literal["binary", "macro", "micro", "weighted"]


class Counts(NamedTuple):
    """True positives, predictions and targets of each class: float64 [classes]."""

    hits: Array
    predicted: Array
    actual: Array


@dataclass(frozen=True, kw_only=True)
class CountedMetric(ThresholdMetric):
    """A metric of each class, computed from its true positives, predictions and targets; and its average."""

    parts: ClassVar[tuple[str, ...]] = Counts._fields

    average: Average | None = None
    per_class: bool = False

    @abstractmethod
    def scores(self, counts: Counts) -> Array:
        """Return the score of each class from its counts, 0 where it is undefined."""

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        classes = operands.classes
        if self.average == "binary" and classes != 2:
            raise AttributeValueError(
                f"{self.row_name}: average 'binary' needs 2 classes, there are {classes}; use 'macro', 'micro' or "
                "'weighted'"
            )
        if self.per_class:
            check_class_count(self, "per_class", classes)
        target = operands.target_classes
        return {
            "hits": _counts(operands.hits(self.threshold), target, classes),
            "predicted": _counts(operands.counted, operands.predicted_classes(self.threshold), classes),
            "actual": _counts(operands.counted, target, classes),
        }

    def value(self, joined: Statistics) -> dict[str, float]:
        counts = Counts(*(joined[part].astype(FLOAT64) for part in self.parts))
        scores = self.scores(counts)
        if not counts.actual.any():
            scores = np.full_like(scores, math.nan)
        values = {self.row_name: self._averaged(scores, counts)}
        if self.per_class:
            values.update({f"{self.row_name}/{k}": score for k, score in enumerate(scores.tolist())})
        return values

    def _averaged(self, scores: Array, counts: Counts) -> float:
        total = counts.actual.sum()
        average = self.average or ("binary" if len(scores) == 2 else "macro")
        if not total:
            return math.nan
        if average == "binary":
            return float(scores[1])
        if average == "micro":
            return float(self.scores(Counts(*(count.sum() for count in counts))))
        if average == "weighted":
            return float(scores @ counts.actual / total)
        return float(scores[counts.predicted + counts.actual > 0].mean())


@dataclass(frozen=True, kw_only=True)
class Precision(CountedMetric):
    """Share of the rows predicted as a class that belong to it; 0 without predictions.

    `average`: "binary" is that of class 1 of two; "macro" the mean over the classes that occur as target or prediction;
    "weighted" the mean weighted by the number of targets; "micro" is computed over all classes together. The default is
    "binary" with two classes and "macro" with more. `per_class` adds the value of each class. A binary prediction is 1
    when its probability is greater than `threshold`. Targets equal to `ignore_index` are ignored. Without rows: NaN.
    """

    kind: ClassVar[str] = "precision"

    def scores(self, counts: Counts) -> Array:
        return _ratio(counts.hits, counts.predicted)


@dataclass(frozen=True, kw_only=True)
class Recall(CountedMetric):
    """Share of the rows of a class that are predicted as it; 0 without such rows.

    Averages and options are those of precision; the macro average is also called balanced accuracy.
    """

    kind: ClassVar[str] = "recall"

    def scores(self, counts: Counts) -> Array:
        return _ratio(counts.hits, counts.actual)


@dataclass(frozen=True, kw_only=True)
class F1(CountedMetric):
    """Harmonic mean of precision and recall, 0 where a class is neither predicted nor the target.

    Averages and options are those of precision; the macro average is the mean of the F1 of the classes.
    """

    kind: ClassVar[str] = "f1"

    def scores(self, counts: Counts) -> Array:
        return _ratio(2 * counts.hits, counts.predicted + counts.actual)


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(ThresholdMetric):
    """Number of rows of class i that are predicted as class j, as confusion_matrix/i/j; at most 64 classes.

    `normalize` divides by the rows of class i ("targets"), those predicted as j ("predictions") or all rows ("all"), if
    there are any. A binary prediction is 1 when its probability is greater than `threshold`. Targets equal to
    `ignore_index` are ignored.
    """

    kind: ClassVar[str] = "confusion_matrix"
    parts: ClassVar[tuple[str, ...]] = ("counts",)
    goal: ClassVar[Goal | None] = None
    every_step: ClassVar[bool] = False

    normalize: Literal["targets", "predictions", "all"] | None = None

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        classes = operands.classes
        check_class_count(self, "the matrix", classes)
        pairs = operands.target_classes * classes + operands.predicted_classes(self.threshold)
        counts = _counts(operands.counted, pairs, classes * classes)
        return {"counts": reshape(counts, shape=(classes, classes))}

    def value(self, joined: Statistics) -> dict[str, float]:
        counts = joined["counts"].astype(FLOAT64)
        axes = {"targets": 1, "predictions": 0, "all": None}
        if self.normalize is not None:
            counts = _ratio(counts, counts.sum(axis=axes[self.normalize], keepdims=True))
        return {f"{self.row_name}/{i}/{j}": count.item() for (i, j), count in np.ndenumerate(counts)}


def _counts(counted: Value, classes: Value, count: int) -> Value:
    """Count the rows that are not ignored by their class: int64 [count]."""
    return scatter_add(cast(counted, dtype=INT64), classes, axis=0, shape=(count,))


def _ratio(part: Array, whole: Array) -> Array:
    """Return part / whole, 0 if the whole is 0."""
    quotient = np.zeros(np.broadcast_shapes(np.shape(part), np.shape(whole)))
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient
