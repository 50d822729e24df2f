"""Cross entropy of predictions that are probabilities already."""

from __future__ import annotations

from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import sample, uniform
from engine.core.shape_rules import require_float
from engine.core.value import Value
from engine.ops.elementwise import clamp, log
from engine.ops.loss import Reduction, reduced
from engine.ops.reduce import sum

PAIR = (uniform(0.1, 0.9, 4, 3), uniform(0.1, 0.9, 4, 3))


@composite(
    aliases=("categorical_crossentropy",),
    numerics=Numerics(compute_float32=True, autocast="float32"),
    samples=[
        sample(*PAIR),
        sample(*PAIR, reduction="sum", eps=0.01),
        sample(uniform(0.1, 0.9, 2, 3, 2), uniform(0.1, 0.9, 2, 3, 2), reduction="none"),
        sample(uniform(0.1, 0.9, 3), uniform(0.1, 0.9, 3)),
    ],
)
def categorical_cross_entropy(p: Value, target: Value, *, eps: float = 1e-7, reduction: Reduction = "mean") -> Value:
    """-sum(target log p) over the classes, axis 1 (or the only axis), p being limited to eps..1-eps, as in Keras.

    p and target are probabilities of one shape. From logits, cross_entropy is exact where this one is cut off.
    """
    require_float("categorical_cross_entropy", p, target)
    if p.shape != target.shape or not p.ndim:
        raise ShapeError(
            f"categorical_cross_entropy: p has shape {list(p.shape)}, the target {list(target.shape)}: they must be "
            "equal, with an axis of classes"
        )
    if not 0 <= eps < 0.5:
        raise AttributeValueError(f"categorical_cross_entropy: eps {eps} must be in 0 <= eps < 0.5")
    limited = clamp(p, min=eps, max=1.0 - eps)
    return reduced(-sum(target * log(limited), axis=min(1, p.ndim - 1)), reduction)
