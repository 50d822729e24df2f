"""Arithmetic, powers, exponentials, logarithms, trigonometry: elementwise, with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from engine.core.declarations import (
    AUTOCAST_FLOAT32,
    COMPUTE_FLOAT32,
    PRECISE_FUNCTION,
    PROMOTE_COMMON,
    PROMOTE_FLOAT,
    Algebra,
    Numerics,
)
from engine.core.dtypes import FLOAT32, FLOAT64, DType, is_float
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, distinct, integers, normal, positive, sample, uniform
from engine.core.shape_rules import broadcast, same, same_number
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.kernels.blocks import blockwise, number

PAIRS = [sample((2, 3), (3,)), sample((), (4,)), sample((2, 1, 3), (4, 1))]
SHAPES = [sample((2, 3)), sample(())]
SMALL = 1024
"""Elements up to which a new array for each intermediate result is faster than the buffers of `blockwise`."""
POSITIVES = [sample(positive(2, 3)), sample(positive())]


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(additive=True, affine=True, addition=True),
    samples=PAIRS,
)
def add(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Sum a + b, elementwise with broadcasting."""
    return np.add(a, b, out=out)


add.vjp(lambda g, y, a, b: (g, g))


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(additive=True, affine=True, difference=True),
    samples=PAIRS,
)
def sub(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Difference a - b, elementwise with broadcasting."""
    return np.subtract(a, b, out=out) if a.dtype != np.bool_ else np.logical_xor(a, b, out=out)


@sub.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    return g, lambda: neg(g)


@primitive(
    shape_rule=broadcast,
    numerics=Numerics(promotion="common", compute_float32=True),
    algebra=Algebra(affine=True),
    samples=PAIRS,
)
def mul(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Product a * b, elementwise with broadcasting."""
    return np.multiply(a, b, out=out)


mul.vjp(lambda g, y, a, b: (lambda: g * b, lambda: g * a))


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_FLOAT,
    algebra=Algebra(affine=True),
    samples=[sample((2, 3), positive(3)), sample((), positive(4))],
)
def div(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Quotient a / b by IEEE rules (1/0 is inf, 0/0 is NaN), elementwise with broadcasting; integers give floats."""
    return np.divide(a, b, out=out)


div.vjp(lambda g, y, a, b: (lambda: g / b, lambda: -(g * (y / b))))


@primitive(shape_rule=same_number, algebra=Algebra(additive=True, affine=True), samples=SHAPES)
def neg(x: Array, *, out: Array | None = None) -> Array:
    """Negation -x."""
    return np.negative(x, out=out)


neg.vjp(lambda g, y, x: -g)


@primitive(
    shape_rule=broadcast,
    numerics=Numerics(promotion="common", autocast="float32"),
    samples=[sample(positive(2, 3), (3,)), sample(positive(4), ())],
)
def power(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a to the power b, elementwise with broadcasting; the gradients at a zero base are PyTorch's."""
    if b.dtype.kind in "iu" and b.size and b.min() < 0:
        raise ShapeError("pow: integers to a negative integer power are not integers; cast the base to float32")
    if a.dtype == np.bool_:
        return np.logical_or(a, np.logical_not(b), out=out)
    return np.power(a, b, out=out)


@power.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    def base() -> Value:
        return where(eq(b, 0), 0.0, g * (b * power(a, b - 1)))

    def exponent() -> Value:
        return g * where(eq(a, 0) & (b >= 0), 0.0, y * log(a))

    return base, exponent


@composite(
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((2, 3), exponent=2.0), sample(positive(3), exponent=-0.5), sample((3,), exponent=3.0)],
)
def pow_scalar(x: Value, *, exponent: float) -> Value:
    """x to a power given as an attribute; small whole exponents become products, and leave integers integers."""
    if not is_float(x.dtype) and exponent.is_integer():
        return pow(x, int(exponent))
    if exponent == 2:
        return square(x)
    if exponent == 3:
        return square(x) * x
    return power(x, exponent)


@composite(
    aliases=("pow_tensor",),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample(positive(2, 3), (3,)), sample(positive(4), positive(4))],
)
def pow(base: Value, exponent: Value) -> Value:
    """base to the power exponent (either may be a number), elementwise with broadcasting.

    Integers to a whole power are integers (truth values int64), and to a floating power, as 2.0, float32.
    """
    if not is_float(base.dtype) and (is_float(exponent.dtype) or base.dtype.kind == "b"):
        return power(base, exponent)
    if exponent.weak and exponent.data is not None and exponent.data == 2:
        return square(base)
    if exponent.weak and exponent.data is not None and exponent.data == 3:
        return square(base) * base
    return power(base, exponent)


@primitive(shape_rule=same, aliases=("sqr",), numerics=COMPUTE_FLOAT32, samples=SHAPES)
def square(x: Array, *, out: Array | None = None) -> Array:
    """x * x."""
    return np.multiply(x, x, out=out)


square.vjp(lambda g, y, x: g * x * 2.0)  # 2 x may overflow where the gradient does not


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=POSITIVES)
def sqrt(x: Array, *, out: Array | None = None) -> Array:
    """Square root; the gradient at 0 is inf."""
    return np.sqrt(x, out=out)


sqrt.vjp(lambda g, y, x: g / (y * 2.0))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=POSITIVES)
def rsqrt(x: Array, *, out: Array | None = None) -> Array:
    """1 / sqrt(x)."""
    root = np.sqrt(x, out=out)
    return np.divide(1, root, out=out, dtype=x.dtype)


rsqrt.vjp(lambda g, y, x: g * (y * y * y) * -0.5)


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=POSITIVES)
def reciprocal(x: Array, *, out: Array | None = None) -> Array:
    """1 / x."""
    return np.divide(1, x, out=out, dtype=x.dtype)


reciprocal.vjp(lambda g, y, x: -(g * y * y))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=SHAPES)
def exp(x: Array, *, out: Array | None = None) -> Array:
    """e to the power x."""
    return np.exp(x, out=out)


exp.vjp(lambda g, y, x: g * y)


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=SHAPES)
def expm1(x: Array, *, out: Array | None = None) -> Array:
    """exp(x) - 1, exact near 0."""
    return np.expm1(x, out=out)


expm1.vjp(lambda g, y, x: g * (y + 1.0))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=POSITIVES)
def log(x: Array, *, out: Array | None = None) -> Array:
    """Natural logarithm; log(0) is -inf and the logarithm of a negative number NaN."""
    return np.log(x, out=out)


log.vjp(lambda g, y, x: g / x)


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=POSITIVES)
def log1p(x: Array, *, out: Array | None = None) -> Array:
    """log(1 + x), exact near 0."""
    return np.log1p(x, out=out)


log1p.vjp(lambda g, y, x: g / (x + 1.0))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=SHAPES)
def sin(x: Array, *, out: Array | None = None) -> Array:
    """Sine of an angle in radians."""
    return np.sin(x, out=out)


@sin.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g * cos(x)


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=SHAPES)
def cos(x: Array, *, out: Array | None = None) -> Array:
    """Cosine of an angle in radians."""
    return np.cos(x, out=out)


cos.vjp(lambda g, y, x: -(g * sin(x)))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(-1.2, 1.2, 2, 3))])
def tan(x: Array, *, out: Array | None = None) -> Array:
    """Tangent of an angle in radians."""
    return np.tan(x, out=out)


tan.vjp(lambda g, y, x: g * (square(y) + 1.0))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(-0.9, 0.9, 2, 3))])
def asin(x: Array, *, out: Array | None = None) -> Array:
    """Inverse sine, in radians."""
    return np.arcsin(x, out=out)


asin.vjp(lambda g, y, x: g * rsqrt(1.0 - square(x)))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(-0.9, 0.9, 2, 3))])
def acos(x: Array, *, out: Array | None = None) -> Array:
    """Inverse cosine, in radians."""
    return np.arccos(x, out=out)


acos.vjp(lambda g, y, x: -(g * rsqrt(1.0 - square(x))))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=SHAPES)
def atan(x: Array, *, out: Array | None = None) -> Array:
    """Inverse tangent, in radians."""
    return np.arctan(x, out=out)


atan.vjp(lambda g, y, x: g / (square(x) + 1.0))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=SHAPES)
def sinh(x: Array, *, out: Array | None = None) -> Array:
    """Hyperbolic sine."""
    return np.sinh(x, out=out)


@sinh.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g * cosh(x)


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=SHAPES)
def cosh(x: Array, *, out: Array | None = None) -> Array:
    """Hyperbolic cosine."""
    return np.cosh(x, out=out)


cosh.vjp(lambda g, y, x: g * sinh(x))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=SHAPES)
def tanh(x: Array, *, out: Array | None = None) -> Array:
    """Hyperbolic tangent."""
    return np.tanh(x, out=out)


@tanh.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return tanh_backward(g, y)


@primitive(shape_rule=broadcast, numerics=PROMOTE_FLOAT, samples=[sample((2, 3), (2, 3)), sample((), ())])
def tanh_backward(g: Array, y: Array, *, out: Array | None = None) -> Array:
    """g (1 - y ** 2): the gradient of tanh, given its output y."""
    if y.size <= SMALL and g.shape == y.shape and y.dtype in (FLOAT32, FLOAT64):
        return np.multiply(g, np.subtract(number(1, y.dtype), np.multiply(y, y)), out=out)
    return blockwise(_tanh_slope, (g, y), out, scratch=1)


def _tanh_slope(out: Array, g: Array, y: Array, slope: Array) -> None:
    np.multiply(y, y, slope)
    np.subtract(number(1, y.dtype), slope, slope)
    np.multiply(g, slope, out)


tanh_backward.vjp(lambda u, gx, g, y: (tanh_backward(u, y), lambda: u * g * (y * -2.0)))


@primitive(shape_rule=same, samples=[sample(away_from((0.0,), 2, 3))])
def abs(x: Array, *, out: Array | None = None) -> Array:
    """Absolute value; the gradient at 0 is 0."""
    return np.absolute(x, out=out)


@abs.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g * sign(x)


@primitive(
    shape_rule=same_number,
    aliases=("sgn",),
    algebra=Algebra(piecewise_constant=True),
    samples=[sample(away_from((0.0,), 2, 3))],
)
def sign(x: Array, *, out: Array | None = None) -> Array:
    """-1, 0 or 1 by the sign of x; its gradient is 0."""
    return np.sign(x, out=out)


sign.vjp(lambda g, y, x: where(False, g, 0.0))


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_COMMON,
    samples=[sample(distinct(2, 3), distinct(3)), sample(distinct(2, 3), uniform(2.0, 3.0))],
)
def maximum(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The larger of a and b (NaN if either is); a tie gives half the gradient to each."""
    return np.maximum(a, b, out=out)


maximum.vjp(lambda g, y, a, b: (lambda: g * _share(a, b, y), lambda: g * _share(b, a, y)))


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_COMMON,
    samples=[sample(distinct(2, 3), distinct(3)), sample(distinct(2, 3), uniform(2.0, 3.0))],
)
def minimum(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """The smaller of a and b (NaN if either is); a tie gives half the gradient to each."""
    return np.minimum(a, b, out=out)


minimum.vjp(lambda g, y, a, b: (lambda: g * _share(a, b, y), lambda: g * _share(b, a, y)))


def _share(mine: Value, other: Value, chosen: Value) -> Value:
    """1 where `mine` alone was chosen or the result is NaN, 1/2 at a tie, else 0."""
    return where(eq(mine, other), 0.5, where(eq(other, chosen), 0.0, 1.0))


def _bounded(x: Value, *, min: float | None, max: float | None, strict: bool) -> Spec:
    if min is None and max is None:
        raise AttributeValueError("clamp needs min, max or both")
    return x.spec


def clip_array(x: Array, low: float | None, high: float | None, out: Array | None = None) -> Array:
    """Limit x to low..high; integers exactly, to the integers within the bounds."""
    if x.dtype.kind in "iu":
        low, high = integers_within(low, high, x.dtype)
    return np.asarray(np.clip(x, low, high, out=out), dtype=x.dtype)


def integers_within(low: float | None, high: float | None, dtype: DType) -> tuple[int | None, int | None]:
    """Return the smallest and the largest integer of `dtype` within bounds; None for one that is None."""
    return _integer_bound(low, math.ceil, dtype), _integer_bound(high, math.floor, dtype)


def _integer_bound(bound: float | None, rounded: Callable[[float], int], dtype: DType) -> int | None:
    limits = np.iinfo(dtype)
    if bound is None or not math.isfinite(bound):
        return None if bound is None else limits.max if bound > 0 else limits.min
    return sorted((limits.min, rounded(bound), limits.max))[1]


@primitive(
    shape_rule=_bounded,
    algebra=Algebra(elementwise=True),
    samples=[
        sample(away_from((-0.5, 0.5), 2, 3), min=-0.5, max=0.5),
        sample(away_from((0.0,), 3), min=0.0),
        sample((3,), max=9.0),
        sample(integers(-9, 9, 4), min=-2.5, max=3.0),
        sample(away_from((-0.5, 0.5), 4), min=-0.5, max=0.5, strict=True),
    ],
)
def clamp(
    x: Array, *, min: float | None = None, max: float | None = None, strict: bool = False, out: Array | None = None
) -> Array:
    """x limited to the range min..max (either may be left out).

    The gradient at a bound is 1, as in PyTorch; with `strict` it is 0, as in ggmlR, Lamp++ and HIPS autograd.
    """
    return clip_array(x, min, max, out)


@clamp.vjp
def _(g: Value, y: Value, x: Value, *, min: float | None, max: float | None, strict: bool) -> Value:
    inside = [x > min if strict else x >= min] if min is not None else []
    inside += [x < max if strict else x <= max] if max is not None else []
    return where(inside[0] if len(inside) == 1 else inside[0] & inside[1], g, 0.0)


@composite(numerics=COMPUTE_FLOAT32, samples=[sample(normal(3), positive(3), weight=0.3)])
def lerp(a: Value, b: Value, *, weight: float) -> Value:
    """a + weight * (b - a)."""
    return a + (b - a) * weight


@composite(numerics=COMPUTE_FLOAT32, samples=[sample(normal(2, 3), positive(3), uniform(0.0, 1.0, 2, 1))])
def lerp_tensor(a: Value, b: Value, weight: Value) -> Value:
    """a + weight * (b - a), the weight being an input; the three broadcast."""
    return a + (b - a) * weight
