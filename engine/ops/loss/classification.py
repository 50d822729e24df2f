"""Losses and accuracy over classes, which are on axis 1 of the logits, or on the only axis."""

from __future__ import annotations

import math

import numpy as np

from engine.core.attributes import Share
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, CallForms, Documentation
from engine.core.dtypes import FLOAT64, computing_dtype, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.losses import CLASS_SCORES, CLASS_WEIGHT, CLASSES, Loss, target
from engine.core.registry import composite, primitive
from engine.core.samples import integers, normal, positive, sample, uniform
from engine.core.shape_rules import require_float, require_integer
from engine.core.value import Array, Spec, Value
from engine.ops.activation.softmax import log_softmax
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import ne, where
from engine.ops.index.index import embedding, gather
from engine.ops.loss.loss import Reduction, reduce_losses, warn_if_empty
from engine.ops.loss.softmax_cross_entropy import IGNORE, class_index, softmax_cross_entropy
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import permute, reshape


@composite(
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        f"logits, {CLASS_SCORES}",
        (target(f"{CLASSES}; or probabilities, floating, in the shape of the logits"), CLASS_WEIGHT),
        "class_logits",
        weighted_mean=True,
    ),
    samples=[
        sample((4, 3), integers(0, 3, 4)),
        sample((4, 3), integers(0, 3, 4), positive(3), ignore_index=1, label_smoothing=0.1),
        sample((2, 3, 2), integers(0, 3, 2, 2), positive(3), reduction="none"),
        sample((3,), integers(0, 3), reduction="sum", label_smoothing=0.2),
        sample((2, 3), uniform(0.1, 0.6, 2, 3), positive(3), label_smoothing=0.1),
        sample((2, 3, 2), uniform(0.1, 0.6, 2, 3, 2)),
    ],
)
def cross_entropy(
    logits: Value,
    target: Value,
    weight: Value | None = None,
    *,
    ignore_index: int = IGNORE,
    label_smoothing: Share = 0.0,
    reduction: Reduction = "mean",
) -> Value:
    """Cross entropy of softmax(logits) against classes (integers) or probabilities (floats of the logits' shape).

    `weight` holds one factor per class. The mean over class targets divides by the sum of their weights; targets equal
    to `ignore_index` are ignored (if all are: NaN, with gradient 0). The mean over probability targets divides by their
    number. `label_smoothing` is the share of the uniform distribution mixed into the target.
    """
    classes = _check_rows("cross_entropy", logits, weight)
    if is_float(target.dtype):
        return _soft_cross_entropy(logits, target, weight, ignore_index, label_smoothing, reduction)
    _check_class_targets("cross_entropy", logits, target)
    rows, flat = _rows(logits), reshape(target, shape=(target.size,))
    if label_smoothing:
        losses, counted = _picked_losses(log_softmax(rows, axis=1), flat, weight, ignore_index)
        smooth = log_softmax(rows, axis=1)
        smooth = -sum(smooth if weight is None else smooth * weight, axis=1)
        smooth = where(ne(flat, ignore_index), smooth, 0.0)
        losses = losses * (1.0 - label_smoothing) + smooth * (label_smoothing / classes)
    else:
        losses, _ = softmax_cross_entropy(rows, flat, ignore_index=ignore_index)
        counted = _class_weights(flat, weight, classes, ignore_index, rows)
        losses = losses if weight is None else losses * counted
    return _reduced_by_weight(losses, counted, target, reduction)


@composite(
    aliases=("nll",),
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        f"log-probabilities, {CLASS_SCORES}",
        (target(CLASSES), CLASS_WEIGHT),
        "class_log_probabilities",
        weighted_mean=True,
    ),
    samples=[
        sample((4, 3), integers(0, 3, 4)),
        sample((2, 3, 2), integers(0, 3, 2, 2), positive(3), ignore_index=0),
        sample((3,), integers(0, 3), reduction="none"),
    ],
)
def nll_loss(
    log_probabilities: Value,
    target: Value,
    weight: Value | None = None,
    *,
    ignore_index: int = IGNORE,
    reduction: Reduction = "mean",
) -> Value:
    """Negative log-likelihood of classes; as cross_entropy, but the input already holds log-probabilities."""
    _check_rows("nll_loss", log_probabilities, weight)
    _check_class_targets("nll_loss", log_probabilities, target)
    flat = reshape(target, shape=(target.size,))
    losses, counted = _picked_losses(_rows(log_probabilities), flat, weight, ignore_index)
    return _reduced_by_weight(losses, counted, target, reduction)


@composite(
    numerics=AUTOCAST_FLOAT32,
    samples=[
        sample((4, 3), integers(0, 3, 4), positive(3)),
        sample((2, 3, 2), integers(0, 3, 2, 2), positive(3), ignore_index=1),
    ],
)
def target_weights(logits: Value, target: Value, weight: Value | None = None, *, ignore_index: int = IGNORE) -> Value:
    """The weight of each class target in the mean of cross_entropy.

    It is that of its class (by default 1), 0 if it is ignored. The result has the shape of the target.
    """
    classes = _check_rows("target_weights", logits, weight)
    _check_class_targets("target_weights", logits, target)
    flat = reshape(target, shape=(target.size,))
    return reshape(_class_weights(flat, weight, classes, ignore_index, logits), shape=target.shape)


def _check_rows(op: str, logits: Value, weight: Value | None) -> int:
    """Return the number of classes."""
    require_float(op, logits)
    if not logits.ndim:
        raise ShapeError(f"{op} needs logits of shape [rows, classes, ...] or [classes], got a scalar")
    classes = logits.shape[min(1, logits.ndim - 1)]
    if not classes:
        raise ShapeError(f"{op} needs at least one class, got logits of shape {list(logits.shape)}")
    if weight is not None and weight.shape != (classes,):
        raise ShapeError(
            f"{op}: weight has shape {list(weight.shape)}, it needs one number for each of {classes} classes"
        )
    return classes


def _check_class_targets(op: str, logits: Value, target: Value) -> None:
    wanted = logits.shape[:1] + logits.shape[2:] if logits.ndim > 1 else ()
    if target.shape != wanted:
        raise ShapeError(
            f"{op}: logits of shape {list(logits.shape)} need class targets of shape {list(wanted)}, "
            f"got {list(target.shape)}"
        )
    require_integer(op, "class targets", target)


def _rows(logits: Value) -> Value:
    """Bring the class axis to the end and flatten the others: [rows, classes]."""
    if logits.ndim == 2:
        return logits
    classes = logits.shape[min(1, logits.ndim - 1)]
    if logits.ndim > 2:
        logits = permute(logits, axes=(0, *range(2, logits.ndim), 1))
    return reshape(logits, shape=(math.prod(logits.shape) // classes, classes))


def _class_weights(flat: Value, weight: Value | None, classes: int, ignore_index: int, like: Value) -> Value:
    """Return the weight of each row: that of its class, 0 when it is ignored."""
    valid = ne(flat, ignore_index)
    if weight is None:
        return cast(valid, dtype=computing_dtype(like.dtype))
    picked = embedding(weight, class_index(flat, classes=classes, ignore_index=ignore_index))
    return where(valid, picked, 0.0)


def _picked_losses(
    log_probabilities: Value, flat: Value, weight: Value | None, ignore_index: int
) -> tuple[Value, Value]:
    """Return the weighted loss of each row [rows, classes] and its weight."""
    classes = log_probabilities.shape[1]
    index = class_index(flat, classes=classes, ignore_index=ignore_index)
    picked = gather(log_probabilities, reshape(index, shape=(flat.size, 1)), axis=1)
    losses = where(ne(flat, ignore_index), -reshape(picked, shape=flat.shape), 0.0)
    counted = _class_weights(flat, weight, classes, ignore_index, log_probabilities)
    return losses if weight is None else losses * counted, counted


def _reduced_by_weight(losses: Value, counted: Value, target: Value, reduction: str) -> Value:
    if reduction == "none":
        return reshape(losses, shape=target.shape)
    total = sum(losses)
    if reduction == "sum":
        return total
    warn_if_empty(losses)
    return cast(total / sum(counted), dtype=losses.dtype)


def _soft_cross_entropy(
    logits: Value, target: Value, weight: Value | None, ignore_index: int, label_smoothing: float, reduction: str
) -> Value:
    if target.shape != logits.shape:
        raise ShapeError(
            f"cross_entropy: logits {list(logits.shape)} and probability targets {list(target.shape)} must have one "
            "shape; class targets are integers: cast them to int64"
        )
    if ignore_index >= 0:
        raise AttributeValueError(f"cross_entropy: ignore_index {ignore_index} needs class targets, not probabilities")
    axis = min(1, logits.ndim - 1)
    classes = logits.shape[axis]
    if label_smoothing:
        target = target * (1.0 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        target = target * reshape(weight, shape=(classes, *(1,) * (logits.ndim - 1 - axis)))
    losses = -sum(target * log_softmax(logits, axis=axis), axis=axis)
    return reduce_losses(losses, reduction)


def _accuracy(logits: Value, target: Value, *, ignore_index: int) -> Spec:
    if logits.shape != target.shape:
        _check_rows("accuracy", logits, None)
        _check_class_targets("accuracy", logits, target)
    elif not is_float(logits.dtype):
        raise DTypeError(f"accuracy needs floating logits, got {logits.dtype.name}")
    return Spec((), FLOAT64)


@primitive(
    shape_rule=_accuracy,
    differentiable=False,
    documentation=Documentation(no_gradient="it is piecewise constant"),
    samples=[sample((4, 3), integers(0, 3, 4)), sample((2, 3, 2), integers(0, 3, 2, 2)), sample((4,), normal(4))],
)
def accuracy(logits: Array, target: Array, *, ignore_index: int = IGNORE) -> Array:
    """Share of rows whose largest logit is the target class; targets equal to `ignore_index` are ignored.

    Logits in the shape of the target are binary: above 0 predicts 1, and a target above 0.5 is 1. Without rows: NaN.
    """
    if logits.shape == target.shape:
        hits = (logits > 0) == (target > 0.5)
    else:
        hits = np.argmax(logits, axis=min(1, logits.ndim - 1)) == target
    counted = hits[target != ignore_index]
    share: Array = np.divide(np.count_nonzero(counted), counted.size, dtype=FLOAT64)
    return share
