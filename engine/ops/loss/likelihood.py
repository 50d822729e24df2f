"""Negative log-likelihoods, and weighted variants of the squared error and the cross entropy."""

from __future__ import annotations

import math
from typing import Annotated

from engine.core.attributes import Positive, Range
from engine.core.declarations import PRECISE_COMPOSITION, Memory
from engine.core.dtypes import is_float
from engine.core.errors import GradientError, ShapeError
from engine.core.losses import LOGITS, NUMBERS, Loss, LossOperand, target, weight
from engine.core.registry import composite, primitive
from engine.core.samples import booleans, positive, sample, uniform
from engine.core.shape_rules import broadcast_shapes, require_float, same
from engine.core.value import Array, Value
from engine.ops.activation.activation import sigmoid
from engine.ops.activation.softmax import log_softmax
from engine.ops.elementwise.casting import cast, stop_gradient
from engine.ops.elementwise.comparison import gt, where
from engine.ops.elementwise.elementwise import clamp, exp, log, power, square
from engine.ops.loss.loss import Reduction, bce_with_logits_loss, check_broadcast, reduce_losses, require_equal
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import unsqueeze

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "means, floating [rows, ...]",
        (
            target(),
            LossOperand("var", "variances: the shape of the means, or without their last axis", True, "numbers"),
        ),
        "numbers",
        paired=("target",),
        parts=("var",),
    ),
    samples=[
        sample((2, 3), (2, 3), positive(2, 3)),
        sample((2, 3), (2, 3), positive(2), full=True, reduction="sum"),
        sample((2, 3), (2, 3), positive(2, 1), reduction="none"),
        sample((2, 3), (4, 1, 3), positive(2)),
    ],
)
def gaussian_nll_loss(
    x: Value, target: Value, var: Value, *, full: bool = False, eps: Positive = 1e-6, reduction: Reduction = "mean"
) -> Value:
    """(log var + (x - target)² / var) / 2, x and var being mean and variance of a normal distribution.

    Target and x broadcast. var has the shape of x, or lacks the last axis, or has one axis of extent 1. Variances below
    eps are replaced by eps, also negative ones, with the gradient at eps. `full` adds log(2 pi) / 2.
    """
    check_broadcast("gaussian_nll_loss", x, target)
    if var.shape != x.shape:
        differing = [a for a, b in zip(x.shape, var.shape, strict=False) if a != b]
        if var.shape == x.shape[:-1]:
            var = unsqueeze(var, axis=-1)
        elif var.ndim != x.ndim or len(differing) > 1 or broadcast_shapes(var.shape, x.shape) != x.shape:
            raise ShapeError(
                f"gaussian_nll_loss: var {list(var.shape)} must have the shape {list(x.shape)}, without the last axis, "
                "or with one axis of extent 1"
            )
    var = var + stop_gradient(clamp(var, min=eps) - var)
    losses = (log(var) + square(x - target) / var) * 0.5
    return reduce_losses(losses + HALF_LOG_TWO_PI if full else losses, reduction)


@composite(
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "logarithms of rates, or without log_input rates, floating [rows, ...]",
        (target("counts, in the shape of the predictions"),),
        paired=("target",),
    ),
    samples=[
        sample((2, 3), positive(2, 3)),
        sample(positive(2, 3), uniform(1.2, 3.0, 2, 3), log_input=False, full=True, reduction="none"),
        sample((4,), uniform(0.0, 0.9, 4), full=True, reduction="sum"),
    ],
)
def poisson_nll_loss(
    x: Value,
    target: Value,
    *,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: Reduction = "mean",
) -> Value:
    """exp(x) - target x, or x - target log(x + eps) without `log_input`: the likelihood of counts (Poisson).

    Target and x broadcast. `full` adds Stirling's approximation of log(target!) where the target is above 1.
    """
    check_broadcast("poisson_nll_loss", x, target)
    losses = exp(x) - target * x if log_input else x - target * log(x + eps)
    if full:
        large = gt(target, 1)
        count = where(large, cast(target, dtype=x.dtype), 2.0)
        losses = losses + where(large, count * log(count) - count + log(count) * 0.5 + HALF_LOG_TWO_PI, 0.0)
    return reduce_losses(losses, reduction)


@composite(
    aliases=("sigmoid_focal_loss",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(LOGITS, (target("0 to 1, in the shape of the logits"),), "binary_logits", paired=("target",)),
    samples=[
        sample((2, 3), booleans(2, 3)),
        sample((4,), uniform(0.0, 1.0, 4), alpha=-1.0, gamma=1.5, reduction="none"),
        sample((4,), booleans(4), gamma=0.0, reduction="sum"),
    ],
)
def focal_loss(
    logits: Value,
    target: Value,
    *,
    alpha: Annotated[float, Range(-math.inf, 1)] = 0.25,
    gamma: float = 2.0,
    reduction: Reduction = "mean",
) -> Value:
    """Binary cross entropy times (1 - p)^gamma, p the predicted probability of the target 0 or 1 (Lin et al. 2017).

    Targets 1 are weighted by alpha and targets 0 by 1 - alpha; a negative alpha means no weights. As torchvision's
    sigmoid_focal_loss, whose reduction is "none" by default.
    """
    require_equal("focal_loss", logits, target)
    target = cast(target, dtype=logits.dtype)
    p = sigmoid(logits)
    missed = p + target - p * target * 2.0  # 1 - (p t + (1 - p)(1 - t))
    modulation = square(missed) if gamma == 2 else power(missed, gamma)
    losses = bce_with_logits_loss(logits, target, reduction="none") * modulation
    if alpha >= 0:
        losses = losses * (target * (2 * alpha - 1) + (1 - alpha))
    return reduce_losses(losses, reduction)


@composite(
    aliases=("weighted_mse",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(NUMBERS, (target(), weight(required=True)), "numbers", paired=("target",)),
    samples=[
        sample((2, 3), (2, 3), positive(2, 1)),
        sample((2, 3), (2, 3), positive(2, 3), by_weight=True),
        sample((4,), (4,), positive(4), reduction="none"),
    ],
)
def weighted_mse_loss(
    x: Value, target: Value, weight: Value, *, by_weight: bool = False, reduction: Reduction = "mean"
) -> Value:
    """weight (x - target)²; the weight broadcasts to x. The mean divides by the number of elements, as in ggmlR.

    `by_weight` divides by the sum of the weights instead, as PyTorch's mse_loss with a weight.
    """
    require_equal("weighted_mse_loss", x, target)
    if broadcast_shapes(x.shape, weight.shape) != x.shape:
        raise ShapeError(f"weighted_mse_loss: weight {list(weight.shape)} does not broadcast to {list(x.shape)}")
    losses = square(x - target) * weight
    if reduction == "mean" and by_weight:
        return sum(losses) / sum(losses * 0.0 + weight)
    return reduce_losses(losses, reduction)


@primitive(shape_rule=same, memory=Memory(view="strided"), samples=[sample(booleans(2, 3))])
def fixed_labels(x: Array) -> Array:
    """x itself; requesting its gradient is an error."""
    return x


@fixed_labels.vjp
def _(g: Value, y: Value, x: Value) -> object:
    raise GradientError(
        "ggml_cross_entropy has no gradient by its labels, but a gradient is requested of a value they depend on; "
        "use cross_entropy, or stop_gradient on the labels"
    )


@composite(
    aliases=("ggml_cross_entropy_loss",),
    numerics=PRECISE_COMPOSITION,
    loss=Loss(
        "logits, floating [..., classes]",
        (target("probabilities in the shape of the logits"),),
        "class_logits",
        class_axis=-1,
        paired=("target",),
    ),
    samples=[sample((2, 3), booleans(2, 3)), sample((3,), booleans(3))],
)
def ggml_cross_entropy(logits: Value, labels: Value) -> Value:
    """-sum(labels log_softmax(logits)) over the last axis, averaged over the rows, as ggml's cross_entropy_loss.

    The labels are probabilities of the shape of the logits. They have no gradient: requesting one is an error. A logit
    of -inf gives NaN even where the label is 0.
    """
    require_equal("ggml_cross_entropy", logits, labels)
    require_float("ggml_cross_entropy", logits)
    if not logits.ndim:
        raise ShapeError("ggml_cross_entropy needs logits [..., classes], got a number without axes")
    labels = fixed_labels(labels)
    if not is_float(labels.dtype):
        labels = cast(labels, dtype=logits.dtype)
    return reduce_losses(-sum(labels * log_softmax(logits), axis=-1), "mean")
