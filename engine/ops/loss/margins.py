"""Margin and ranking losses."""

from __future__ import annotations

import numpy as np

from engine.core.attributes import Positive
from engine.core.declarations import PRECISE_COMPOSITION, CallForms
from engine.core.dtypes import BOOL, INT64
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.losses import CLASS_WEIGHT, SIGNS, Loss, LossOperand, target
from engine.core.modes import charge_table
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, booleans, integers, positive, sample, uniform
from engine.core.shape_rules import broadcast_shapes, require_float, require_integer
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.activation.activation import logsigmoid, relu
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import clamp, minimum, sqrt, square
from engine.ops.index.index import embedding, gather
from engine.ops.loss.loss import Reduction, check_broadcast, reduce_losses
from engine.ops.loss.softmax_cross_entropy import class_index
from engine.ops.reduce.norms import norm
from engine.ops.reduce.reduce import mean, sum
from engine.ops.shape.shape import reshape, unsqueeze

NO_CLASS = -(2**62)
"""An ignore_index that no target equals: every class must be in range."""


def _check_scores(op: str, x: Value) -> int:
    """Return the number of classes."""
    require_float(op, x)
    if x.ndim not in (1, 2) or not x.shape[-1]:
        raise ShapeError(f"{op}: scores {list(x.shape)} must have the shape [rows, classes] or [classes]")
    return x.shape[-1]


@composite(
    call=CallForms(orders=(("x", "target", "p", "margin", "weight"),)),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "scores, floating [rows, classes]",
        (target("integers 0 to classes - 1, [rows]"), CLASS_WEIGHT),
        "class_scores",
        class_axis=-1,
    ),
    samples=[
        sample((4, 3), integers(0, 3, 4)),
        sample((4, 3), integers(0, 3, 4), positive(3), p=2, margin=0.7, reduction="none"),
        sample((3,), integers(0, 3), reduction="sum"),
    ],
)
def multi_margin_loss(
    x: Value,
    target: Value,
    weight: Value | None = None,
    *,
    p: int = 1,
    margin: float = 1.0,
    reduction: Reduction = "mean",
) -> Value:
    """Mean over the classes j other than the target y of weight[y] max(0, margin - x[y] + x[j])^p.

    The sum is divided by the number of all classes, as in PyTorch; p is 1 or 2. A scalar x is the score of the only
    class.
    """
    op = "multi_margin_loss"
    x = x if x.ndim else reshape(x, shape=(1,))
    if x.ndim == 1 and target.shape == (1,):
        x = unsqueeze(x, axis=0)
    classes = _check_scores(op, x)
    require_integer(op, "classes", target)
    if target.shape != x.shape[:-1]:
        raise ShapeError(f"{op}: scores {list(x.shape)} need targets of shape {list(x.shape[:-1])}")
    if p not in (1, 2):
        raise AttributeValueError(f"{op}: p {p} must be 1 or 2")
    if weight is not None and weight.shape != (classes,):
        raise ShapeError(f"{op}: weight {list(weight.shape)} must have the shape [{classes}]")
    index = class_index(target, classes=classes, ignore_index=NO_CLASS)
    picked = gather(x, unsqueeze(index, axis=-1), axis=-1)
    excess = relu(x - picked + margin)
    if p == 2:
        excess = square(excess)
    if weight is not None:
        excess = excess * unsqueeze(embedding(weight, index), axis=-1)
    charge_table("multi_margin_loss", classes)
    others = where(eq(unsqueeze(index, axis=-1), np.arange(classes)), 0.0, excess)
    return reduce_losses(sum(others, axis=-1) / float(classes), reduction)


def _lists(*shape: int) -> Argument:
    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        rows = np.stack([generator.permutation(shape[-1]) for _ in range(int(np.prod(shape[:-1], dtype=np.int64)))])
        rows[:, shape[-1] // 2] = -1
        return rows.reshape(shape)

    return Argument(shape, draw)


def _listed(target: Value) -> tuple[Spec, Spec, Spec]:
    require_integer("listed_labels", "labels", target)
    if not target.ndim or not target.shape[-1]:
        raise ShapeError(f"listed_labels needs at least one place in a list, got shape {list(target.shape)}")
    return Spec(target.shape, INT64), Spec(target.shape, BOOL), Spec(target.shape, BOOL)


@primitive(
    shape_rule=_listed, multi_output=True, differentiable=False, samples=[sample(_lists(3, 4)), sample(_lists(3))]
)
def listed_labels(target: Array) -> tuple[Array, Array, Array]:
    """The classes of lists on the last axis that end with -1, which entries are in a list, and which classes are.

    Entries beyond the end hold class 0.
    """
    classes = target.shape[-1]
    listed = np.logical_and.accumulate(target != -1, axis=-1)
    index = np.where(listed, target, 0).astype(np.int64)
    if index.size and (int(index.min()) < 0 or int(index.max()) >= classes):
        bad = index[(index < 0) | (index >= classes)].flat[0]
        raise ShapeError(f"multilabel_margin_loss: class {int(bad)} is out of range for {classes} classes")
    member = np.zeros(target.shape, bool)
    rows, places = np.nonzero(listed.reshape(-1, classes))
    member.reshape(-1, classes)[rows, index.reshape(-1, classes)[rows, places]] = True
    return index, listed, member


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "scores, floating [rows, classes]",
        (target("integers [rows, classes]: in each row its classes, ended by -1"),),
        paired=("target",),
    ),
    samples=[sample((3, 4), _lists(3, 4)), sample((3,), _lists(3), reduction="none")],
)
def multilabel_margin_loss(x: Value, target: Value, *, reduction: Reduction = "mean") -> Value:
    """Sum over the target classes y and the others j of max(0, 1 - x[y] + x[j]), divided by the number of classes.

    The target holds in each row a list of classes, ended by -1; it has the shape of x, or one axis of extent 1 where x
    is a scalar, or the other way round.
    """
    if x.ndim + target.ndim < 2 and x.size == target.size == 1:
        x, target = reshape(x, shape=(1,)), reshape(target, shape=(1,))
    classes = _check_scores("multilabel_margin_loss", x)
    if target.shape != x.shape:
        raise ShapeError(
            f"multilabel_margin_loss: scores {list(x.shape)} and lists of classes {list(target.shape)} must have one "
            "shape; fill lists up with -1"
        )
    index, listed, member = listed_labels(target)
    picked = gather(x, index, axis=-1)
    excess = relu(unsqueeze(x, axis=-2) - unsqueeze(picked, axis=-1) + 1.0)
    counted = unsqueeze(listed, axis=-1) & ~unsqueeze(member, axis=-2)
    return reduce_losses(sum(where(counted, excess, 0.0), axis=(-2, -1)) / float(classes), reduction)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "scores, floating [..., classes]",
        (target("0 or 1, in the shape of the scores"), CLASS_WEIGHT),
        "binary_logits",
        class_axis=-1,
        paired=("target",),
    ),
    samples=[
        sample((3, 4), booleans(3, 4)),
        sample((3, 4), positive(3, 4), positive(4), reduction="none"),
        sample((4,), booleans(4), reduction="sum"),
    ],
)
def multilabel_soft_margin_loss(
    x: Value, target: Value, weight: Value | None = None, *, reduction: Reduction = "mean"
) -> Value:
    """Binary cross entropy of sigmoid(x) against targets 0 or 1, averaged over the classes on the last axis."""
    if not x.ndim or target.shape != x.shape:
        raise ShapeError(
            f"multilabel_soft_margin_loss: scores {list(x.shape)} and targets {list(target.shape)} must have one shape "
            "of at least one axis"
        )
    losses = (1.0 - target) * x - logsigmoid(x)
    if weight is not None:
        losses = losses * weight
    return reduce_losses(mean(losses, axis=-1), reduction)


EPSILON = 1e-12
"""Added to squared norms in cosine_embedding_loss, as in PyTorch."""


def signs(*shape: int) -> Argument:
    """Describe a sample of numbers that are 1 or -1."""
    return Argument(shape, lambda generator, shape: generator.integers(0, 2, shape) * 2 - 1)


def _require_ranks(op: str, **values: Value) -> Shape:
    """Raise ShapeError if values differ in their number of axes or do not broadcast; return the broadcast shape."""
    if len({value.ndim for value in values.values()}) > 1:
        shown = ", ".join(f"{name} {list(value.shape)}" for name, value in values.items())
        raise ShapeError(f"{op}: {shown} must have the same number of axes; reshape them")
    return broadcast_shapes(*(value.shape for value in values.values()))


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "the first of two scores, floating [rows, ...]",
        (
            LossOperand("other", "the second scores, in the shape of the first"),
            target(f"{SIGNS}, in the shape of the scores"),
        ),
        paired=("other", "target"),
        parts=("other",),
    ),
    samples=[
        sample(uniform(1.1, 1.4, 2, 3), uniform(-0.5, 0.5, 2, 3), signs(2, 3)),
        sample(uniform(1.1, 1.4, 4), uniform(-0.5, 0.5, 4), signs(4), margin=0.5, reduction="none"),
    ],
)
def margin_ranking_loss(
    a: Value, b: Value, target: Value, *, margin: float = 0.0, reduction: Reduction = "mean"
) -> Value:
    """max(0, margin - target (a - b)): a should be larger than b where the target is 1, smaller where it is -1.

    The three have the same number of axes and broadcast.
    """
    _require_ranks("margin_ranking_loss", a=a, b=b, target=target)
    return reduce_losses(clamp(margin - target * (a - b), min=0.0), reduction)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss("distances, floating [rows, ...]", (target(f"{SIGNS}, in their shape"),), paired=("target",)),
    samples=[
        sample(uniform(0.2, 0.8, 2, 3), signs(2, 3)),
        sample(uniform(1.2, 1.8, 4), signs(4), margin=1.5, reduction="sum"),
    ],
)
def hinge_embedding_loss(x: Value, target: Value, *, margin: float = 1.0, reduction: Reduction = "mean") -> Value:
    """x where the target is 1 and max(0, margin - x) where it is -1, x being a distance; the two broadcast."""
    check_broadcast("hinge_embedding_loss", x, target)
    far = where(eq(target, 1), 0.0, clamp(margin - x, min=0.0))
    return reduce_losses(far + where(eq(target, -1), 0.0, x), reduction)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "scores, floating [rows, ...]",
        (target(f"{SIGNS}, in the shape of the scores"),),
        "binary_logits",
        paired=("target",),
    ),
    samples=[sample((2, 3), signs(2, 3)), sample((4,), signs(4), reduction="none")],
)
def soft_margin_loss(x: Value, target: Value, *, reduction: Reduction = "mean") -> Value:
    """log(1 + exp(-target x)), finite for any finite x; the target broadcasts to x."""
    if broadcast_shapes(x.shape, target.shape) != x.shape:
        raise ShapeError(f"soft_margin_loss: target {list(target.shape)} does not broadcast to {list(x.shape)}")
    return reduce_losses(-logsigmoid(target * x), reduction)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "the first of two vectors, floating [rows, width]",
        (LossOperand("other", "the second vectors [rows, width]"), target(f"{SIGNS}, [rows]")),
        paired=("other",),
        parts=("other",),
    ),
    samples=[
        sample((3, 4), (3, 4), signs(3)),
        sample((4,), (4,), signs(), margin=-0.5, reduction="sum"),
        sample((3, 4), (3, 4), signs(3), margin=0.1, reduction="none"),
    ],
)
def cosine_embedding_loss(
    a: Value, b: Value, target: Value, *, margin: float = 0.0, reduction: Reduction = "mean"
) -> Value:
    """1 - cos(a, b) where the target is 1 and max(0, cos(a, b) - margin) where it is -1; the vectors are rows.

    The vectors have the same number of axes and broadcast.
    """
    shape = _require_ranks("cosine_embedding_loss", a=a, b=b)
    if len(shape) not in (1, 2) or target.shape != shape[:-1]:
        raise ShapeError(
            f"cosine_embedding_loss: vectors {list(shape)} must have the shape [rows, width] or [width], and the "
            f"target {list(target.shape)} the shape {list(shape[:-1])}"
        )
    squares = [sum(square(x), axis=-1) + EPSILON for x in (a, b)]
    cosine = sum(a * b, axis=-1) / sqrt(squares[0] * squares[1])
    near = where(eq(target, 1), 1.0 - cosine, 0.0)
    return reduce_losses(near + where(eq(target, -1), clamp(cosine - margin, min=0.0), 0.0), reduction)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "anchors, floating [rows, width]",
        (
            LossOperand("positive", "vectors of the anchors' kind, [rows, width]"),
            LossOperand("negative", "vectors of another kind, [rows, width]"),
        ),
        paired=("positive", "negative"),
        parts=("positive", "negative"),
    ),
    samples=[
        sample((3, 4), (3, 4), (3, 4)),
        sample((3, 4), (3, 4), (3, 4), margin=3.0, p=3.0, swap=True, reduction="none"),
        sample((4,), (4,), (4,), margin=5.0, reduction="sum"),
    ],
)
def triplet_margin_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    *,
    margin: Positive = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Value:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d the p-norm of the difference + eps by rows.

    The three have the same number of axes and broadcast. With `swap` the distance of the negative to the
    positive is used where it is smaller (Balntas et al. 2016).
    """
    require_float("triplet_margin_loss", anchor, positive, negative)
    _require_ranks("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    if not anchor.ndim:
        raise ShapeError("triplet_margin_loss needs vectors, got numbers without axes")

    def distance(a: Value, b: Value) -> Value:
        return norm(a - b + eps, p=p, axis=-1)

    far = distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_losses(clamp(margin + distance(anchor, positive) - far, min=0.0), reduction)
