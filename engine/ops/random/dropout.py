"""Variants of dropout, for whole channels and for selu, and activations that are random in training."""

from __future__ import annotations

import math

from engine.core.attributes import Share
from engine.core.declarations import COMPUTE_FLOAT32
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import away_from, key, sample
from engine.core.shape_rules import require_float
from engine.core.value import Shape, Value
from engine.ops.activation.activation import SELU_ALPHA, SELU_SCALE
from engine.ops.elementwise.comparison import gt, where
from engine.ops.random.random import bernoulli, check_key, dropout_mask, random_uniform

SELU_FLOOR = SELU_SCALE * SELU_ALPHA
"""The magnitude of the limit of selu at -inf."""


def _dropped(op: str, x: Value, key: Value, shared: int, first: int, p: float, training: bool | None) -> Value:
    """Drop whole slices of x: the first `first` axes have independent draws, the `shared` ones after share one."""
    check_key(op, key)
    require_float(op, x)
    if not training or p == 0:
        return x
    shape = (*x.shape[:first], *(1,) * shared)
    return x * dropout_mask(key, shape=shape, p=p, dtype=x.dtype)


@composite(random=True, samples=[sample((2, 3, 2), key(), p=0.3, training=True), sample((2, 3), key(), training=False)])
def feature_dropout(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x [rows, channels, ...] with a share p of its channels set to 0 and the others divided by 1 - p."""
    if x.ndim < 2:
        raise ShapeError(f"feature_dropout needs an input [rows, channels, ...], got {list(x.shape)}")
    return _dropped("feature_dropout", x, key, x.ndim - 2, 2, p, training)


def _channels(rank: int, x: Value, key: Value, p: float, training: bool | None) -> Value:
    op = f"dropout{rank}d"
    if x.ndim not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{op} needs an input [rows, channels, *spatial] or [channels, *spatial] with {rank} spatial axes, got "
            f"{list(x.shape)}"
        )
    return _dropped(op, x, key, rank, x.ndim - rank, p, training)


@composite(
    random=True, samples=[sample((2, 3, 2), key(), p=0.3, training=True), sample((3, 2), key(), p=0.3, training=True)]
)
def dropout1d(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x [rows, channels, length] (or without rows) with a share p of its channels set to 0, the others over 1 - p."""
    return _channels(1, x, key, p, training)


@composite(
    random=True,
    samples=[sample((2, 3, 1, 2), key(), p=0.3, training=True), sample((3, 2, 1), key(), p=0.3, training=True)],
)
def dropout2d(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x [rows, channels, height, width] (or without rows) with a share p of its channels 0, the others over 1 - p."""
    return _channels(2, x, key, p, training)


@composite(random=True, samples=[sample((2, 3, 1, 2, 1), key(), p=0.3, training=True)])
def dropout3d(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x [rows, channels, depth, height, width] (or without rows) with a share p of its channels 0."""
    return _channels(3, x, key, p, training)


def _alpha(op: str, x: Value, key: Value, shape: Shape, p: float, training: bool | None) -> Value:
    """Set the elements of a random mask of `shape` to the limit of selu; scale and shift all."""
    check_key(op, key)
    require_float(op, x)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    factor = 1 / math.sqrt((1 - p) * (1 + p * SELU_FLOOR**2))
    kept = where(bernoulli(key, shape=shape, p=1 - p), x, -SELU_FLOOR)
    return kept * factor + factor * p * SELU_FLOOR


@composite(
    random=True,
    numerics=COMPUTE_FLOAT32,
    samples=[sample((2, 3), key(), p=0.3, training=True), sample((4,), key(), training=False)],
)
def alpha_dropout(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x with a share p of its elements set to the limit of selu, scaled and shifted to keep mean 0 and variance 1.

    Klambauer et al. 2017; outside of training x itself, and zeros if p is 1.
    """
    return _alpha("alpha_dropout", x, key, x.shape, p, training)


@composite(
    random=True,
    numerics=COMPUTE_FLOAT32,
    samples=[sample((2, 3, 2), key(), p=0.3, training=True), sample((2, 3), key(), training=False)],
)
def feature_alpha_dropout(x: Value, key: Value, *, p: Share = 0.5, training: bool | None = None) -> Value:
    """x [rows, channels, ...] with a share p of its channels set to the limit of selu, scaled and shifted.

    See alpha_dropout, which draws for each element.
    """
    if x.ndim < 2:
        raise ShapeError(f"feature_alpha_dropout needs an input [rows, channels, ...], got {list(x.shape)}")
    shape = (*x.shape[:2], *(1,) * (x.ndim - 2))
    return _alpha("feature_alpha_dropout", x, key, shape, p, training)


KINKED = away_from((0.0,), 2, 3)


@composite(
    random=True,
    numerics=COMPUTE_FLOAT32,
    samples=[
        sample(KINKED, key(), training=True),
        sample(KINKED, key(), lower=0.2, upper=0.2, training=True),
        sample(KINKED, key(), lower=0.1, upper=0.5, training=False),
    ],
)
def rrelu(x: Value, key: Value, *, lower: float = 1 / 8, upper: float = 1 / 3, training: bool | None = None) -> Value:
    """x where x > 0, else slope x: slopes drawn uniformly from lower..upper in training, their mean outside of it.

    Xu et al. 2015; each element has its own slope.
    """
    check_key("rrelu", key)
    require_float("rrelu", x)
    if not lower <= upper:
        raise AttributeValueError(f"rrelu: lower {lower} must not be greater than upper {upper}")
    if not training:
        return where(gt(x, 0.0), x, x * ((lower + upper) / 2))
    return where(gt(x, 0.0), x, x * random_uniform(key, shape=x.shape, low=lower, high=upper, dtype=x.dtype))
