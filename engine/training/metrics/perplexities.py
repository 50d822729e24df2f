"""Perplexity: how many equally likely classes would leave a model as much in doubt."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from engine.core.dtypes import FLOAT64
from engine.core.value import Value
from engine.ops.casting import cast
from engine.ops.class_rows import IGNORE, softmax_cross_entropy
from engine.ops.compare import eq, where
from engine.ops.index import gather
from engine.ops.reduce import sum
from engine.ops.shape import reshape
from engine.training.metrics.forms import PROBABLE, PredictionForm
from engine.training.metrics.joining import Statistics
from engine.training.metrics.metric import ClassMetric, Goal
from engine.training.metrics.operands import Operands


@dataclass(frozen=True, kw_only=True)
class Perplexity(ClassMetric):
    """exp of the mean over all rows (tokens) of -log p(target); class weights and label smoothing play no part.

    Soft targets weigh the logarithms of all classes. Targets equal to `ignore_index` are left out, by default those the
    loss leaves out. No rows: NaN.
    """

    kind: ClassVar[str] = "perplexity"
    takes: ClassVar[tuple[PredictionForm, ...]] = PROBABLE
    parts: ClassVar[tuple[str, ...]] = ("surprise", "rows")
    goal: ClassVar[Goal | None] = "min"

    def of_batch(self, operands: Operands) -> dict[str, Value]:
        """Add up -log p(target) in float64, and count the rows."""
        return {"surprise": sum(_surprise(operands)), "rows": operands.row_count}

    def value(self, joined: Statistics) -> dict[str, float]:
        """Return the exponential of the mean; inf where it overflows."""
        rows, perplexity = int(joined["rows"]), math.inf
        with suppress(OverflowError):
            perplexity = math.exp(float(joined["surprise"]) / rows) if rows else math.nan
        return {self.row_name: perplexity}


def _surprise(operands: Operands) -> Value:
    """Return -log p(target) of each row in float64, 0 where a row does not count."""
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
