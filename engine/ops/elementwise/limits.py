"""Extremes that skip NaN, clamping and thresholds."""

from __future__ import annotations

import numpy as np

from engine.core.declarations import PROMOTE_COMMON, Algebra
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, distinct, sample, uniform
from engine.core.shape_rules import broadcast
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import ge, gt, isnan, le, lt, where
from engine.ops.kernels.blocks import store_result

DISTINCT = [sample(distinct(2, 3), distinct(3)), sample(distinct(2, 3), uniform(2.0, 3.0))]


@primitive(shape_rule=broadcast, numerics=PROMOTE_COMMON, samples=DISTINCT)
def fmax(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The larger of a and b, ignoring NaN (NaN only if both are); a tie gives the gradient to a."""
    return np.fmax(a, b, out=out)


@fmax.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    first = ge(a, b) | isnan(b)
    return lambda: where(first, g, 0.0), lambda: where(first, 0.0, g)


@primitive(shape_rule=broadcast, numerics=PROMOTE_COMMON, samples=DISTINCT)
def fmin(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The smaller of a and b, ignoring NaN (NaN only if both are); a tie gives the gradient to a."""
    return np.fmin(a, b, out=out)


@fmin.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    first = le(a, b) | isnan(b)
    return lambda: where(first, g, 0.0), lambda: where(first, 0.0, g)


@primitive(shape_rule=broadcast, numerics=PROMOTE_COMMON, samples=DISTINCT)
def clamp_min(x: Array, low: Array, *, out: Array | None = None) -> Array:
    """x, or `low` where x is below it; at the bound the gradient goes to x, at NaN to none, as in PyTorch."""
    return np.maximum(x, low, out=out)


clamp_min.vjp(lambda g, y, x, low: (lambda: where(ge(x, low), g, 0.0), lambda: where(lt(x, low), g, 0.0)))


@primitive(shape_rule=broadcast, numerics=PROMOTE_COMMON, samples=DISTINCT)
def clamp_max(x: Array, high: Array, *, out: Array | None = None) -> Array:
    """x, or `high` where x is above it; at the bound the gradient goes to x, at NaN to none, as in PyTorch."""
    return np.minimum(x, high, out=out)


clamp_max.vjp(lambda g, y, x, high: (lambda: where(le(x, high), g, 0.0), lambda: where(gt(x, high), g, 0.0)))


@composite(aliases=("clip",), samples=[sample(distinct(2, 3), uniform(-0.1, 0.1, 3), uniform(0.1, 0.15))])
def clamp_tensor(x: Value, low: Value, high: Value) -> Value:
    """x limited to the range from `low` to `high`, which broadcast; where low > high the result is `high`."""
    return clamp_max(clamp_min(x, low), high)


def _threshold(x: Value, *, threshold: float, value: float) -> Spec:
    if x.dtype.kind == "b":
        raise DTypeError("threshold needs numbers, got bool; cast it to int64")
    if not is_float(x.dtype) and not float(value).is_integer():
        raise DTypeError(f"threshold: the value {value} is no {x.dtype.name}; cast the input to float32")
    return x.spec


@primitive(
    shape_rule=_threshold,
    algebra=Algebra(elementwise=True),
    samples=[sample(away_from((0.3,), 2, 3), threshold=0.3, value=-1.0)],
)
def threshold(x: Array, *, threshold: float, value: float, out: Array | None = None) -> Array:
    """x where x > threshold (or is NaN), else `value`; integers stay integers."""
    return store_result(np.where(x <= threshold, x.dtype.type(value), x), out)


threshold.vjp(lambda g, y, x, *, threshold: where(le(x, threshold), 0.0, g))
