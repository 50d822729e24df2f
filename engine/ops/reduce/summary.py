"""Sums that skip NaN, pairs of reductions, and comparisons of whole arrays such as allclose."""

from __future__ import annotations

import numpy as np

from engine.core.attributes import Axes, NonNegative
from engine.core.declarations import PRECISE_COMPOSITION, CallForms, Documentation, Numerics
from engine.core.dtypes import BOOL, FLOAT64, is_float
from engine.core.registry import composite, primitive
from engine.core.samples import distinct, integers, sample
from engine.core.shape_rules import require_float, same_bool
from engine.core.value import Array, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, isfinite, isnan, le, where
from engine.ops.elementwise.elementwise import abs
from engine.ops.reduce.reduce import all, amax, amin, mean, std, sum, var

SAMPLES = [sample((2, 3)), sample((2, 3), axis=0), sample((2, 3, 2), axis=(0, 2), keepdims=True)]
MOMENTS = [sample((2, 3)), sample((4, 3), axis=0), sample((2, 3), axis=1, keepdims=True, correction=0)]


@composite(
    call=CallForms(by_place=("axis",)),
    numerics=PRECISE_COMPOSITION,
    documentation=Documentation(outputs=("var", "mean")),
    samples=MOMENTS,
)
def var_mean(x: Value, *, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> tuple[Value, Value]:
    """Variance and mean over `axis`; the variance divides by the count minus `correction`."""
    variance = var(x, axis=axis, correction=correction, keepdims=keepdims)
    return variance, mean(x, axis=axis, keepdims=keepdims)


@composite(
    call=CallForms(by_place=("axis",)),
    numerics=PRECISE_COMPOSITION,
    documentation=Documentation(outputs=("std", "mean")),
    samples=MOMENTS,
)
def std_mean(x: Value, *, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> tuple[Value, Value]:
    """Standard deviation and mean over `axis`; the variance divides by the count minus `correction`."""
    deviation = std(x, axis=axis, correction=correction, keepdims=keepdims)
    return deviation, mean(x, axis=axis, keepdims=keepdims)


@composite(numerics=Numerics(autocast="float32", handles_missing=True), samples=SAMPLES)
def nansum(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Sum over `axis` of the elements that are not NaN; the gradient of NaN elements is 0."""
    return sum(where(isnan(x), 0, x), axis=axis, keepdims=keepdims)


@composite(numerics=Numerics(compute_float32=True, autocast="float32", handles_missing=True), samples=SAMPLES)
def nanmean(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Mean over `axis` of the elements that are not NaN; NaN if there are none."""
    require_float("nanmean", x)
    counted = sum(~isnan(x), axis=axis, keepdims=keepdims)
    return nansum(x, axis=axis, keepdims=keepdims) / counted


@composite(
    call=CallForms(by_place=()),
    documentation=Documentation(outputs=("min", "max")),
    samples=[sample(distinct(2, 3)), sample(distinct(2, 3), axis=0), sample(distinct(2, 3), keepdims=True)],
)
def aminmax(x: Value, *, axis: Axes = None, keepdims: bool = False) -> tuple[Value, Value]:
    """Smallest and largest element over `axis`; tied elements share the gradient equally."""
    return amin(x, axis=axis, keepdims=keepdims), amax(x, axis=axis, keepdims=keepdims)


CLOSE_SAMPLES = [
    sample((2, 3), (3,), rtol=0.5),
    sample(integers(0, 3, 4), integers(0, 3, 4), atol=1.0),
    sample((3,), (3,), rtol=0.0, atol=0.0, equal_nan=True),
]


def _close(op: str, a: Value, b: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    a, b = (v if is_float(v.dtype) else cast(v, dtype=FLOAT64) for v in (a, b))
    close = eq(a, b)
    if equal_nan:
        close = close | (isnan(a) & isnan(b))
    apart = abs(a - b)
    return close | (isfinite(apart) & le(apart, abs(b * rtol) + atol))


@composite(samples=CLOSE_SAMPLES)
def isclose(
    a: Value, b: Value, *, rtol: NonNegative = 1e-5, atol: NonNegative = 1e-8, equal_nan: bool = False
) -> Value:
    """Whether |a - b| <= atol + rtol |b|, bool: a and b broadcast, infinities are close only to themselves.

    NaN is close to nothing, with `equal_nan` to NaN. Integers and bool are compared as float64.
    """
    return _close("isclose", a, b, rtol, atol, equal_nan)


@composite(samples=CLOSE_SAMPLES)
def allclose(
    a: Value, b: Value, *, rtol: NonNegative = 1e-5, atol: NonNegative = 1e-8, equal_nan: bool = False
) -> Value:
    """Whether all elements are close, a bool scalar: see isclose. True without elements."""
    return all(_close("allclose", a, b, rtol, atol, equal_nan))


@composite(samples=[sample((2, 3), (2, 3)), sample(integers(0, 3, 2), integers(0, 3, 2, 2))])
def equal(a: Value, b: Value) -> Value:
    """Whether a and b have one shape and equal elements: a bool scalar. NaN equals nothing."""
    if a.shape != b.shape:
        return cast(Value((), BOOL, np.zeros((), BOOL)), dtype=BOOL)
    return all(eq(a, b))


@primitive(shape_rule=same_bool, differentiable=False, samples=[sample((2, 3)), sample(integers(-3, 3, 4))])
def signbit(x: Array, *, out: Array | None = None) -> Array:
    """Whether the sign bit of x is set, as in -0.0 too."""
    result: Array = np.signbit(x, out=out) if is_float(x.dtype) else np.less(x, 0, out=out)
    return result


@primitive(shape_rule=same_bool, differentiable=False, samples=[sample((2, 3))])
def isposinf(x: Array, *, out: Array | None = None) -> Array:
    """Whether x is plus infinity."""
    result: Array = np.equal(x, np.inf, out=out)
    return result


@primitive(shape_rule=same_bool, differentiable=False, samples=[sample((2, 3))])
def isneginf(x: Array, *, out: Array | None = None) -> Array:
    """Whether x is minus infinity."""
    result: Array = np.equal(x, -np.inf, out=out)
    return result
