"""Outputs that predict classes, read as classes and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.core.dtypes import FLOAT64
from engine.core.losses import PredictionForm
from engine.core.value import Array
from engine.training.metrics.operands import BY_CLASS, PROBABLE


@dataclass(frozen=True, slots=True)
class ClassOutput:
    """How the values of an output stand for classes.

    Attributes:
        form: the form of the predictions.
        axis: the class axis of an output with one: 1 (or the only one), or -1 for the last one.
        names: the class names, if the target was text in training.
    """

    form: PredictionForm
    axis: int
    names: Sequence[str] | None

    @property
    def has_probabilities(self) -> bool:
        """Whether the values determine probabilities."""
        return self.form in PROBABLE or self.form not in BY_CLASS

    def class_names(self, classes: int) -> list[str]:
        """Return the names of that number of classes; numbers where the target had no names."""
        known = self.names is not None and len(self.names) == classes
        return list(self.names or ()) if known else [str(number) for number in range(classes)]

    def scores(self, values: Array) -> Array:
        """Return a score for each class along the last axis: probabilities (float64) where the form has them.

        A binary prediction becomes the probabilities of classes 0 and 1; an axis of extent 1 behind the rows is
        dropped.
        """
        values = np.asarray(values, FLOAT64)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.form not in BY_CLASS:
                values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
                chance = 1.0 / (1.0 + np.exp(-values)) if self.form == "binary_logits" else values
                return np.stack([1.0 - chance, chance], axis=-1)
            axis = min(self.axis, values.ndim - 1) if self.axis >= 0 else values.ndim + self.axis
            moved = np.moveaxis(values, axis, -1)
            if self.form == "class_log_probabilities":
                return np.asarray(np.exp(moved))
            if self.form != "class_logits":
                return moved
            shifted = np.exp(moved - moved.max(axis=-1, keepdims=True))
            return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))

    def predicted(self, scores: Array, threshold: float = 0.5) -> Array:
        """Return the class (int64) that scores of `scores` predict: the first highest one (NaN is the highest).

        Of a binary prediction it is 1 where its probability is greater than `threshold`.
        """
        if self.form not in BY_CLASS:
            return (scores[..., 1] > threshold).astype(np.int64)
        return np.asarray(scores.argmax(axis=-1), np.int64)
