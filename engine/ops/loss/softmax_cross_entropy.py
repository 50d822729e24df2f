"""Cross entropy over rows of classes: fused with softmax, its gradient, and of predicted probabilities."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from engine.core.attributes import Count, Range
from engine.core.batching import folded
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, Algebra
from engine.core.dtypes import FLOAT16, FLOAT32, INT64
from engine.core.errors import ShapeError
from engine.core.losses import CLASS_SCORES, Loss, target
from engine.core.registry import composite, primitive
from engine.core.samples import integers, positive, sample, uniform
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Cotangents, Spec, Value
from engine.ops.activation.softmax import SHORT, softmax_backward
from engine.ops.elementwise.comparison import ne, where
from engine.ops.elementwise.elementwise import clamp, log
from engine.ops.index.index import gather
from engine.ops.loss.loss import Reduction, reduce_losses
from engine.ops.reduce.reduce import max_over, sum, sum_over
from engine.ops.shape.shape import reshape

IGNORE = -100
"""The class of rows to ignore (PyTorch's default)."""


def _check_classes(op: str, target: Array, classes: int, ignore_index: int) -> Array | None:
    """Raise ShapeError for classes out of range; return where the target is ignored, or None if it is nowhere."""
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
    shape_rule=_row_losses,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    sharding=batch_axes("00", "00"),
    batching=folded(0, 1),
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
    losses, probabilities = out or (np.empty(rows, logits.dtype), np.empty(logits.shape, logits.dtype))
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
    y = np.subtract(x, max_over(x, axis), out=probabilities if in_place else None)
    picked = y.reshape(-1).take(_flat(target, 1, losses.size) if columns else _flat(target, y.shape[1], 1))
    np.exp(y, out=y)
    total = sum_over(y, (axis,))
    y /= total
    if not in_place:
        probabilities[...] = y.T if columns else y
    losses[...] = np.log(total.reshape(-1)) - picked


def _flat(target: Array, row_stride: int, class_stride: int) -> Array:
    """Return the index of the target class of each row in the flattened logits."""
    places = np.arange(0, target.size * row_stride, row_stride)
    places += target if class_stride == 1 else target * np.int64(class_stride)
    return places


@softmax_cross_entropy.vjp
def _(g: Cotangents, y: tuple[Value, ...], logits: Value, target: Value, *, ignore_index: int) -> object:
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
    require_float("softmax_cross_entropy_backward", g, probabilities)
    if not probabilities.shape[1]:
        raise ShapeError(f"softmax_cross_entropy_backward needs at least one class, got {list(probabilities.shape)}")
    if not g.shape == target.shape == probabilities.shape[:1]:
        raise ShapeError(
            f"softmax_cross_entropy_backward: g {list(g.shape)} and target {list(target.shape)} need one entry for "
            f"each row of {list(probabilities.shape)}"
        )
    return probabilities.spec


@primitive(
    shape_rule=_row_gradients,
    numerics=AUTOCAST_FLOAT32,
    sharding=batch_axes("000", "0"),
    batching=folded(0, 1, 2),
    samples=[
        sample((4,), positive(4, 3), integers(0, 3, 4)),
        sample((4,), positive(4, 3), integers(0, 3, 4), ignore_index=1),
    ],
)
def softmax_cross_entropy_backward(
    g: Array, probabilities: Array, target: Array, *, ignore_index: int = IGNORE, out: Array | None = None
) -> Array:
    """g (probabilities - onehot(target)) by rows: the gradient of softmax_cross_entropy; 0 in ignored rows."""
    gx: Array = np.multiply(probabilities, g[:, None], out=out)
    ignored = target == ignore_index
    if ignored.any() or not gx.flags.c_contiguous:
        gx[ignored] = 0
        kept = np.flatnonzero(~ignored)
        gx[kept, target[kept]] -= g[kept]
    else:
        gx.reshape(-1)[_flat(target, gx.shape[1], 1)] -= g
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


@primitive(
    shape_rule=_class_index,
    differentiable=False,
    algebra=Algebra(elementwise=True),
    samples=[sample(integers(0, 3, 4), classes=3, ignore_index=1)],
)
def class_index(target: Array, *, classes: Count, ignore_index: int = IGNORE, out: Array | None = None) -> Array:
    """The target with 0 in place of `ignore_index`; classes outside 0..classes-1 are an error."""
    ignored = _check_classes("cross_entropy", target, classes, ignore_index)
    result = np.empty(target.shape, INT64) if out is None else out
    result[...] = target if ignored is None else np.where(ignored, 0, target)
    return result


PAIR = (uniform(0.1, 0.9, 4, 3), uniform(0.1, 0.9, 4, 3))


@composite(
    aliases=("categorical_crossentropy",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        f"probabilities, {CLASS_SCORES}",
        (target("probabilities in the shape of the predictions"),),
        "class_probabilities",
        paired=("target",),
    ),
    samples=[
        sample(*PAIR),
        sample(*PAIR, reduction="sum", eps=0.01),
        sample(uniform(0.1, 0.9, 2, 3, 2), uniform(0.1, 0.9, 2, 3, 2), reduction="none"),
        sample(uniform(0.1, 0.9, 3), uniform(0.1, 0.9, 3)),
    ],
)
def categorical_cross_entropy(
    p: Value, target: Value, *, eps: Annotated[float, Range(0, 0.5, below=True)] = 1e-7, reduction: Reduction = "mean"
) -> Value:
    """-sum(target log p) over the classes, axis 1 (or the only axis), p being clipped to eps..1-eps, as in Keras.

    p and target are probabilities of one shape. From logits, cross_entropy is exact where this one is clipped.
    """
    require_float("categorical_cross_entropy", p, target)
    if p.shape != target.shape or not p.ndim:
        raise ShapeError(
            f"categorical_cross_entropy: p has shape {list(p.shape)}, the target {list(target.shape)}: they must be "
            "equal, with an axis of classes"
        )
    limited = clamp(p, min=eps, max=1.0 - eps)
    return reduce_losses(-sum(target * log(limited), axis=min(1, p.ndim - 1)), reduction)
