"""The report on predicted classes: confusion matrix, scores of each class, calibration, ROC curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.losses import PredictionForm
from engine.core.value import Array, Value
from engine.ops.elementwise.elementwise import exp
from engine.ops.reduce.reduce import max
from engine.training.evaluation.roc import RocCurve, log_odds, sigmoid
from engine.training.metrics.operands import PROBABLE, Operands

MAX_MATRIX = 256
"""Classes up to which there is a confusion matrix."""
MAX_CURVES = 64
"""Classes up to which there are ROC curves, and a Brier score."""

SCORES, CONFIDENCE, TARGET, COUNTED, PREDICTED = (
    f"report:{part}" for part in ("scores", "confidence", "target", "counted", "predicted")
)


def class_outputs(operands: Operands, threshold: float) -> dict[str, Value]:
    """Return what `ClassReport.add` reads of one batch; call it while tracing the graph."""
    outputs = {
        TARGET: operands.target_classes,
        COUNTED: operands.counted,
        PREDICTED: operands.predicted_classes(threshold),
    }
    if operands.form in PROBABLE:
        logarithms = operands.log_probabilities()
        outputs[CONFIDENCE] = exp(max(logarithms, axis=1))
        if operands.classes <= MAX_CURVES:
            outputs[SCORES] = logarithms
    elif not operands.by_class:
        outputs[SCORES] = operands.rows
    return outputs


class ClassReport:
    """Counts of predicted and target classes, added up batch by batch; memory depends on the classes alone."""

    def __init__(self, form: PredictionForm, classes: int, names: Sequence[str] | None, bins: int) -> None:
        """Start without rows; `names` are those of the classes, and `bins` the bins of the calibration."""
        self._form = form
        self._classes = classes
        self._names = list(names) if names is not None and len(names) == classes else [str(k) for k in range(classes)]
        self._hits, self._predicted, self._actual = (np.zeros(classes, np.int64) for _ in range(3))
        self._matrix = np.zeros((classes, classes), np.int64) if classes <= MAX_MATRIX else None
        self._bins = np.zeros((bins, 3))  # rows, sum of confidences, hits
        self._squares = 0.0
        self._calibrated = 0
        has_curves = form != "class_scores" and classes <= MAX_CURVES
        self._curves = {k: RocCurve() for k in ([1] if classes == 2 else range(classes))} if has_curves else {}

    def add(self, outputs: Mapping[str, Array]) -> None:
        """Add the outputs of one batch; they may be overwritten afterwards."""
        kept = outputs[COUNTED]
        target, predicted = outputs[TARGET][kept], outputs[PREDICTED][kept]
        hit = target == predicted
        self._hits += np.bincount(target[hit], minlength=self._classes)
        self._predicted += np.bincount(predicted, minlength=self._classes)
        self._actual += np.bincount(target, minlength=self._classes)
        if self._matrix is not None:
            pairs = np.bincount(target * self._classes + predicted, minlength=self._classes**2)
            self._matrix += pairs.reshape(self._classes, self._classes)
        scores = outputs[SCORES][kept] if SCORES in outputs else None
        if scores is not None:
            self._add_scores(scores.astype(np.float64), target, predicted, hit)
        elif CONFIDENCE in outputs:
            self._add_confidence(outputs[CONFIDENCE][kept], hit)

    def _add_scores(self, scores: Array, target: Array, predicted: Array, hit: Array) -> None:
        if scores.ndim == 1:
            odds, chances = self._of_one(scores)
            self._add_confidence(np.where(predicted == 1, chances, 1.0 - chances), hit)
            self._squares += float(((chances - target) ** 2).sum())
            self._curves[1].add(odds, target == 1)
            return
        chances = np.exp(scores)
        self._add_confidence(chances.max(axis=1), hit)
        if self._classes == 2:
            with np.errstate(invalid="ignore"):
                self._curves[1].add(scores[:, 1] - scores[:, 0], target == 1)
            self._squares += float(((chances[:, 1] - target) ** 2).sum())
            return
        of_target = np.take_along_axis(chances, target[:, None], axis=1)[:, 0]
        self._squares += float((chances**2).sum() + (1.0 - 2.0 * of_target).sum())
        for k, curve in self._curves.items():
            curve.add(log_odds(scores[:, k]), target == k)

    def _of_one(self, scores: Array) -> tuple[Array, Array]:
        """Return log-odds and probabilities of class 1 from predictions without an axis of classes."""
        if self._form == "binary_logits":
            return scores, sigmoid(scores)
        with np.errstate(divide="ignore", invalid="ignore"):
            return log_odds(np.log(scores)), scores

    def _add_confidence(self, confidence: Array, hit: Array) -> None:
        count = len(self._bins)
        known = np.isfinite(confidence)
        confidence, hit = confidence[known], hit[known]
        place = np.clip((confidence * count).astype(np.int64), 0, count - 1)
        self._bins[:, 0] += np.bincount(place, minlength=count)
        self._bins[:, 1] += np.bincount(place, confidence, minlength=count)
        self._bins[:, 2] += np.bincount(place, hit, minlength=count)
        self._calibrated += len(confidence)

    def report(self, points: int) -> dict[str, Any]:
        """Return the report as plain data, with ROC curves of at most `points` points."""
        rows = int(self._actual.sum())
        return {
            "classes": self._names,
            "rows": rows,
            "accuracy": int(self._hits.sum()) / rows if rows else None,
            "confusion_matrix": None if self._matrix is None else self._matrix.tolist(),
            "per_class": [self._of_class(k) for k in range(self._classes)],
            "calibration": self._calibration(),
            "roc": self._roc(points),
        }

    def _of_class(self, k: int) -> dict[str, Any]:
        hits, predicted, actual = int(self._hits[k]), int(self._predicted[k]), int(self._actual[k])
        return {
            "name": self._names[k],
            "support": actual,
            "predicted": predicted,
            "precision": hits / predicted if predicted else None,
            "recall": hits / actual if actual else None,
            "f1": 2 * hits / (predicted + actual) if predicted + actual else None,
        }

    def _calibration(self) -> dict[str, Any] | None:
        total = int(self._bins[:, 0].sum())
        if not total:
            return None
        width = 1.0 / len(self._bins)
        bins: list[dict[str, Any]] = []
        gaps = []
        for place, (count, confidence, hits) in enumerate(self._bins.tolist()):
            means = (confidence / count, hits / count) if count else (None, None)
            edges = {"lower": place * width, "upper": (place + 1) * width}
            bins.append({**edges, "rows": int(count), "confidence": means[0], "accuracy": means[1]})
            gaps.append((count, abs(confidence - hits) / count if count else 0.0))
        return {
            "bins": bins,
            "expected_error": sum(count * gap for count, gap in gaps) / total,
            "maximum_error": float(np.max([gap for _, gap in gaps])),
            "brier": self._squares / total if self._curves and np.isfinite(self._squares) else None,
        }

    def _roc(self, points: int) -> list[dict[str, Any]] | None:
        if not self._curves:
            return None
        found = ((k, curve.report(points)) for k, curve in self._curves.items())
        return [{"name": self._names[k], **report} for k, report in found if report is not None]
