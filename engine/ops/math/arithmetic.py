"""Arithmetic beyond the four operations; exponentials and logarithms to other bases, and x log y with 0 log 0 = 0."""

from __future__ import annotations

import math

import numpy as np

from engine.core.declarations import COMPUTE_FLOAT32, PRECISE_FUNCTION, PROMOTE_FLOAT, CallForms
from engine.core.dtypes import FLOAT32, FLOAT64, is_float
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, integers, normal, positive, sample, uniform
from engine.core.shape_rules import broadcast, same
from engine.core.value import Array, Value
from engine.ops.activation.activation import sigmoid
from engine.ops.elementwise.casting import cast, factor_for, in_common_type
from engine.ops.elementwise.comparison import eq, le, where
from engine.ops.elementwise.elementwise import exp, log, log1p, power, square
from engine.ops.kernels.blocks import store_result
from engine.ops.reduce.reduce import finite_floor
from engine.ops.shape.shape import reshape


@primitive(
    shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3), factor=-2.5), sample((), factor=2.0, bias=0.5)]
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
    """b - alpha * a, with broadcasting: sub with its operands reversed."""
    return add_scaled(b, a, alpha=-alpha)


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample(away_from((0.0,), 2, 3)), sample(positive())])
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


@composite(numerics=COMPUTE_FLOAT32, samples=[sample((2, 3), integers(-3, 4, 2, 3)), sample((3,), (2, 1))])
def ldexp(x: Value, exponent: Value) -> Value:
    """x times 2 to the power of `exponent`, which need not be an integer; both have a gradient.

    As in PyTorch the power is computed first and may overflow where the product would not. Integers become float32.
    """
    dtype = x.dtype if is_float(x.dtype) else FLOAT32
    return x * exp2(exponent if is_float(exponent.dtype) else cast(exponent, dtype=dtype))


LN_2, LN_10 = math.log(2), math.log(10)
POSITIVES = [sample(positive(2, 3)), sample(positive())]
SUMS = [sample((2, 3), (3,)), sample((), (4,)), sample((3,), (3,), zero_grad_at_neg_inf=True)]


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample((2, 3)), sample(())])
def exp2(x: Array, *, out: Array | None = None) -> Array:
    """2 to the power x."""
    return np.exp2(x, out=out)


exp2.vjp(lambda g, y, x: g * (y * LN_2))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=POSITIVES)
def log2(x: Array, *, out: Array | None = None) -> Array:
    """Logarithm to base 2."""
    return np.log2(x, out=out)


log2.vjp(lambda g, y, x: g / (x * LN_2))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=POSITIVES)
def log10(x: Array, *, out: Array | None = None) -> Array:
    """Logarithm to base 10."""
    return np.log10(x, out=out)


log10.vjp(lambda g, y, x: g / (x * LN_10))


@primitive(shape_rule=broadcast, numerics=PRECISE_FUNCTION, samples=SUMS)
def logaddexp(a: Array, b: Array, *, zero_grad_at_neg_inf: bool = False, out: Array | None = None) -> Array:
    """log(exp(a) + exp(b)) without overflow.

    The gradients where both are -inf are NaN, as in PyTorch, or 0 with `zero_grad_at_neg_inf`.
    """
    return np.logaddexp(a, b, out=out)


@logaddexp.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, zero_grad_at_neg_inf: bool) -> object:
    if zero_grad_at_neg_inf:
        return lambda: g * exp(a - finite_floor(y)), lambda: g * exp(b - finite_floor(y))
    return lambda: g * sigmoid(a - b), lambda: g * sigmoid(b - a)


@primitive(shape_rule=broadcast, numerics=PRECISE_FUNCTION, samples=SUMS)
def logaddexp2(a: Array, b: Array, *, zero_grad_at_neg_inf: bool = False, out: Array | None = None) -> Array:
    """log2(2**a + 2**b) without overflow.

    The gradients where both are -inf are NaN, as in PyTorch, or 0 with `zero_grad_at_neg_inf`.
    """
    return np.logaddexp2(a, b, out=out)


@logaddexp2.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, zero_grad_at_neg_inf: bool) -> object:
    if zero_grad_at_neg_inf:
        return lambda: g * exp2(a - finite_floor(y)), lambda: g * exp2(b - finite_floor(y))
    return lambda: g * sigmoid((a - b) * LN_2), lambda: g * sigmoid((b - a) * LN_2)


def _times_log(a: Array, b: Array, logarithm: np.ufunc, out: Array | None) -> Array:
    return store_result(np.where((a == 0) & ~np.isnan(b), 0, a * logarithm(b)), out)


@primitive(
    shape_rule=broadcast,
    numerics=PRECISE_FUNCTION,
    samples=[sample((2, 3), positive(3)), sample(normal(), positive(4))],
)
def xlogy(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a log(b), and 0 where a is 0 (unless b is NaN), elementwise with broadcasting."""
    return _times_log(a, b, np.log, out)


@xlogy.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    def left() -> Value:
        flat = eq(a, 0.0) & le(b, 0.0)
        return where(flat, 0.0, g * log(where(flat, 1.0, b)))

    return left, lambda: g * a / b


@primitive(shape_rule=broadcast, numerics=PRECISE_FUNCTION, samples=[sample((2, 3), uniform(-0.5, 2.0, 3))])
def xlog1py(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a log(1 + b), and 0 where a is 0 (unless b is NaN), elementwise with broadcasting."""
    return _times_log(a, b, np.log1p, out)


@xlog1py.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    def left() -> Value:
        flat = eq(a, 0.0) & le(b, -1.0)
        return where(flat, 0.0, g * log1p(where(flat, 0.0, b)))

    return left, lambda: g * a / (b + 1.0)
