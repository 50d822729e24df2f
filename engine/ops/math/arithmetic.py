"""Arithmetic beyond the four operations: scale, add1, cube root, powers of two, and products or quotients added up."""

from __future__ import annotations

import math

import numpy as np

from engine.core.declarations import CallForms, Numerics
from engine.core.dtypes import FLOAT32, FLOAT64, is_float
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, integers, normal, positive, sample
from engine.core.shape_rules import same
from engine.core.value import Array, Value
from engine.ops.elementwise.casting import cast, factor_for, in_common_type
from engine.ops.elementwise.elementwise import power, square
from engine.ops.math.logarithm import exp2
from engine.ops.shape.shape import reshape


@primitive(
    shape_rule=same,
    numerics=Numerics(promotion="float"),
    samples=[sample((2, 3), factor=-2.5), sample((), factor=2.0, bias=0.5)],
)
def scale(x: Array, *, factor: float, bias: float = 0.0, out: Array | None = None) -> Array:
    """factor * x + bias, with both given as attributes."""
    result = np.multiply(x, factor, out=out)
    return np.add(result, bias, out=out) if bias else result


scale.vjp(lambda g, y, x, *, factor: scale(g, factor=factor))


@composite(samples=[sample(positive(2, 3), (3,)), sample(integers(1, 4, 3), integers(-2, 3, 3))])
def float_power(base: Value, exponent: Value) -> Value:
    """base to the power exponent (either may be a number), elementwise with broadcasting, always in float64."""
    return power(cast(base, dtype=FLOAT64), cast(exponent, dtype=FLOAT64))


@composite(samples=[sample((2, 3), normal()), sample((2, 3), normal(1, 1))])
def add1(x: Value, number: Value) -> Value:
    """x + number, where `number` holds a single element; its gradient is the sum over x (ggml's is the mean)."""
    if number.size != 1:
        raise ShapeError(f"add1 needs a second input of one element, got shape {list(number.shape)}; use add")
    return x + reshape(number, shape=())


@composite(samples=[sample((2, 3), (3,)), sample((2, 3), (2, 1), alpha=-2.5)])
def add_scaled(a: Value, b: Value, *, alpha: float = 1.0) -> Value:
    """a + alpha * b, with broadcasting: PyTorch's add with its factor alpha, and its sub with -alpha."""
    a, b = in_common_type(a, b)
    return a + (b if alpha == 1 else b * factor_for(alpha, b))


@composite(samples=[sample((2, 3), (3,)), sample((2, 3), (2, 1), alpha=-2.5)])
def rsub(a: Value, b: Value, *, alpha: float = 1.0) -> Value:
    """b - alpha * a, with broadcasting: a subtracted the other way round."""
    return add_scaled(b, a, alpha=-alpha)


@primitive(
    shape_rule=same, numerics=Numerics(promotion="float"), samples=[sample(away_from((0.0,), 2, 3)), sample(positive())]
)
def cbrt(x: Array, *, out: Array | None = None) -> Array:
    """Cube root, negative for negative x; the gradient at 0 is inf."""
    return np.cbrt(x, out=out)


cbrt.vjp(lambda g, y, x: g / (square(y) * 3.0))


@composite(call=CallForms(by_place=()), samples=[sample((2, 3), (3,), (2, 1)), sample((2,), (2,), (2,), value=-0.5)])
def addcmul(x: Value, a: Value, b: Value, *, value: float = 1.0) -> Value:
    """x + value * a * b, elementwise with broadcasting."""
    x, a, b = in_common_type(x, a, b)
    product = a * b
    return x + (product if value == 1 else product * factor_for(value, product))


@composite(
    call=CallForms(by_place=()),
    samples=[sample((2, 3), (3,), positive(2, 1)), sample((2,), (2,), positive(2), value=-0.5)],
)
def addcdiv(x: Value, a: Value, b: Value, *, value: float = 1.0) -> Value:
    """x + value * a / b, elementwise with broadcasting."""
    x, a, b = in_common_type(x, a, b, floating=True)
    quotient = a / b
    return x + (quotient if value == 1 else quotient * value)


@composite(samples=[sample((2, 3))])
def deg2rad(x: Value) -> Value:
    """Degrees as radians: x times pi / 180."""
    return scale(x, factor=math.pi / 180)


@composite(samples=[sample((2, 3))])
def rad2deg(x: Value) -> Value:
    """Radians as degrees: x times 180 / pi."""
    return scale(x, factor=180 / math.pi)


@composite(
    numerics=Numerics(compute_float32=True), samples=[sample((2, 3), integers(-3, 4, 2, 3)), sample((3,), (2, 1))]
)
def ldexp(x: Value, exponent: Value) -> Value:
    """x times 2 to the power of `exponent`, which may be no whole number; both have a gradient.

    As in PyTorch the power comes first, so that it may overflow where the product would not. Integers count as float32.
    """
    dtype = x.dtype if is_float(x.dtype) else FLOAT32
    return x * exp2(exponent if is_float(exponent.dtype) else cast(exponent, dtype=dtype))
