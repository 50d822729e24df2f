"""Losses and accuracy over classes. The classes lie on axis 1 of the logits, or on the only axis."""

from __future__ import annotations

import math

import numpy as np

from engine.dtypes import FLOAT16, FLOAT32, INT64, is_float
from engine.errors import AttributeValueError, DTypeError, ShapeError
from engine.infer import require_float, require_integer, require_rank
from engine.ops.cast import cast
from engine.ops.compare import ne, where
from engine.ops.index import embedding, gather
from engine.ops.loss import Reduction, reduced
from engine.ops.probability import SHORT, log_softmax, softmax_backward
from engine.ops.reduce import sum
from engine.ops.shape import permute, reshape
from engine.ops.sums import sum_over
from engine.registry import composite, primitive
from engine.samples import integers, normal, positive, sample, uniform
from engine.value import Array, Spec, Value

IGNORE = -100


def _check_classes(op: str, target: Array, classes: int, ignore_index: int) -> Array | None:
    """Refuse classes out of range; return where the target is ignored, or None when it is nowhere."""
    if not target.size:
        return None
    unsigned = target.view(f"u{target.itemsize}") if target.dtype.kind == "i" else target  # negative ones become large
    if int(unsigned.max()) < classes and not 0 <= ignore_index < classes:
        return None
    ignored = target == ignore_index
    bad = target[~ignored & ((target < 0) | (target >= classes))]
    if bad.size:
        raise ShapeError(
            f"{op}: class {int(bad[0])} is out of range for {classes} classes; "
            f"use 0..{classes - 1}, or {ignore_index} to leave a row out"
        )
    return ignored if ignored.any() else None


def _row_losses(logits: Value, target: Value, *, ignore_index: int) -> tuple[Spec, Spec]:
    require_float("cross_entropy", logits)
    require_integer("cross_entropy", "classes", target)
    require_rank("softmax_cross_entropy", "logits", logits, 2)
    if target.shape != logits.shape[:1]:
        raise ShapeError(f"cross_entropy: {list(logits.shape)} logits need targets of shape [{logits.shape[0]}]")
    return Spec(target.shape, logits.dtype), logits.spec


@primitive(
    infer=_row_losses,
    several=True,
    samples=[sample((4, 3), integers(0, 3, 4)), sample((4, 3), integers(0, 3, 4), ignore_index=1)],
)
def softmax_cross_entropy(
    logits: Array, target: Array, *, ignore_index: int = IGNORE, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Loss -log softmax(logits)[target] of each row [rows, classes], and the probabilities softmax(logits).

    Rows whose target is `ignore_index` have loss 0.
    """
    rows, classes = logits.shape
    ignored = _check_classes("cross_entropy", target, classes, ignore_index)
    losses, probabilities = out or (np.empty(rows, logits.dtype), np.empty_like(logits))
    if rows:
        safe = target if ignored is None else np.where(ignored, 0, target)
        _fill_rows(losses, probabilities, logits, safe)
    if ignored is not None:
        losses[ignored] = 0
    return losses, probabilities


def _fill_rows(losses: Array, probabilities: Array, logits: Array, target: Array) -> None:
    x = logits.astype(FLOAT32) if logits.dtype == FLOAT16 else logits
    columns = logits.shape[1] <= SHORT  # NumPy reduces many short rows slowly: turn them into columns
    if columns:
        x = np.ascontiguousarray(x.T)
    axis = 0 if columns else 1
    in_place = not columns and x.dtype == probabilities.dtype
    y = np.subtract(x, np.max(x, axis=axis, keepdims=True), out=probabilities if in_place else None)
    row = np.arange(losses.size)
    picked = y[target, row] if columns else y[row, target]
    np.exp(y, out=y)
    total = sum_over(y, (axis,))
    y /= total
    if not in_place:
        probabilities[...] = y.T if columns else y
    losses[...] = np.log(total.reshape(-1)) - picked


@softmax_cross_entropy.vjp
def _(g: tuple[Value | None, ...], y: tuple[Value, ...], logits: Value, target: Value, *, ignore_index: int) -> object:
    def pull() -> Value | None:
        gx = None
        if g[0] is not None:
            gx = softmax_cross_entropy_backward(g[0], y[1], target, ignore_index=ignore_index)
        if g[1] is None:
            return gx
        through = softmax_backward(g[1], y[1], axis=1)
        return through if gx is None else gx + through

    return pull, None


def _row_gradients(g: Value, probabilities: Value, target: Value, *, ignore_index: int) -> Spec:
    require_integer("softmax_cross_entropy_backward", "classes", target)
    require_rank("softmax_cross_entropy_backward", "probabilities", probabilities, 2)
    if not g.shape == target.shape == probabilities.shape[:1]:
        raise ShapeError(
            f"softmax_cross_entropy_backward: g {list(g.shape)} and target {list(target.shape)} need one entry for "
            f"each row of {list(probabilities.shape)}"
        )
    return probabilities.spec


@primitive(
    infer=_row_gradients,
    samples=[
        sample((4,), positive(4, 3), integers(0, 3, 4)),
        sample((4,), positive(4, 3), integers(0, 3, 4), ignore_index=1),
    ],
)
def softmax_cross_entropy_backward(
    g: Array, probabilities: Array, target: Array, *, ignore_index: int = IGNORE, out: Array | None = None
) -> Array:
    """g (probabilities - onehot(target)) by rows: the gradient of softmax_cross_entropy; 0 in rows left out."""
    gx = np.multiply(probabilities, g[:, None], out=out)
    ignored = target == ignore_index
    if ignored.any():
        gx[ignored] = 0
        kept = np.flatnonzero(~ignored)
        gx[kept, target[kept]] -= g[kept]
    else:
        gx[np.arange(g.size), target] -= g
    return gx


@softmax_cross_entropy_backward.vjp
def _(u: Value, gx: Value, g: Value, probabilities: Value, target: Value, *, ignore_index: int) -> object:
    def losses() -> Value:
        valid = ne(target, ignore_index)
        index = reshape(where(valid, target, 0), shape=(*target.shape, 1))
        picked = reshape(gather(u, index, axis=1), shape=target.shape)
        return where(valid, sum(u * probabilities, axis=1) - picked, 0.0)

    def rows() -> Value:
        weight = where(ne(target, ignore_index), g, 0.0)
        return u * reshape(weight, shape=(*g.shape, 1))

    return losses, rows, None


def _class_index(target: Value, *, classes: int, ignore_index: int) -> Spec:
    require_integer("cross_entropy", "classes", target)
    return Spec(target.shape, INT64)


@primitive(infer=_class_index, differentiable=False, samples=[sample(integers(0, 3, 4), classes=3, ignore_index=1)])
def class_index(target: Array, *, classes: int, ignore_index: int = IGNORE, out: Array | None = None) -> Array:
    """The target with 0 in place of `ignore_index`; classes outside 0..classes-1 are an error."""
    ignored = _check_classes("cross_entropy", target, classes, ignore_index)
    result = np.empty(target.shape, INT64) if out is None else out
    result[...] = target if ignored is None else np.where(ignored, 0, target)
    return result


@composite(
    samples=[
        sample((4, 3), integers(0, 3, 4)),
        sample((4, 3), integers(0, 3, 4), positive(3), ignore_index=1, label_smoothing=0.1),
        sample((2, 3, 2), integers(0, 3, 2, 2), positive(3), reduction="none"),
        sample((3,), integers(0, 3), reduction="sum", label_smoothing=0.2),
        sample((2, 3), uniform(0.1, 0.6, 2, 3), positive(3), label_smoothing=0.1),
        sample((2, 3, 2), uniform(0.1, 0.6, 2, 3, 2)),
    ]
)
def cross_entropy(
    logits: Value,
    target: Value,
    weight: Value | None = None,
    *,
    ignore_index: int = IGNORE,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Value:
    """Cross entropy of softmax(logits) against classes (integers) or probabilities (floats of the logits' shape).

    `weight` holds one factor per class. The mean over class targets divides by the sum of their weights; targets equal
    to `ignore_index` count for nothing (all of them ignored: NaN, with gradient 0). The mean over probability targets
    divides by their number. `label_smoothing` mixes that share of the uniform distribution into the target.
    """
    if not 0 <= label_smoothing <= 1:
        raise AttributeValueError(f"cross_entropy: label_smoothing {label_smoothing} must be in 0..1")
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
    samples=[
        sample((4, 3), integers(0, 3, 4)),
        sample((2, 3, 2), integers(0, 3, 2, 2), positive(3), ignore_index=0),
        sample((3,), integers(0, 3), reduction="none"),
    ],
    aliases=("nll",),
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
        return cast(valid, dtype=FLOAT32 if like.dtype == FLOAT16 else like.dtype)
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
    return total if reduction == "sum" else cast(total / sum(counted), dtype=losses.dtype)


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
    return reduced(losses, reduction)


def _accuracy(logits: Value, target: Value, *, ignore_index: int) -> Spec:
    if logits.shape != target.shape:
        _check_rows("accuracy", logits, None)
        _check_class_targets("accuracy", logits, target)
    elif logits.dtype.kind != "f":
        raise DTypeError(f"accuracy needs floating logits, got {logits.dtype.name}")
    return Spec((), FLOAT32)


@primitive(
    infer=_accuracy,
    differentiable=False,
    samples=[sample((4, 3), integers(0, 3, 4)), sample((2, 3, 2), integers(0, 3, 2, 2)), sample((4,), normal(4))],
)
def accuracy(logits: Array, target: Array, *, ignore_index: int = IGNORE) -> Array:
    """Share of rows whose largest logit is the target class; targets equal to `ignore_index` are left out.

    Logits of the target's own shape are binary: above 0 predicts 1, and a target above 0.5 is 1. No rows: NaN.
    """
    if logits.shape == target.shape:
        hits = (logits > 0) == (target > 0.5)
    else:
        hits = np.argmax(logits, axis=min(1, logits.ndim - 1)) == target
    return np.asarray(hits[target != ignore_index].mean(dtype=np.float64), dtype=FLOAT32)
