"""Operands: predictions and targets of one batch, and what metrics read off them, written in ops.

Each element of the targets is a row, whatever its axes: pixels and time steps count one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from engine.core.dtypes import BOOL, FLOAT64, INT64, computing_dtype, is_float
from engine.core.errors import ShapeError
from engine.core.value import Value
from engine.ops.casting import cast
from engine.ops.class_rows import IGNORE, class_index
from engine.ops.compare import eq, gt, logical_and, ne, where
from engine.ops.creation import ones
from engine.ops.elementwise import log
from engine.ops.probability import log_softmax
from engine.ops.reduce import argmax, sum
from engine.ops.shape import permute, reshape
from engine.training.metrics.forms import BY_CLASS, PredictionForm, class_axis, misfit


@dataclass(frozen=True, eq=False)
class Operands:
    """Predictions and targets of one batch.

    Attributes:
        predictions: of the shape that `form` says.
        targets: classes (integers, without the axis of classes) or probabilities; 0 or 1; numbers.
        form: what the predictions are.
        axis: where the classes lie: 1 (or the only axis), or -1 for the last one.
        ignore_index: targets of this class count for nothing; None when there is no such class.

    Raises:
        ShapeError: predictions and targets that cannot be compared in this form.
    """

    predictions: Value
    targets: Value
    form: PredictionForm
    axis: int = 1
    ignore_index: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        fault = misfit(self.form, self.axis, self.predictions, self.targets)
        if fault is not None:
            raise ShapeError(fault)

    @property
    def by_class(self) -> bool:
        """Whether the predictions have an axis of classes."""
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
        """The predictions as [rows, classes], or [rows] where there is no axis of classes."""
        return self._rows(self.predictions)

    @cached_property
    def target_rows(self) -> Value:
        """The targets as [rows], or [rows, classes] where they are probabilities of classes."""
        return self._rows(self.targets) if self.soft else reshape(self.targets, shape=(self.targets.size,))

    @cached_property
    def counted(self) -> Value:
        """Which rows count: bool [rows]."""
        if self.ignore_index is None or self.soft:
            return ones(shape=(self.rows.shape[0],), dtype=BOOL)
        return ne(self.target_rows, self.ignore_index)

    @cached_property
    def row_count(self) -> Value:
        """How many rows count: int64 scalar."""
        return sum(self.counted)

    @cached_property
    def target_classes(self) -> Value:
        """The class of each row, int64 [rows]: the most probable of a soft target; 0 where the row does not count."""
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
        """Which rows count and predict their class: bool [rows]."""
        return logical_and(eq(self.predicted_classes(threshold), self.target_classes), self.counted)

    def log_probabilities(self) -> Value:
        """Logarithms of the probabilities of the classes [rows, classes], in float64."""
        rows = cast(self.rows, dtype=FLOAT64)
        if self.form == "class_logits":
            return log_softmax(rows, axis=1)
        return log(rows) if self.form == "class_probabilities" else rows

    def in_float64(self) -> tuple[Value, Value]:
        """Return predictions and targets [rows, ...] as they are, in float64."""
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
