"""Inverse hyperbolic functions, the plane's polar coordinates (hypot, atan2) and sinc."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from engine.core.attributes import Range
from engine.core.declarations import PROMOTE_FLOAT, Algebra
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.registry import primitive
from engine.core.samples import away_from, normal, positive, sample, uniform
from engine.core.shape_rules import broadcast, same
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.elementwise.elementwise import rsqrt, sign
from engine.ops.elementwise.rounding import zero_slope
from engine.ops.kernels.blocks import blockwise, store_result

PAIRS = [sample((2, 3), positive(3)), sample(normal(), positive(4))]


@primitive(shape_rule=same, aliases=("arcsinh",), numerics=PROMOTE_FLOAT, samples=[sample((2, 3))])
def asinh(x: Array, *, out: Array | None = None) -> Array:
    """Inverse hyperbolic sine."""
    return np.arcsinh(x, out=out)


@asinh.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g / hypot(x, 1.0)  # the root of x² + 1 without overflow


@primitive(shape_rule=same, aliases=("arccosh",), numerics=PROMOTE_FLOAT, samples=[sample(uniform(1.2, 3.0, 2, 3))])
def acosh(x: Array, *, out: Array | None = None) -> Array:
    """Inverse hyperbolic cosine; NaN below 1, and with an infinite gradient at 1."""
    return np.arccosh(x, out=out)


acosh.vjp(lambda g, y, x: g * (rsqrt(x - 1.0) * rsqrt(x + 1.0)))


@primitive(shape_rule=same, aliases=("arctanh",), numerics=PROMOTE_FLOAT, samples=[sample(uniform(-0.9, 0.9, 2, 3))])
def atanh(x: Array, *, out: Array | None = None) -> Array:
    """Inverse hyperbolic tangent; -inf and inf at -1 and 1, NaN beyond."""
    return np.arctanh(x, out=out)


@atanh.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g / one_minus_square(x)


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3)), sample(())])
def one_minus_square(x: Array, *, out: Array | None = None) -> Array:
    """1 - x², computed as (1 - x) (1 + x): accurate near -1 and 1 too."""
    result: Array = np.multiply(1 - x, 1 + x, out=out)
    return result


one_minus_square.vjp(lambda g, y, x: g * x * -2.0)


@primitive(shape_rule=broadcast, numerics=PROMOTE_FLOAT, samples=PAIRS)
def hypot(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """sqrt(a² + b²) without overflow, elementwise with broadcasting; the gradient at the origin is 0."""
    return np.hypot(a, b, out=out)


@hypot.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    zero = eq(y, 0.0)
    safe = where(zero, 1.0, y)
    return lambda: where(zero, 0.0, g * (a / safe)), lambda: where(zero, 0.0, g * (b / safe))


@primitive(shape_rule=broadcast, aliases=("arctan2",), numerics=PROMOTE_FLOAT, samples=PAIRS)
def atan2(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """Angle in radians, in -pi..pi, of the point (b, a); the gradient at the origin is 0."""
    return np.arctan2(a, b, out=out)


@atan2.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    radius = hypot(a, b)
    zero = eq(radius, 0.0)
    safe = where(zero, 1.0, radius)
    # The sine and cosine come first: 1 / radius overflows for subnormal numbers, and inf times 0 is NaN.
    return lambda: where(zero, 0.0, g * (b / safe) / safe), lambda: where(zero, 0.0, -(g * (a / safe) / safe))


@primitive(
    shape_rule=broadcast, numerics=PROMOTE_FLOAT, samples=[sample(away_from((0.0,), 2, 3), away_from((0.0,), 3))]
)
def copysign(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """|a| with the sign of b (which -0.0 has too), elementwise; the gradient at a = 0 is 0, and that of b always."""
    return np.copysign(a, b, out=out)


copysign.vjp(lambda g, y, a, b: (lambda: g * (sign(a) * copysign(1.0, b)), lambda: zero_slope(g)))


@primitive(
    shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3)), sample(uniform(-1e-3, 1e-3, 3)), sample(())]
)
def sinc(x: Array, *, out: Array | None = None) -> Array:
    """sin(pi x) / (pi x), and 1 at 0."""
    wide = x.astype(FLOAT32) if x.dtype == FLOAT16 else x
    return store_result(np.asarray(np.sinc(wide), dtype=x.dtype), out)


@sinc.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g * sinc_derivative(x, order=1)


def _order(x: Value, *, order: int) -> Spec:
    return x.spec


@primitive(
    shape_rule=_order,
    numerics=PROMOTE_FLOAT,
    algebra=Algebra(elementwise=True),
    samples=[sample((3,), order=1), sample(uniform(-0.2, 0.2, 3), order=2), sample(uniform(-4.0, 4.0, 4), order=4)],
)
def sinc_derivative(x: Array, *, order: Annotated[int, Range(1, 20)], out: Array | None = None) -> Array:
    """The derivative of sinc of the given order, accurate at and near 0 too."""

    def kernel(y: Array, x: Array) -> None:
        u = math.pi * x
        near = np.abs(u) < order / 2 + 1
        safe = np.where(near, 1.0, u)
        far = np.sin(safe) / safe
        for n in range(1, order + 1):  # u s(u) = sin(u), differentiated n times
            far = (np.sin(safe + n * (math.pi / 2)) - n * far) / safe
        result = np.where(near, _sinc_series(np.where(near, u, 0.0), order), far) * math.pi**order
        y[...] = result

    return blockwise(kernel, (x,), out)


def _sinc_series(u: Array, order: int) -> Array:
    """The derivative of sin(u)/u by its power series, for |u| up to order / 2 + 1."""
    first = (order + 1) // 2
    total = np.zeros_like(u)
    square = u * u
    for k in range(first + 24 + order // 2, first - 1, -1):
        total *= square
        total += (-1) ** k / (math.factorial(2 * k - order) * (2 * k + 1))
    return total * u if order % 2 else total


sinc_derivative.vjp(lambda g, y, x, *, order: g * sinc_derivative(x, order=order + 1))
