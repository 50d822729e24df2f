"""The area under the ROC curve, exact: every row is kept, and ties count half."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from engine.core.value import Array, Value
from engine.ops.compare import where
from engine.ops.shape import reshape, slice
from engine.training.metrics.joining import Collection, Joining, Statistics
from engine.training.metrics.metric import ClassMetric, check_class_count
from engine.training.metrics.operands import Operands


@dataclass(frozen=True, kw_only=True)
class Auc(ClassMetric):
    """Area under the ROC curve: how likely a row of the class has a higher score than another row; ties count half.

    With two classes it is that of class 1. With more, each class is held against the rest by its probability (or
    score), and `average` joins them: "macro" is the mean over the classes that occur among the targets, "weighted" the
    mean by how often they do. At most 64 classes. Every row is kept, with up to 8 bytes for each class. Targets equal
    to `ignore_index` are left out. Fewer than two classes among the targets, or a score that is NaN: NaN.
    """

    kind: ClassVar[str] = "auc"
    parts: ClassVar[tuple[str, ...]] = ("scores", "targets")
    joining: ClassVar[type[Joining]] = Collection
    every_step: ClassVar[bool] = False

    average: Literal["macro", "weighted"] = "macro"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Return scores [rows] or [rows, classes] and target classes [rows], -1 where a row is left out."""
        check_class_count(self, "the scores kept", operands.classes)
        return {"scores": _scores(operands), "targets": where(operands.counted, operands.target_classes, -1)}

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the area, or the average of the classes' areas."""
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
    # Twice the number of pairs, so that a tie counts 1 and everything stays an integer.
    pairs = won * (2 * (np.cumsum(lost) - lost) + lost)
    return int(pairs.sum()) / (2 * positives * negatives)


def _scores(operands: Operands) -> Value:
    """Return what rows are ordered by: of two classes how far the second is ahead, of more the score of each."""
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
