"""Augmentation of sequences: noise, masked spans and masked steps, each with a draw for each sequence.

Outside of training sequences are returned as they are.
"""

from __future__ import annotations

from engine.core.attributes import Count, NonNegative, Share
from engine.core.declarations import COMPUTE_FLOAT32
from engine.core.dtypes import computing_dtype
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import integers, key, sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.value import Value
from engine.ops.augmentation.boxes import random_spans
from engine.ops.elementwise.comparison import ge, lt, where
from engine.ops.random.random import bernoulli, check_key, random_normal
from engine.ops.shape.creation import arange
from engine.ops.shape.shape import reshape, slice


@composite(
    random=True,
    numerics=COMPUTE_FLOAT32,
    samples=[sample((2, 3), key(), std=0.5, training=True), sample((2, 1, 2, 2), key())],
)
def gaussian_noise(x: Value, key: Value, *, std: NonNegative = 0.1, training: bool | None = None) -> Value:
    """x with normal noise of mean 0 and deviation `std` added to each element in training.

    As Keras' GaussianNoise; of sequences it is known as jitter (Um et al. 2017).
    """
    check_key("gaussian_noise", key)
    require_float("gaussian_noise", x)
    if not training or std == 0:
        return x
    return x + random_normal(key, shape=x.shape, dtype=computing_dtype(x.dtype)) * std


def _check_sequences(op: str, x: Value, key: Value) -> None:
    check_key(op, key)
    if x.ndim < 2:
        raise ShapeError(f"{op} needs sequences [N, T, ...], got {list(x.shape)}")


@composite(
    random=True,
    samples=[
        sample((2, 5, 3), key(), longest=3, training=True),
        sample((2, 3, 6), key(), longest=4, axis=2, p=0.8, value=0.5, training=True),
        sample((2, 3), key(), longest=3),
    ],
)
def time_masking(
    x: Value,
    key: Value,
    *,
    longest: Count,
    axis: int = 1,
    p: Share = 1.0,
    value: float = 0.0,
    training: bool | None = None,
) -> Value:
    """Sequences x [N, T, ...], each with probability p with `value` in a random span of `axis` in training.

    The length of a span is uniform over 0..longest, and so is its place. As torchaudio's TimeMasking, and with the axis
    of frequencies its FrequencyMasking, with a draw for each sequence (SpecAugment, Park et al. 2019).
    """
    _check_sequences("time_masking", x, key)
    require_float("time_masking", x)
    place = normalize_axis(axis, x.ndim)
    if place == 0:
        raise AttributeValueError("time_masking: axis 0 holds the sequences; choose one behind it")
    extent = x.shape[place]
    if longest > extent:
        raise AttributeValueError(f"time_masking: longest {longest} exceeds {extent}, the extent of axis {axis}")
    if not training or p == 0 or longest == 0:
        return x
    spans = random_spans(key, rows=x.shape[0], extent=extent, longest=longest, p=p)
    first, end = (
        reshape(slice(spans, axis=1, start=edge, stop=edge + 1), shape=(x.shape[0], *(1,) * (x.ndim - 1)))
        for edge in (0, 1)
    )
    number = reshape(arange(stop=extent), shape=tuple(extent if a == place else 1 for a in range(x.ndim)))
    return where(ge(number, first) & lt(number, end), value, x)


@composite(
    random=True,
    samples=[
        sample((3, 4, 2), key(), p=0.4, training=True),
        sample(integers(1, 9, 2, 5), key(), value=0.0, training=True),
        sample((2, 3), key()),
    ],
)
def random_masking(x: Value, key: Value, *, p: Share = 0.15, value: float = 0.0, training: bool | None = None) -> Value:
    """Sequences x [N, T, ...] of numbers or token ids with `value` in each step with probability p in training.

    The share that BERT masks is 0.15 (Devlin et al. 2019).
    """
    _check_sequences("random_masking", x, key)
    if x.dtype.kind in "iu" and not float(value).is_integer():
        raise AttributeValueError(f"random_masking: value {value} must be whole, for x holds {x.dtype.name}")
    if not training or p == 0:
        return x
    masked = bernoulli(key, shape=(*x.shape[:2], *(1,) * (x.ndim - 2)), p=p)
    return where(masked, x.dtype.type(value), x)
