"""Counts, histograms and membership."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from engine.core.attributes import Axes, Count, Range
from engine.core.batching import each
from engine.core.declarations import PROMOTE_COMMON, Documentation
from engine.core.dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, is_float
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import composite, primitive
from engine.core.samples import integers, positive, sample, uniform
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import eq, ne
from engine.ops.index.index import embedding
from engine.ops.reduce.reduce import sum
from engine.ops.reduce.summary import SAMPLES


@composite(samples=[sample(integers(0, 2, 4), integers(0, 2, 4))])
def count_equal(a: Value, b: Value) -> Value:
    """Number of equal elements of a and b, which have one shape (ggml's count_equal)."""
    if a.shape != b.shape:
        raise ShapeError(f"count_equal: shapes {list(a.shape)} and {list(b.shape)} must agree")
    return sum(eq(a, b))


@composite(samples=SAMPLES)
def count_nonzero(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Number of nonzero elements over `axis`; NaN is nonzero."""
    return sum(ne(x, 0), axis=axis, keepdims=keepdims)


MOST_BINS = 10_000_000
"""Maximum number of bins, so that one large number cannot exhaust the memory."""


def _histc(x: Value, *, bins: int, min: float, max: float) -> Spec:
    if not (math.isfinite(min) and math.isfinite(max) and min <= max):
        raise AttributeValueError(f"histc: min {min} and max {max} must be finite, and min not above max")
    return Spec((bins,), require_float("histc", x))


@primitive(
    shape_rule=_histc,
    differentiable=False,
    documentation=Documentation(no_gradient="counts are piecewise constant"),
    samples=[sample(uniform(-1.0, 3.0, 4, 5), bins=4), sample((6,), bins=3, min=-1.0, max=1.0)],
)
def histc(x: Array, *, bins: Annotated[int, Range(1, MOST_BINS)] = 100, min: float = 0.0, max: float = 0.0) -> Array:
    """The number of elements of x in each of `bins` equal bins between `min` and `max`, in the dtype of x.

    With equal `min` and `max` the bins range from the smallest to the largest element. A bin includes its lower bound,
    the last one both bounds; elements outside, and NaN, are not counted.
    """
    wide = x.reshape(-1).astype(FLOAT32 if x.dtype == FLOAT16 else x.dtype, copy=False)
    low, high = wide.dtype.type(min), wide.dtype.type(max)
    if low == high and wide.size:
        low, high = wide.min(), wide.max()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ShapeError(f"histc: elements from {low} to {high} have no finite range; set min and max")
    if low == high:
        low, high = low - 1, high + 1
    inside = wide[(wide >= low) & (wide <= high)]
    places = ((inside - low) * bins / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(x.dtype)


def _bincount(index: Value, weights: Value | None = None, *, bins: int | None, minlength: int) -> Spec:
    require_integer("bincount", "numbers", index)
    require_rank("bincount", "numbers", index, 1)
    if weights is not None and weights.shape != index.shape:
        raise ShapeError(f"bincount: weights {list(weights.shape)} must be one for each of {list(index.shape)} numbers")
    if bins is None:
        if index.data is None or MODES.tracing:
            raise ShapeError("bincount: a graph cannot know the largest number; set `bins`")
        bins = max(minlength, int(index.data.max()) + 1 if index.size else 0)
    if not 0 <= bins <= MOST_BINS:
        raise AttributeValueError(f"bincount: {bins} bins must be in 0..{MOST_BINS}")
    return Spec((bins,), _counted(weights))


def _counted(weights: Value | None) -> np.dtype[np.generic]:
    if weights is None:
        return INT64
    return weights.dtype if is_float(weights.dtype) else FLOAT64


@primitive(
    shape_rule=_bincount,
    batching=each,
    samples=[sample(integers(0, 4, 6), bins=5), sample(integers(0, 4, 6), positive(6), bins=4)],
)
def bincount(
    index: Array,
    weights: Array | None = None,
    *,
    bins: Annotated[int | None, Range(0, MOST_BINS)] = None,
    minlength: Count = 0,
) -> Array:
    """The number of occurrences of 0, 1, 2, ... in a vector of integers, int64; with `weights` their sums.

    The extent is the largest number plus 1, at least `minlength`, or `bins`, which graphs need; greater numbers, and
    negative ones, are an error. Weights have a gradient.
    """
    if index.size and int(index.min()) < 0:
        raise ShapeError(f"bincount: number {int(index.min())} is negative")
    if bins is not None and index.size and int(index.max()) >= bins:
        raise ShapeError(f"bincount: number {int(index.max())} is out of range for {bins} bins")
    wide = None if weights is None else weights.astype(FLOAT64, copy=False)
    counts = np.bincount(index, wide, minlength if bins is None else bins)
    if weights is None:
        return counts.astype(INT64, copy=False)
    return counts.astype(weights.dtype if is_float(weights.dtype) else FLOAT64, copy=False)


bincount.vjp(lambda g, y, index, weights=None: (None,) if weights is None else (None, embedding(g, index)))


def _isin(x: Value, elements: Value, *, invert: bool) -> Spec:
    return Spec(x.shape, BOOL)


@primitive(
    shape_rule=_isin,
    differentiable=False,
    numerics=PROMOTE_COMMON,
    sharding=batch_axes("0-", "0"),
    batching=each,
    samples=[
        sample(integers(0, 6, 2, 3), integers(0, 6, 3)),
        sample(integers(0, 6, 4), integers(0, 6, 2), invert=True),
    ],
)
def isin(x: Array, elements: Array, *, invert: bool = False) -> Array:
    """Whether each element of x is in `elements`, of any shape, or with `invert` is not; NaN is in none."""
    return np.asarray(np.isin(x, elements, invert=invert))
