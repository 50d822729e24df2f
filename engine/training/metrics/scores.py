"""Metrics of predicted scores: accuracies, perplexities, and areas under curves."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.dtypes import FLOAT64
from engine.core.errors import AttributeValueError
from engine.core.losses import PredictionForm
from engine.core.value import Array, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, gt, isnan, logical_and, logical_or, lt, where
from engine.ops.index.index import gather
from engine.ops.loss.softmax_cross_entropy import IGNORE, softmax_cross_entropy
from engine.ops.reduce.reduce import sum
from engine.ops.shape.creation import arange
from engine.ops.shape.shape import reshape, slice
from engine.training.metrics.metric import (
    ClassMetric,
    Collection,
    Goal,
    Statistics,
    StatisticsMerger,
    ThresholdMetric,
    check_class_count,
)
from engine.training.metrics.operands import BY_CLASS, PROBABLE, Operands


@dataclass(frozen=True, kw_only=True)
class Accuracy(ThresholdMetric):
    """Share of rows whose predicted class is the target class; of equal scores the first class is predicted.

    A binary prediction is 1 when its probability is greater than `threshold`. Targets equal to `ignore_index` are
    ignored, by default those that the loss ignores. Without rows: NaN.
    """

    kind: ClassVar[str] = "accuracy"
    parts: ClassVar[tuple[str, ...]] = ("hits", "rows")

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        return {"hits": sum(operands.hits(self.threshold)), "rows": operands.row_count}

    def value(self, joined: Statistics) -> dict[str, float]:
        return {self.row_name: share(joined)}


@dataclass(frozen=True, kw_only=True)
class TopKAccuracy(ClassMetric):
    """Share of rows whose target class is among the `k` classes with the highest scores; of ties the first ones.

    With k = 1 it is the accuracy. Targets equal to `ignore_index` are ignored, by default those that the loss ignores.
    Without rows: NaN.
    """

    kind: ClassVar[str] = "top_k_accuracy"
    takes: ClassVar[tuple[PredictionForm, ...]] = BY_CLASS
    parts: ClassVar[tuple[str, ...]] = ("hits", "rows")

    k: Annotated[int, Range(1)] = 5

    @property
    def default_name(self) -> str:
        return f"top_{self.k}_accuracy"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        if self.k > operands.classes:
            raise AttributeValueError(f"{self.row_name}: k {self.k} must be at most {operands.classes}, the classes")
        hits = logical_and(lt(_rank(operands.rows, operands.target_classes), self.k), operands.counted)
        return {"hits": sum(hits), "rows": operands.row_count}

    def value(self, joined: Statistics) -> dict[str, float]:
        return {self.row_name: share(joined)}


def share(joined: Statistics) -> float:
    """Return hits / rows, NaN without rows."""
    rows = int(joined["rows"])
    return int(joined["hits"]) / rows if rows else math.nan


def _rank(rows: Value, target: Value) -> Value:
    """Count the classes ranked before the target, int64 [rows]: higher ones, and equal ones before it.

    As for argmax, NaN is higher than any number, so that rank 0 is the argmax.
    """
    target = reshape(target, shape=(target.size, 1))
    own = gather(rows, target, axis=1)
    before = lt(arange(stop=rows.shape[1]), target)
    nan = isnan(rows)
    higher = logical_or(logical_or(gt(rows, own), nan), logical_and(eq(rows, own), before))
    return sum(where(isnan(own), logical_and(nan, before), higher), axis=1)


@dataclass(frozen=True, kw_only=True)
class Perplexity(ClassMetric):
    """exp of the mean over all rows (tokens) of -log p(target), without class weights and label smoothing.

    Soft targets weight the logarithms of all classes. Targets equal to `ignore_index` are ignored, by default those
    that the loss ignores. Without rows: NaN.
    """

    kind: ClassVar[str] = "perplexity"
    takes: ClassVar[tuple[PredictionForm, ...]] = PROBABLE
    parts: ClassVar[tuple[str, ...]] = ("surprise", "rows")
    goal: ClassVar[Goal | None] = "min"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        return {"surprise": sum(_surprise(operands)), "rows": operands.row_count}

    def value(self, joined: Statistics) -> dict[str, float]:
        rows, perplexity = int(joined["rows"]), math.inf
        with suppress(OverflowError):
            perplexity = math.exp(float(joined["surprise"]) / rows) if rows else math.nan
        return {self.row_name: perplexity}


def _surprise(operands: Operands) -> Value:
    """Return -log p(target) of each row in float64, 0 for ignored rows."""
    if operands.soft:
        target = cast(operands.target_rows, dtype=FLOAT64)
        return -sum(where(eq(target, 0.0), 0.0, target * operands.log_probabilities()), axis=1)
    if operands.form == "class_logits":
        # What cross_entropy itself computes: a plan that holds both computes it once.
        ignored = IGNORE if operands.ignore_index is None else operands.ignore_index
        losses, _ = softmax_cross_entropy(operands.rows, operands.target_rows, ignore_index=ignored)
        return cast(losses, dtype=FLOAT64)
    target = reshape(operands.target_classes, shape=(operands.target_rows.size, 1))
    picked = reshape(gather(operands.log_probabilities(), target, axis=1), shape=(target.size,))
    return where(operands.counted, -picked, 0.0)


@dataclass(frozen=True, kw_only=True)
class Auc(ClassMetric):
    """Area under the ROC curve: the probability that a row of the class has a higher score than another row, ties as
    half.

    With two classes it is that of class 1. With more, each class is compared with the others by its probability (or
    score), and `average` combines them: "macro" is the mean over the classes that occur among the targets, "weighted"
    the mean weighted by their counts. At most 64 classes. Every row is stored, with up to 8 bytes for each class.
    Targets equal to `ignore_index` are ignored. With fewer than two classes among the targets, or a score that is NaN:
    NaN.
    """

    kind: ClassVar[str] = "auc"
    parts: ClassVar[tuple[str, ...]] = ("scores", "targets")
    joining: ClassVar[type[StatisticsMerger]] = Collection
    every_step: ClassVar[bool] = False

    average: Literal["macro", "weighted"] = "macro"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        check_class_count(self, "the scores kept", operands.classes)
        return {"scores": _scores(operands), "targets": where(operands.counted, operands.target_classes, -1)}

    def value(self, joined: Statistics) -> dict[str, float]:
        kept = joined["targets"] >= 0
        scores, targets = joined["scores"][kept], joined["targets"][kept]
        if scores.ndim == 1:
            return {self.row_name: area(scores, targets == 1)}
        areas = {k: area(scores[:, k], targets == k) for k in np.unique(targets).tolist()}
        if len(areas) < 2:
            return {self.row_name: math.nan}
        weights = None if self.average == "macro" else [np.count_nonzero(targets == k) for k in areas]
        return {self.row_name: float(np.average(list(areas.values()), weights=weights))}


def area(scores: Array, positive: Array) -> float:
    """Return the area under the ROC curve of scores [rows] for the rows that are positive (bool [rows]).

    It is the statistic of Mann and Whitney over the number of pairs, counted in integers. NaN when all or none are
    positive, or a score is NaN.
    """
    positives = np.count_nonzero(positive)
    negatives = len(positive) - positives
    if not positives or not negatives or np.isnan(scores).any():
        return math.nan
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    won = np.add.reduceat(positive[order].astype(np.int64), starts)
    lost = np.diff(np.append(starts, len(ranked))) - won
    # Twice the number of pairs, so that a tie is 1 and all counts are integers.
    pairs = won * (2 * (np.cumsum(lost) - lost) + lost)
    return int(pairs.sum()) / (2 * positives * negatives)


def _scores(operands: Operands) -> Value:
    """Return the scores that order the rows: of two classes their difference, of more the score of each."""
    if not operands.by_class:
        return operands.rows
    logits = operands.form in ("class_logits", "class_scores")
    if operands.classes == 2 and logits:
        return _column(operands.rows, 1) - _column(operands.rows, 0)
    rows = operands.rows if operands.form == "class_scores" else operands.log_probabilities()
    return _column(rows, 1) if operands.classes == 2 else rows


def _column(rows: Value, index: int) -> Value:
    column = slice(rows, axis=1, start=index, stop=index + 1)
    return reshape(column, shape=(rows.shape[0],))
