"""Losses of pairs and triples: which of two numbers is larger, which of two vectors is nearer. Targets are 1 and -1."""

from __future__ import annotations

from engine.core.declarations import Loss, Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import Argument, sample, uniform
from engine.core.shape_rules import broadcast_shapes, require_float
from engine.core.value import Shape, Value
from engine.ops.activation.activation import logsigmoid
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import clamp, minimum, sqrt, square
from engine.ops.loss.loss import Reduction, fit_together, reduced
from engine.ops.reduce.norms import norm
from engine.ops.reduce.reduce import sum

EPSILON = 1e-12
"""Added to squared lengths in cosine_embedding_loss, as in PyTorch."""


def signs(*shape: int) -> Argument:
    """Describe a sample of numbers that are 1 or -1."""
    return Argument(shape, lambda generator, shape: generator.integers(0, 2, shape) * 2 - 1)


def _require_ranks(op: str, **values: Value) -> Shape:
    """Refuse values that differ in their number of axes or do not broadcast; return the shape they broadcast to."""
    if len({value.ndim for value in values.values()}) > 1:
        shown = ", ".join(f"{name} {list(value.shape)}" for name, value in values.items())
        raise ShapeError(f"{op}: {shown} must have the same number of axes; reshape them")
    return broadcast_shapes(*(value.shape for value in values.values()))


@composite(
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[
        sample(uniform(1.1, 1.4, 2, 3), uniform(-0.5, 0.5, 2, 3), signs(2, 3)),
        sample(uniform(1.1, 1.4, 4), uniform(-0.5, 0.5, 4), signs(4), margin=0.5, reduction="none"),
    ],
)
def margin_ranking_loss(
    a: Value, b: Value, target: Value, *, margin: float = 0.0, reduction: Reduction = "mean"
) -> Value:
    """max(0, margin - target (a - b)): a should be larger than b where the target is 1, smaller where it is -1.

    The three broadcast, with as many axes each.
    """
    _require_ranks("margin_ranking_loss", a=a, b=b, target=target)
    return reduced(clamp(margin - target * (a - b), min=0.0), reduction)


@composite(
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[
        sample(uniform(0.2, 0.8, 2, 3), signs(2, 3)),
        sample(uniform(1.2, 1.8, 4), signs(4), margin=1.5, reduction="sum"),
    ],
)
def hinge_embedding_loss(x: Value, target: Value, *, margin: float = 1.0, reduction: Reduction = "mean") -> Value:
    """x where the target is 1 and max(0, margin - x) where it is -1, x being a distance; the two broadcast."""
    fit_together("hinge_embedding_loss", x, target)
    far = where(eq(target, 1), 0.0, clamp(margin - x, min=0.0))
    return reduced(far + where(eq(target, -1), 0.0, x), reduction)


@composite(
    numerics=Numerics(compute_float32=True, autocast="float32"),
    loss=Loss(form="binary_logits"),
    samples=[sample((2, 3), signs(2, 3)), sample((4,), signs(4), reduction="none")],
)
def soft_margin_loss(x: Value, target: Value, *, reduction: Reduction = "mean") -> Value:
    """log(1 + exp(-target x)), finite for any finite x; the target broadcasts to x."""
    if broadcast_shapes(x.shape, target.shape) != x.shape:
        raise ShapeError(f"soft_margin_loss: target {list(target.shape)} does not broadcast to {list(x.shape)}")
    return reduced(-logsigmoid(target * x), reduction)


@composite(
    numerics=Numerics(compute_float32=True, autocast="float32"),
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

    The vectors broadcast, with as many axes each.
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
    return reduced(near + where(eq(target, -1), clamp(cosine - margin, min=0.0), 0.0), reduction)


@composite(
    numerics=Numerics(compute_float32=True, autocast="float32"),
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
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Value:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d the p-norm of the difference + eps by rows.

    The three broadcast, with as many axes each. With `swap` the negative's distance to the positive counts where it is
    the smaller one (Balntas et al. 2016).
    """
    require_float("triplet_margin_loss", anchor, positive, negative)
    _require_ranks("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    if not margin > 0:
        raise AttributeValueError(f"triplet_margin_loss: margin {margin} must be greater than 0")
    if not anchor.ndim:
        raise ShapeError("triplet_margin_loss needs vectors, got numbers without axes")

    def distance(a: Value, b: Value) -> Value:
        return norm(a - b + eps, p=p, axis=-1)

    far = distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clamp(margin + distance(anchor, positive) - far, min=0.0), reduction)
