"""Quantiles: the elements, or points between two of them, below which a share of a row lies."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.declarations import Numerics
from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError
from engine.core.registry import composite
from engine.core.samples import distinct, sample
from engine.core.shape_rules import nonempty_reduction, require_float
from engine.core.value import Value, as_value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import isfinite, isnan, where
from engine.ops.elementwise.elementwise import clamp, lerp, lerp_tensor
from engine.ops.elementwise.rounding import ceil, floor, round
from engine.ops.index.index import gather
from engine.ops.reduce.reduce import any, sum
from engine.ops.reduce.sort import argsort
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.shape import broadcast_to, reshape, squeeze

Interpolation = Literal["linear", "lower", "higher", "midpoint", "nearest"]
Shares = float | tuple[float, ...]

SAMPLES = [
    sample(distinct(2, 4), q=0.3),
    sample(distinct(2, 5), q=(0.25, 0.6, 1.0), axis=1),
    sample(distinct(5, 2), q=(0.4,), axis=0, keepdims=True, interpolation="midpoint"),
    sample(distinct(2, 4), q=0.6, axis=-1, interpolation="nearest"),
]


def _shares(op: str, q: Shares) -> tuple[float, ...]:
    shares = q if isinstance(q, tuple) else (q,)
    for share in shares:
        if not 0 <= share <= 1:
            raise AttributeValueError(f"{op}: q {share} must be in 0..1")
    return shares


def _ranks(x: Value, shares: tuple[float, ...], axis: int, ignore_nan: bool) -> Value:
    """Where in the sorted rows the quantiles lie, in float64, along `axis` as many as there are shares."""
    q = as_value(np.array(shares).reshape(-1, *(1,) * (x.ndim - 1 - axis)))
    if ignore_nan:
        known = sum(~isnan(x), axis=axis, keepdims=True)
        return clamp(q * cast(known - 1, dtype=FLOAT64), min=0.0)
    last = float(x.shape[axis] - 1)
    # NaN lies last, so that a row with one gives NaN.
    return where(any(isnan(x), axis=axis, keepdims=True), last, q * last)


def _between(x: Value, ranks: Value, axis: int, interpolation: Interpolation) -> Value:
    """The elements of x at ranks of their order along `axis`, or between two of them."""
    order = argsort(x, axis=axis)

    def element(rank: Value) -> Value:
        return gather(x, gather(order, cast(rank, dtype=INT64), axis=axis), axis=axis)

    if interpolation == "nearest":
        return element(round(ranks))
    if interpolation == "higher":
        return element(ceil(ranks))
    low = floor(ranks)
    below = element(low)
    if interpolation == "lower":
        return below
    above = element(ceil(ranks))
    if interpolation == "midpoint":
        found = lerp(below, above, weight=0.5)
    else:
        found = lerp_tensor(below, above, cast(ranks - low, dtype=x.dtype))
    # The way from an infinite element, even to itself, has no length.
    return where(isfinite(below), found, below)


def _quantile(
    op: str, x: Value, q: Shares, axis: int | None, keepdims: bool, interpolation: Interpolation, ignore_nan: bool
) -> Value:
    require_float(op, x)
    shares = _shares(op, q)
    kept = nonempty_reduction(x, axis=axis, keepdims=True).shape
    if axis is None or not x.ndim:
        x, place = reshape(x, shape=(x.size,)), 0
    else:
        place = axis % x.ndim
    wide = (*x.shape[:place], len(shares), *x.shape[place + 1 :])
    ranks = broadcast_to(_ranks(x, shares, place, ignore_nan), shape=wide)
    found = movedim(_between(x, ranks, place, interpolation), source=place, destination=0)
    if keepdims:
        found = reshape(found, shape=(len(shares), *kept))
    return found if isinstance(q, tuple) else squeeze(found, axis=0)


@composite(numerics=Numerics(compute_float32=True, autocast="float32"), samples=SAMPLES)
def quantile(
    x: Value, *, q: Shares, axis: int | None = None, keepdims: bool = False, interpolation: Interpolation = "linear"
) -> Value:
    """The numbers below which the shares q (0..1) of x lie, over everything or along one axis; NaN if there is one.

    A list q gives a new first axis. Where a quantile falls between two elements, `interpolation` tells what it is: a
    point on the line between them, the one or the other, the middle, or the nearest (of halves the even rank). The
    gradient goes to these elements. Ranks are computed in float64. As PyTorch's, but that an infinite element is itself
    a quantile and does not give NaN.
    """
    return _quantile("quantile", x, q, axis, keepdims, interpolation, ignore_nan=False)


@composite(numerics=Numerics(compute_float32=True, autocast="float32", handles_missing=True), samples=SAMPLES)
def nanquantile(
    x: Value, *, q: Shares, axis: int | None = None, keepdims: bool = False, interpolation: Interpolation = "linear"
) -> Value:
    """The quantiles of what is not NaN, and NaN where there is nothing else: see quantile."""
    return _quantile("nanquantile", x, q, axis, keepdims, interpolation, ignore_nan=True)
