"""Mixup: examples of a batch mixed in pairs, with their targets."""

from __future__ import annotations

from typing import Annotated

from engine.core.attributes import Range
from engine.core.declarations import COMPUTE_FLOAT32, Documentation
from engine.core.dtypes import computing_dtype, is_float
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import integers, key, sample, uniform
from engine.core.shape_rules import require_float, require_integer
from engine.core.value import Value
from engine.ops.index.index import one_hot
from engine.ops.random.draws import random_beta
from engine.ops.random.random import check_key
from engine.ops.shape.shape import concat, reshape, slice


@composite(
    random=True,
    multi_output=True,
    numerics=COMPUTE_FLOAT32,
    documentation=Documentation(outputs=("mixed", "target")),
    samples=[
        sample((3, 2, 2), integers(0, 4, 3), key(), classes=4, training=True),
        sample((3, 2), uniform(0.0, 1.0, 3, 2), key(), alpha=1.0, training=True),
        sample((3, 2), integers(0, 4, 3), key(), classes=4, training=False),
    ],
)
def mixup(
    x: Value,
    target: Value,
    key: Value,
    *,
    alpha: Annotated[float, Range(0, 1e6, above=True)] = 0.2,
    classes: Annotated[int | None, Range(1)] = None,
    training: bool | None = None,
) -> tuple[Value, Value]:
    """Examples x [N, ...] mixed with the next of the batch in training, and their targets in the same proportions.

    Each proportion is drawn from Beta(alpha, alpha): Zhang et al. 2018, as torchvision's MixUp, with a draw for each
    example. Targets are classes int[N], which become probabilities [N, classes], or numbers [N, ...]. Outside of
    training nothing is mixed.
    """
    check_key("mixup", key)
    require_float("mixup", x)
    if not x.ndim or target.shape[:1] != x.shape[:1]:
        raise ShapeError(
            f"mixup needs examples [N, ...] and a target for each, got {list(x.shape)} and {list(target.shape)}"
        )
    if not is_float(target.dtype):
        require_integer("mixup", "targets", target)
        if classes is None or target.ndim != 1:
            raise ShapeError(
                f"mixup: a target of classes {target.dtype.name}{list(target.shape)} must be a vector, and needs "
                "`classes`, their number"
            )
        target = one_hot(target, classes=classes, dtype=x.dtype)
    if not training:
        return x, target
    share = random_beta(key, shape=(x.shape[0],), a=alpha, b=alpha, dtype=computing_dtype(x.dtype))
    return _mixed(x, share), _mixed(target, share)


def _mixed(x: Value, share: Value) -> Value:
    weight = reshape(share, shape=(x.shape[0], *(1,) * (x.ndim - 1)))
    following = concat(slice(x, axis=0, start=1), slice(x, axis=0, stop=1), axis=0)
    return following + (x - following) * weight
