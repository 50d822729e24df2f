"""Losses of numbers: regression, binary classification, divergence.

Shapes should be equal. Unequal ones broadcast where they do in PyTorch, with a warning where PyTorch warns.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from engine.core.attributes import NonNegative, Positive
from engine.core.batching import spread
from engine.core.declarations import PRECISE_COMPOSITION, PRECISE_FUNCTION, Algebra, CallForms
from engine.core.errors import ShapeError
from engine.core.losses import LOGITS, NUMBERS, Loss, LossOperand, target, weight
from engine.core.registry import composite, primitive
from engine.core.samples import Sample, booleans, normal, positive, sample, uniform
from engine.core.shape_rules import broadcast_shapes, require_float
from engine.core.value import Array, Spec, Value
from engine.ops.activation.activation import logsigmoid
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import abs, clamp, exp, log, log1p, maximum, square
from engine.ops.reduce.reduce import mean, sum
from engine.ops.shape.shape import broadcast_to

Reduction = Literal["mean", "sum", "none"]

LOG_FLOOR = -100.0
"""Lower bound of logarithms in bce_loss, as in PyTorch, so that a probability of 0 costs 100 and not infinity."""


OF_NUMBERS = Loss(NUMBERS, (target(),), "numbers", paired=("target",))


def reduce_losses(losses: Value, reduction: str) -> Value:
    """Return the mean, the sum or the losses themselves."""
    if reduction == "none":
        return losses
    if reduction == "mean":
        warn_if_empty(losses)
        return mean(losses)
    return sum(losses)


def warn_if_empty(losses: Value) -> None:
    """Warn, on the tape, that the mean over an empty batch is NaN."""
    if losses.data is not None and not losses.size:
        warnings.warn(
            "the mean loss of an empty batch is nan; leave the batch out, or use reduction='sum'",
            RuntimeWarning,
            stacklevel=2,
        )


def require_equal(op: str, x: Value, target: Value) -> None:
    """Raise ShapeError if an input and a target have unequal shapes."""
    if x.shape != target.shape:
        raise ShapeError(
            f"{op}: the input has shape {list(x.shape)}, the target {list(target.shape)}: they must be equal; "
            "reshape one of them"
        )


def check_broadcast(op: str, x: Value, target: Value, *, warn: bool = False) -> None:
    """Raise ShapeError if input and target do not broadcast; with `warn`, warn if their shapes differ."""
    if x.shape == target.shape:
        return
    shape = broadcast_shapes(x.shape, target.shape)
    if warn and x.data is not None:  # a traced graph gets a finding instead
        warnings.warn(
            f"{op}: the input has shape {list(x.shape)}, the target {list(target.shape)}: every pair of the broadcast "
            f"shape {list(shape)} counts, which is seldom meant; reshape one of them",
            UserWarning,
            stacklevel=2,
        )


def _pairs(*extra: dict[str, object]) -> list[Sample]:
    """Samples whose differences lie away from 0, 0.5 and 1, where the losses have kinks."""
    shapes: list[tuple[int, ...]] = [(2, 3), (4,), ()]
    options: list[dict[str, object]] = [{}, {"reduction": "sum"}, {"reduction": "none"}, *extra]
    return [
        sample(uniform(1.1, 1.4, *shapes[k % 3]), uniform(-2.0, 0.0, *shapes[k % 3]), **attrs)
        for k, attrs in enumerate(options)
    ]


@composite(
    aliases=("mse",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(NUMBERS, (target(), weight()), "numbers", paired=("target",), mean_by_weight=True),
    samples=[
        *_pairs(),
        sample((2, 3), (2, 3), positive(2, 3)),
        sample((2, 3), (2, 3), positive(2, 1), reduction="sum"),
        sample((4,), (4,), positive(4), reduction="none"),
    ],
)
def mse_loss(x: Value, target: Value, weight: Value | None = None, *, reduction: Reduction = "mean") -> Value:
    """Squared error (x - target)², times the `weight` of each element where given (it broadcasts to x).

    The weighted mean divides by the sum of the weights, as in PyTorch.
    """
    check_broadcast("mse_loss", x, target, warn=True)
    losses = square(x - target)
    if weight is None:
        return reduce_losses(losses, reduction)
    if broadcast_shapes(losses.shape, weight.shape) != losses.shape:
        raise ShapeError(f"mse_loss: weight {list(weight.shape)} does not broadcast to {list(losses.shape)}")
    if reduction != "mean":
        return reduce_losses(losses * weight, reduction)
    warn_if_empty(losses)
    return sum(losses * weight) / sum(broadcast_to(weight, shape=losses.shape))


@composite(aliases=("l1", "mae"), numerics=PRECISE_COMPOSITION, loss=OF_NUMBERS, samples=_pairs())
def l1_loss(x: Value, target: Value, *, reduction: Reduction = "mean") -> Value:
    """Absolute error |x - target|; the gradient at 0 is 0."""
    check_broadcast("l1_loss", x, target, warn=True)
    return reduce_losses(abs(x - target), reduction)


@composite(
    aliases=("huber",),
    call=CallForms(by_place=("reduction", "delta")),
    numerics=PRECISE_COMPOSITION,
    loss=OF_NUMBERS,
    samples=_pairs({"delta": 0.5}, {"delta": 5.0}),
)
def huber_loss(x: Value, target: Value, *, delta: Positive = 1.0, reduction: Reduction = "mean") -> Value:
    """Half the squared error up to |x - target| = delta, linear with slope delta beyond (Huber 1964)."""
    check_broadcast("huber_loss", x, target, warn=True)
    return reduce_losses(_huber(x - target, delta), reduction)


def _huber(error: Value, delta: float) -> Value:
    # With c the error limited to ±delta: c (e - c/2) is e²/2 inside and delta (|e| - delta/2) outside.
    limited = clamp(error, min=-delta, max=delta)
    return limited * (error - limited * 0.5)


@composite(
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    loss=OF_NUMBERS,
    samples=_pairs({"beta": 0.5}, {"beta": 5.0}, {"beta": 0.0}),
)
def smooth_l1_loss(x: Value, target: Value, *, beta: NonNegative = 1.0, reduction: Reduction = "mean") -> Value:
    """Absolute error, quadratic below |x - target| = beta: huber_loss / beta; with beta 0 it is l1_loss."""
    check_broadcast("smooth_l1_loss", x, target, warn=True)
    error = x - target
    return reduce_losses(_huber(error, beta) / beta if beta > 0 else abs(error), reduction)


def _bce_terms(p: Value, target: Value) -> Spec:
    require_float("bce_loss", p, target)
    require_equal("bce_loss", p, target)
    return p.spec


@primitive(
    shape_rule=_bce_terms,
    numerics=PRECISE_FUNCTION,
    algebra=Algebra(elementwise=True),
    batching=spread,
    samples=[sample(uniform(0.1, 0.9, 2, 3), uniform(0.0, 1.0, 2, 3))],
)
def bce_terms(p: Array, target: Array, *, out: Array | None = None) -> Array:
    """-(target log p + (1 - target) log(1 - p)), elementwise, the logarithms limited to at least -100."""
    yes = np.maximum(np.log(p), LOG_FLOOR)
    no = np.maximum(np.log1p(-p), LOG_FLOOR)
    yes -= no
    yes *= target
    yes += no
    return np.negative(yes, out=out)


@bce_terms.vjp
def _(g: Value, y: Value, p: Value, target: Value) -> object:
    def probability() -> Value:
        return g * ((p - target) / maximum(p * (1.0 - p), 1e-12))

    def label() -> Value:
        return g * (maximum(log1p(-p), LOG_FLOOR) - maximum(log(p), LOG_FLOOR))

    return probability, label


@composite(
    aliases=("bce",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "probabilities 0 to 1, floating [rows, ...]",
        (target("0 to 1, in the shape of p"), weight()),
        "binary_probabilities",
        paired=("target",),
    ),
    samples=[
        sample(uniform(0.1, 0.9, 2, 3), uniform(0.0, 1.0, 2, 3)),
        sample(uniform(0.1, 0.9, 4), booleans(4), reduction="none"),
        sample(uniform(0.1, 0.9, 2, 3), uniform(0.0, 1.0, 2, 3), positive(2, 1)),
    ],
)
def bce_loss(p: Value, target: Value, weight: Value | None = None, *, reduction: Reduction = "mean") -> Value:
    """Binary cross entropy of probabilities p against targets 0..1; the logarithms are limited to at least -100.

    A p outside 0..1 gives NaN. From logits, bce_with_logits_loss is exact where this one is limited. `weight`
    multiplies the loss of each element, before the reduction; it broadcasts to p.
    """
    return reduce_losses(_weight_losses("bce_loss", bce_terms(p, target), weight), reduction)


def _weight_losses(op: str, losses: Value, weight: Value | None) -> Value:
    if weight is None:
        return losses
    if broadcast_shapes(losses.shape, weight.shape) != losses.shape:
        raise ShapeError(f"{op}: weight {list(weight.shape)} does not broadcast to {list(losses.shape)}")
    return losses * weight


@composite(
    aliases=("bce_with_logits", "binary_cross_entropy_with_logits"),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        LOGITS,
        (
            target("0 to 1, floating, in the shape of the logits"),
            LossOperand("pos_weight", "numbers that broadcast to the logits", False, "numbers"),
            weight("numbers that broadcast to the logits"),
        ),
        "binary_logits",
        paired=("target",),
    ),
    samples=[
        sample((2, 3), uniform(0.0, 1.0, 2, 3)),
        sample((4,), booleans(4), reduction="sum"),
        sample((2, 3), uniform(0.0, 1.0, 2, 3), positive(3), reduction="none"),
        sample((2, 3), uniform(0.0, 1.0, 2, 3), positive(3), positive(2, 1)),
    ],
)
def bce_with_logits_loss(
    logits: Value,
    target: Value,
    pos_weight: Value | None = None,
    weight: Value | None = None,
    *,
    reduction: Reduction = "mean",
) -> Value:
    """Binary cross entropy of sigmoid(logits) against targets 0..1, finite for any finite logits.

    `pos_weight` multiplies the term of the positive class and `weight` the loss of each element, before the reduction;
    both broadcast to the logits.
    """
    require_equal("bce_with_logits_loss", logits, target)
    rest = (1.0 - target) * logits
    log_yes = logsigmoid(logits)
    if pos_weight is None:
        return reduce_losses(_weight_losses("bce_with_logits_loss", rest - log_yes, weight), reduction)
    if broadcast_shapes(logits.shape, pos_weight.shape) != logits.shape:
        raise ShapeError(
            f"bce_with_logits_loss: pos_weight {list(pos_weight.shape)} does not broadcast to {list(logits.shape)}"
        )
    losses = rest - (1.0 + (pos_weight - 1.0) * target) * log_yes
    return reduce_losses(_weight_losses("bce_with_logits_loss", losses, weight), reduction)


@composite(
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "log-probabilities, floating [rows, ...]",
        (target("probabilities, or with log_target log-probabilities, in the shape of the predictions"),),
        paired=("target",),
    ),
    samples=[
        sample((2, 3), uniform(0.1, 0.9, 2, 3)),
        sample((2, 3), uniform(0.1, 0.9, 2, 3), reduction="batchmean"),
        sample((4,), normal(4), log_target=True, reduction="sum"),
    ],
)
def kl_div(
    x: Value,
    target: Value,
    *,
    log_target: bool = False,
    reduction: Literal["mean", "sum", "none", "batchmean"] = "mean",
) -> Value:
    """Kullback-Leibler divergence target (log target - x) of log-probabilities x; 0 log 0 is 0.

    With `log_target` the target holds log-probabilities too; "batchmean" divides the sum by the first extent.
    """
    check_broadcast("kl_div", x, target)
    if log_target:
        losses = exp(target) * (target - x)
    else:
        zero = eq(target, 0.0)
        losses = where(zero, 0.0, target * log(where(zero, 1.0, target))) - target * x
    if reduction != "batchmean":
        return reduce_losses(losses, reduction)
    if not x.shape:
        raise ShapeError("kl_div: batchmean needs at least one axis")
    return sum(losses) / float(x.shape[0])
