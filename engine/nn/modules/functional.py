"""Functions over modules and layouts: prediction in chunks and classification losses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from engine.autograd.creation import Layout, check_layout, reverse_axes
from engine.core.dtypes import is_float
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.modes import inference_mode
from engine.core.value import Array, Operand, Value, as_value
from engine.nn.modules.module import Module
from engine.ops.loss.classification import cross_entropy
from engine.ops.loss.loss import Reduction
from engine.ops.loss.softmax_cross_entropy import categorical_cross_entropy


def predict_in_chunks(module: Module, x: Operand, *, chunk: int = 64, layout: Layout | None = None) -> Array:
    """Apply `module` to many examples in evaluation mode, recording nothing, and join the results.

    Args:
        module: called with one input; the modes of its submodules are restored afterwards.
        x: the examples: rows under the layout "row", columns (the last axis) under "col".
        chunk: examples computed at a time; the result depends on it up to rounding only.
        layout: layout of x and of the result; by default that of the module, or "row".
    """
    own: Layout = getattr(module, "layout", "row")
    chosen = own if layout is None else layout
    check_layout(chosen)
    value = as_value(x)
    if chunk < 1:
        raise AttributeValueError(f"chunk must be at least 1, not {chunk}")
    if not value.ndim:
        raise ShapeError("the examples need an axis: x has none")
    axis = 0 if chosen == "row" else -1
    array = value.numpy()
    starts = range(0, max(array.shape[axis], 1), chunk)
    with evaluating(module), inference_mode():
        parts = [module(_slice_examples(array, axis, start, start + chunk)).numpy() for start in starts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


@contextmanager
def evaluating(module: Module) -> Iterator[None]:
    """Set a module and its submodules to evaluation mode in a block; restore the modes afterwards."""
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


def _slice_examples(array: Array, axis: int, start: int, stop: int) -> Value:
    piece = array[start:stop] if axis == 0 else array[..., start:stop]
    return Value(piece.shape, piece.dtype, piece)


def softmax_cross_entropy_loss(
    logits: Operand, target: Operand, *, layout: Layout = "row", reduction: Reduction = "mean"
) -> Value:
    """Cross entropy of softmax(logits) against classes or probabilities, computed from the exact log-softmax.

    Args:
        logits: [batch, classes] under the layout "row", [classes, batch] under "col".
        target: one class (from 0) for each example, or probabilities, one-hot or soft, in the shape of the logits.
        layout: layout of both.
        reduction: reduction over the examples.
    """
    return cross_entropy(_to_rows(logits, layout), _to_rows(target, layout), reduction=reduction)


def probability_cross_entropy_loss(
    p: Operand, target: Operand, *, layout: Layout = "row", reduction: Reduction = "mean"
) -> Value:
    """Cross entropy of probabilities p, clipped to 1e-7..1-1e-7, against probabilities; both in the same layout."""
    return categorical_cross_entropy(_to_rows(p, layout), _to_rows(target, layout), reduction=reduction)


def _to_rows(operand: Operand, layout: Layout) -> Value:
    check_layout(layout)
    value = as_value(operand)
    return reverse_axes(value) if layout == "col" and is_float(value.dtype) else value
