"""Losses over classes in either layout: one example a row, or one a column."""

from __future__ import annotations

from engine.autograd.layout import Layout, check_layout, reversed_axes
from engine.core.dtypes import is_float
from engine.core.value import Operand, Value, as_value
from engine.ops.class_probabilities import categorical_cross_entropy
from engine.ops.classification import cross_entropy
from engine.ops.loss import Reduction


def softmax_cross_entropy_loss(
    logits: Operand, target: Operand, *, layout: Layout = "row", reduction: Reduction = "mean"
) -> Value:
    """Cross entropy of softmax(logits) against classes or probabilities, computed from the exact log-softmax.

    Args:
        logits: [batch, classes] under the layout "row", [classes, batch] under "col".
        target: one class (from 0) for each example, or probabilities, one-hot or soft, in the shape of the logits.
        layout: of both.
        reduction: over the examples.
    """
    return cross_entropy(_by_row(logits, layout), _by_row(target, layout), reduction=reduction)


def probability_cross_entropy_loss(
    p: Operand, target: Operand, *, layout: Layout = "row", reduction: Reduction = "mean"
) -> Value:
    """Cross entropy of probabilities p, limited to 1e-7..1-1e-7, against probabilities; both in the same layout."""
    return categorical_cross_entropy(_by_row(p, layout), _by_row(target, layout), reduction=reduction)


def _by_row(operand: Operand, layout: Layout) -> Value:
    check_layout(layout)
    value = as_value(operand)
    return reversed_axes(value) if layout == "col" and is_float(value.dtype) else value
