"""Operands: predictions and targets of one batch, and quantities computed from them in ops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from engine.core.dtypes import BOOL, FLOAT64, INT64, computing_dtype, is_float
from engine.core.errors import ShapeError
from engine.core.losses import PredictionForm
from engine.core.value import Shape, Value
from engine.ops.activation.softmax import log_softmax
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, gt, logical_and, ne, where
from engine.ops.elementwise.elementwise import log
from engine.ops.loss.softmax_cross_entropy import IGNORE, class_index
from engine.ops.reduce.reduce import argmax, sum
from engine.ops.shape.creation import ones
from engine.ops.shape.shape import permute, reshape


@dataclass(frozen=True, eq=False)
class Operands:
    """Predictions and targets of one batch.

    Attributes:
        predictions: of the shape that `form` requires.
        targets: classes (integers, without the class axis) or probabilities; 0 or 1; numbers.
        form: the form of the predictions.
        axis: the class axis: 1 (or the only axis), or -1 for the last one.
        ignore_index: targets of this class are ignored; None if there is no such class.

    Raises:
        ShapeError: predictions and targets that cannot be compared in this form.
    """

    predictions: Value
    targets: Value
    form: PredictionForm
    axis: int = 1
    ignore_index: int | None = None

    def __post_init__(self) -> None:
        fault = misfit(self.form, self.axis, self.predictions, self.targets)
        if fault is not None:
            raise ShapeError(fault)

    @property
    def by_class(self) -> bool:
        """Whether the predictions have a class axis."""
        return self.form in BY_CLASS

    @property
    def soft(self) -> bool:
        """Whether the targets are probabilities of classes."""
        return self.by_class and is_float(self.targets.dtype)

    @property
    def classes(self) -> int:
        """The number of classes; 2 for binary predictions."""
        return self.predictions.shape[class_axis(self.predictions, self.axis)] if self.by_class else 2

    @cached_property
    def rows(self) -> Value:
        """The predictions as [rows, classes], or [rows] without a class axis."""
        return self._rows(self.predictions)

    @cached_property
    def target_rows(self) -> Value:
        """The targets as [rows], or [rows, classes] if they are probabilities of classes."""
        return self._rows(self.targets) if self.soft else reshape(self.targets, shape=(self.targets.size,))

    @cached_property
    def counted(self) -> Value:
        """The rows that are not ignored: bool [rows]."""
        if self.ignore_index is None or self.soft:
            return ones(shape=(self.rows.shape[0],), dtype=BOOL)
        return ne(self.target_rows, self.ignore_index)

    @cached_property
    def row_count(self) -> Value:
        """The number of rows that are not ignored: int64 scalar."""
        return sum(self.counted)

    @cached_property
    def target_classes(self) -> Value:
        """The class of each row, int64 [rows]: the most probable of a soft target; 0 for an ignored row."""
        if self.soft:
            return argmax(self.target_rows, axis=1)
        if self.by_class:
            ignored = IGNORE if self.ignore_index is None else self.ignore_index
            return class_index(self.target_rows, classes=self.classes, ignore_index=ignored)
        return where(self.counted, cast(gt(self.target_rows, 0.5), dtype=INT64), 0)

    def predicted_classes(self, threshold: float = 0.5) -> Value:
        """The class that each row predicts, int64 [rows]: the first highest one (NaN is the highest).

        A binary prediction is 1 when its probability is greater than `threshold`, and 0 when it is NaN.
        """
        if self.by_class:
            return argmax(self.rows, axis=1)
        cut = math.log(threshold / (1 - threshold)) if self.form == "binary_logits" else threshold
        return cast(gt(self.rows, cut), dtype=INT64)

    def hits(self, threshold: float = 0.5) -> Value:
        """The rows that predict their class and are not ignored: bool [rows]."""
        return logical_and(eq(self.predicted_classes(threshold), self.target_classes), self.counted)

    def log_probabilities(self) -> Value:
        """Logarithms of the probabilities of the classes [rows, classes], in float64."""
        rows = cast(self.rows, dtype=FLOAT64)
        if self.form == "class_logits":
            return log_softmax(rows, axis=1)
        return log(rows) if self.form == "class_probabilities" else rows

    def in_float64(self) -> tuple[Value, Value]:
        """Return predictions and targets [rows, ...] in float64."""
        return cast(self.predictions, dtype=FLOAT64), cast(self.targets, dtype=FLOAT64)

    def _rows(self, x: Value) -> Value:
        """Bring the axis of classes to the end and flatten the others, as cross_entropy does."""
        x = cast(x, dtype=computing_dtype(x.dtype))
        if not self.by_class:
            return reshape(x, shape=(x.size,))
        axis = class_axis(x, self.axis)
        if x.ndim == 2 and axis == 1:
            return x
        if axis != x.ndim - 1:
            x = permute(x, axes=(*(k for k in range(x.ndim) if k != axis), axis))
        return reshape(x, shape=(x.size // x.shape[-1], x.shape[-1]))


FORMS: Mapping[PredictionForm, str] = MappingProxyType(
    {
        "class_logits": "logits with an axis of classes",
        "class_log_probabilities": "log-probabilities with an axis of classes",
        "class_probabilities": "probabilities with an axis of classes",
        "class_scores": "scores with an axis of classes, of which only the order counts",
        "binary_logits": "one logit for each target 0 or 1",
        "binary_probabilities": "one probability for each target 0 or 1",
        "numbers": "numbers in the shape of the targets",
    }
)
"""Every form, in words."""

PROBABLE: tuple[PredictionForm, ...] = ("class_logits", "class_log_probabilities", "class_probabilities")
BY_CLASS: tuple[PredictionForm, ...] = (*PROBABLE, "class_scores")
BINARY: tuple[PredictionForm, ...] = ("binary_logits", "binary_probabilities")
NUMBERS: tuple[PredictionForm, ...] = ("numbers",)


def class_axis(predictions: Value, axis: int) -> int:
    """Return the class axis as an index: 1 is the only axis of a vector, -1 is the last one."""
    return min(axis, predictions.ndim - 1) if axis >= 0 else predictions.ndim + axis


def misfit(form: PredictionForm, axis: int, predictions: Value, targets: Value) -> str | None:
    """Return why predictions of this form cannot be compared with the targets, or None."""
    shapes = f"predictions have shape {list(predictions.shape)}, targets {list(targets.shape)}"
    if form != "numbers" and not is_float(predictions.dtype):
        return f"{FORMS[form]} must be floating, these predictions are {predictions.dtype.name}"
    if form in BY_CLASS:
        return _class_misfit(axis, predictions, targets, shapes)
    if predictions.shape != targets.shape:
        return f"{shapes}: {FORMS[form]} need equal ones; reshape one of them"
    return None


def _class_misfit(axis: int, predictions: Value, targets: Value, shapes: str) -> str | None:
    if not predictions.ndim or not predictions.shape[class_axis(predictions, axis)]:
        return f"{shapes}: the predictions need an axis of classes, at least one"
    if is_float(targets.dtype):
        probable = targets.shape == predictions.shape
        return None if probable else f"{shapes}: targets that are probabilities need the shape of the predictions"
    if targets.dtype.kind not in "iu":
        return f"targets that are classes must be integers, these are {targets.dtype.name}; cast them to int64"
    wanted = without_axis(predictions.shape, class_axis(predictions, axis))
    return None if targets.shape == wanted else f"{shapes}: targets that are classes need {list(wanted)}"


def without_axis(shape: Shape, axis: int) -> Shape:
    """Return the shape without one of its axes."""
    return shape[:axis] + shape[axis + 1 :]


def derive(predictions: Value, targets: Value) -> tuple[PredictionForm, int]:
    """Return the form and the class axis from dtypes and shapes alone, for graphs whose loss does not determine them.

    Integer targets in the shape of floating predictions without axis 1, or without the last one, are classes; others
    are numbers.
    """
    for axis in (1, -1):
        if targets.dtype.kind in "iu" and misfit("class_scores", axis, predictions, targets) is None:
            return "class_scores", axis
    return "numbers", 1
