"""Steps and limits: clamp to tensors, fmax and fmin, threshold, step, and what to put for NaN and infinity."""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import Algebra, Numerics
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, distinct, sample, uniform
from engine.core.shape_rules import broadcast, same, same_bool
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import eq, ge, gt, isfinite, isnan, le, lt, where
from engine.ops.elementwise.rounding import zero_slope
from engine.ops.kernels.blocks import stored

DISTINCT = [sample(distinct(2, 3), distinct(3)), sample(distinct(2, 3), uniform(2.0, 3.0))]


@primitive(shape_rule=broadcast, numerics=Numerics(promotion="common"), samples=DISTINCT)
def fmax(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The larger of a and b, ignoring NaN (NaN only if both are); a tie gives the gradient to a."""
    return np.fmax(a, b, out=out)


@fmax.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    first = ge(a, b) | isnan(b)
    return lambda: where(first, g, 0.0), lambda: where(first, 0.0, g)


@primitive(shape_rule=broadcast, numerics=Numerics(promotion="common"), samples=DISTINCT)
def fmin(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The smaller of a and b, ignoring NaN (NaN only if both are); a tie gives the gradient to a."""
    return np.fmin(a, b, out=out)


@fmin.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    first = le(a, b) | isnan(b)
    return lambda: where(first, g, 0.0), lambda: where(first, 0.0, g)


@primitive(shape_rule=broadcast, numerics=Numerics(promotion="common"), samples=DISTINCT)
def clamp_min(x: Array, low: Array, *, out: Array | None = None) -> Array:
    """x, or `low` where x is below it; at the bound the gradient goes to x, at NaN to none, as in PyTorch."""
    return np.maximum(x, low, out=out)


clamp_min.vjp(lambda g, y, x, low: (lambda: where(ge(x, low), g, 0.0), lambda: where(lt(x, low), g, 0.0)))


@primitive(shape_rule=broadcast, numerics=Numerics(promotion="common"), samples=DISTINCT)
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


@primitive(shape_rule=_threshold, samples=[sample(away_from((0.3,), 2, 3), threshold=0.3, value=-1.0)])
def threshold(x: Array, *, threshold: float, value: float, out: Array | None = None) -> Array:
    """x where x > threshold (or is NaN), else `value`; integers stay integers."""
    return stored(np.where(x <= threshold, x.dtype.type(value), x), out)


threshold.batch(by_itself)


threshold.vjp(lambda g, y, x, *, threshold: where(le(x, threshold), 0.0, g))


@primitive(shape_rule=same, algebra=Algebra(piecewise_constant=True), samples=[sample(away_from((0.0,), 2, 3))])
def step(x: Array, *, out: Array | None = None) -> Array:
    """1 where x > 0, else 0; the gradient is 0."""
    return stored(np.greater(x, 0).astype(x.dtype), out)


step.vjp(lambda g, y, x: lambda: zero_slope(g))


@composite(samples=[sample(away_from((0.0,), 2, 3), (3,))])
def heaviside(x: Value, values: Value) -> Value:
    """0 where x < 0, 1 where x > 0 and `values` where x is 0, elementwise with broadcasting."""
    return where(eq(x, 0), values, step(x))


@primitive(shape_rule=same_bool, differentiable=False, samples=[sample((2, 3))])
def isinf(x: Array, *, out: Array | None = None) -> Array:
    """Whether x is inf or -inf."""
    return np.isinf(x, out=out)


def _replaced(x: Value, **_: float | None) -> Spec:
    return x.spec


@primitive(
    shape_rule=_replaced,
    numerics=Numerics(supports_bfloat16=True, handles_missing=True),
    samples=[sample((2, 3)), sample((3,), nan=1.0, posinf=9.0, neginf=-9.0)],
)
def nan_to_num(
    x: Array, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, out: Array | None = None
) -> Array:
    """x with NaN, inf and -inf replaced by numbers, by default 0 and the largest and lowest of the dtype.

    The gradient is 0 at the replaced elements. Integers have none of the three and stay.
    """
    if not is_float(x.dtype):
        return stored(x.copy(), out)
    if x.dtype.kind == "V":  # the largest bfloat16 is not the largest float32, rounded
        largest = float(np.nextafter(x.dtype.type(np.inf), x.dtype.type(0)))
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
        return stored(np.nan_to_num(x.astype(np.float32), nan=nan, posinf=posinf, neginf=neginf).astype(x.dtype), out)
    return stored(np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf), out)


nan_to_num.batch(by_itself)


nan_to_num.vjp(lambda g, y, x: where(isfinite(x), g, 0.0))
