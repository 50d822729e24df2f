"""Cumulative sums, products and extremes along an axis; recurrences.

Narrower floats accumulate in float64, as in PyTorch on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_FUNCTION, Documentation
from engine.core.dtypes import FLOAT64, INT64, is_float
from engine.core.errors import ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite, primitive
from engine.core.samples import Sample, distinct, sample, uniform
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import exp
from engine.ops.index.index import gather
from engine.ops.kernels.blocks import store_result
from engine.ops.reduce.reduce import finite_floor
from engine.ops.shape.shape import concat, flip, reshape, slice

SAMPLES = [sample((2, 3)), sample((3, 2), axis=0), sample((4,)), sample(())]


def _along(x: Value, *_: Value, axis: int, **__: Any) -> Spec:
    normalize_axis(axis, x.ndim)
    return x.spec


def _total(x: Value, *, axis: int) -> Spec:
    return Spec(_along(x, axis=axis).shape, x.dtype if is_float(x.dtype) else INT64)


def _accumulated(ufunc: np.ufunc, x: Array, axis: int, out: Array | None) -> Array:
    wide = FLOAT64 if is_float(x.dtype) else INT64
    narrow = x.dtype if is_float(x.dtype) else INT64
    run = np.atleast_1d(x)
    if narrow == wide and out is not None and x.ndim:
        return ufunc.accumulate(run, axis=axis, dtype=wide, out=out)
    result = ufunc.accumulate(run, axis=axis, dtype=wide).reshape(x.shape).astype(narrow, copy=False)
    return store_result(np.asarray(result), out)


def _reversed(scan: Callable[..., Value], *inputs: Value, axis: int) -> Value:
    """Run a scan from the end to the beginning."""
    if not inputs[0].ndim:
        return scan(*inputs, axis=axis)
    return flip(scan(*(flip(x, axis=axis) for x in inputs), axis=axis), axis=axis)


def _shifted(x: Value, axis: int, first: float) -> Value:
    """Return x shifted by one along the axis, with `first` at the start and without the last element."""
    place = normalize_axis(axis, x.ndim)
    if not x.ndim or not x.shape[place]:
        return where(False, x, first)
    shape = (*x.shape[:place], 1, *x.shape[place + 1 :])
    charge_table("scan", *shape, item_bytes=x.dtype.itemsize)
    edge = Value(shape, x.dtype, np.full(shape, first, x.dtype))
    return concat(edge, slice(x, axis=place, stop=-1), axis=place)


@primitive(
    shape_rule=_total,
    aliases=("cumulative_sum",),
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=SAMPLES,
)
def cumsum(x: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """Cumulative sum along `axis`; bool and integers give int64."""
    return _accumulated(np.add, x, axis, out)


cumsum.vjp(lambda g, y, x, *, axis: _reversed(cumsum, g, axis=axis))


def _recurrence(a: Value, b: Value, *, axis: int) -> Spec:
    if a.shape != b.shape:
        raise ShapeError(
            f"linear_recurrence: factors {list(a.shape)} and terms {list(b.shape)} must have one shape; "
            "broadcast them first"
        )
    require_float("linear_recurrence", a, b)
    return _along(b, axis=axis)


@primitive(
    shape_rule=_recurrence,
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 5), (2, 5)), sample((3, 2), (3, 2), axis=0), sample((9,), (9,))],
)
def linear_recurrence(a: Array, b: Array, *, axis: int = -1) -> Array:
    """y[t] = a[t] y[t - 1] + b[t] along `axis`, starting from y[-1] = 0: a scan whose gradient is one too."""
    if not b.ndim:
        return b.copy()
    factor = np.moveaxis(a, axis, 0).astype(FLOAT64)
    total = np.moveaxis(b, axis, 0).astype(FLOAT64)
    steps = len(total)
    if total.size >= steps * steps // 16:  # many rows: step by step
        for t in range(1, steps):
            total[t] += factor[t] * total[t - 1]
    else:  # one long row: by doubling, each pass joining spans twice as long (Hillis & Steele 1986)
        span = 1
        while span < steps:
            total[span:] += factor[span:] * total[:-span]
            factor[span:] *= factor[:-span]
            span *= 2
    return np.moveaxis(total, 0, axis).astype(b.dtype, copy=False)


@linear_recurrence.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, axis: int) -> object:
    terms = _decayed(g, a, axis)
    return lambda: terms * _shifted(y, axis, 0.0), terms


def _decayed(g: Value, factors: Value, axis: int) -> Value:
    """s[t] = g[t] + factors[t + 1] s[t + 1]: the recurrence from the end, with the factors one place later."""
    if not g.ndim:
        return g
    backwards = _shifted(flip(factors, axis=axis), axis, 0.0)
    return flip(linear_recurrence(backwards, flip(g, axis=axis), axis=axis), axis=axis)


@primitive(
    shape_rule=_total,
    aliases=("cumulative_prod",),
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=SAMPLES,
)
def cumprod(x: Array, *, axis: int = -1, out: Array | None = None) -> Array:
    """Cumulative product along `axis`; bool and integers give int64. The gradient is exact with zeros too."""
    return _accumulated(np.multiply, x, axis, out)


@cumprod.vjp
def _(g: Value, y: Value, x: Value, *, axis: int) -> Value:
    # The factor x[t] is in every product from t on: the product before it times the later factors.
    return _shifted(y, axis, 1.0) * _decayed(g, x, axis)


@primitive(
    shape_rule=_along,
    numerics=PRECISE_FUNCTION,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[*SAMPLES, sample(uniform(-9.0, 9.0, 2, 4)), sample((2, 4), zero_grad_at_neg_inf=True)],
)
def logcumsumexp(x: Array, *, axis: int = -1, zero_grad_at_neg_inf: bool = False, out: Array | None = None) -> Array:
    """log(cumsum(exp(x))) along `axis`, stable.

    The gradient where the result is -inf is NaN, as in PyTorch, or 0 with `zero_grad_at_neg_inf`.
    """
    return _accumulated(np.logaddexp, x, axis, out)


@logcumsumexp.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, zero_grad_at_neg_inf: bool) -> Value:
    # Sum over k >= t of g[k] exp(x[t] - y[k]), by factors exp(y[t] - y[t + 1]) <= 1.
    top = finite_floor(y) if zero_grad_at_neg_inf else y
    return exp(x - top) * _decayed(g, exp(_shifted(y, axis, -math.inf) - top), axis)


def _places(x: Value, *, axis: int) -> Spec:
    return Spec(_along(x, axis=axis).shape, INT64)


EXTREMES: list[Sample] = [sample(distinct(2, 4)), sample(distinct(3, 2), axis=0), sample(distinct(1)), sample(())]


@primitive(shape_rule=_places, differentiable=False, sharding=ALONG_AXIS, batching=along("axis"), samples=EXTREMES)
def argcummax(x: Array, *, axis: int = -1) -> Array:
    """Index of the largest element so far along `axis`: the last of ties, and of NaN once there is one."""
    return _latest(x, np.maximum, axis)


@primitive(shape_rule=_places, differentiable=False, sharding=ALONG_AXIS, batching=along("axis"), samples=EXTREMES)
def argcummin(x: Array, *, axis: int = -1) -> Array:
    """Index of the smallest element so far along `axis`: the last of ties, and of NaN once there is one."""
    return _latest(x, np.minimum, axis)


def _latest(x: Array, ufunc: np.ufunc, axis: int) -> Array:
    if not x.ndim:
        return np.zeros((), INT64)
    reached = x == ufunc.accumulate(x, axis=axis)
    if is_float(x.dtype):
        reached |= np.isnan(x)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = np.where(reached, np.arange(x.shape[axis], dtype=INT64).reshape(shape), 0)
    return np.asarray(np.maximum.accumulate(places, axis=axis))


@composite(documentation=Documentation(outputs=("values", "indices")), samples=EXTREMES)
def cummax(x: Value, *, axis: int = -1) -> tuple[Value, Value]:
    """Cumulative maximum along `axis` and its index: the last of ties, and of NaN once there is one."""
    return _picked(x, argcummax(x, axis=axis), axis)


@composite(documentation=Documentation(outputs=("values", "indices")), samples=EXTREMES)
def cummin(x: Value, *, axis: int = -1) -> tuple[Value, Value]:
    """Cumulative minimum along `axis` and its index: the last of ties, and of NaN once there is one."""
    return _picked(x, argcummin(x, axis=axis), axis)


def _picked(x: Value, places: Value, axis: int) -> tuple[Value, Value]:
    if x.ndim:
        return gather(x, places, axis=axis), places
    return reshape(gather(reshape(x, shape=(1,)), reshape(places, shape=(1,)), axis=0), shape=()), places
