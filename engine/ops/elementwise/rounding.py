"""Whole numbers nearby and division with a remainder. Rounding has gradient 0: it is flat between its jumps."""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import Numerics
from engine.core.dtypes import is_float
from engine.core.errors import AttributeValueError, DTypeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, sample, uniform
from engine.core.shape_rules import broadcast, same
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.kernels.blocks import stored

WHOLE = tuple(float(number) for number in range(-9, 10))
SHAPES = [sample(away_from(WHOLE, 2, 3)), sample(away_from(WHOLE))]


def zero_slope(g: Value) -> Value:
    """Zeros in the shape of g, even where g is infinite or NaN."""
    return where(False, g, 0.0)


def _rounded(x: Array, ufunc: np.ufunc, out: Array | None) -> Array:
    """Apply a rounding to floats; integers and bool are whole already."""
    if is_float(x.dtype):
        return ufunc(x, out=out)  # type: ignore[no-any-return]
    return np.positive(x, out=out) if x.dtype != np.bool_ else np.logical_or(x, x, out=out)


@primitive(shape_rule=same, samples=SHAPES)
def floor(x: Array, *, out: Array | None = None) -> Array:
    """Largest whole number not above x; the gradient is 0."""
    return _rounded(x, np.floor, out)


floor.vjp(lambda g, y, x: lambda: zero_slope(g))


@primitive(shape_rule=same, samples=SHAPES)
def ceil(x: Array, *, out: Array | None = None) -> Array:
    """Smallest whole number not below x; the gradient is 0."""
    return _rounded(x, np.ceil, out)


ceil.vjp(lambda g, y, x: lambda: zero_slope(g))


@primitive(shape_rule=same, aliases=("fix",), samples=SHAPES)
def trunc(x: Array, *, out: Array | None = None) -> Array:
    """x without its fractional part: rounded towards zero; the gradient is 0."""
    return _rounded(x, np.trunc, out)


trunc.vjp(lambda g, y, x: lambda: zero_slope(g))


def _round(x: Value, *, decimals: int) -> Spec:
    if not -300 <= decimals <= 300:
        raise AttributeValueError(f"round: decimals {decimals} must be in -300..300")
    if decimals and x.dtype.kind == "b":
        raise DTypeError("round: bool has no decimals; cast it to int64 or leave decimals out")
    return x.spec


@primitive(
    shape_rule=_round, samples=[sample(away_from((-2.5, -1.5, -0.5, 0.5, 1.5, 2.5), 2, 3)), sample((3,), decimals=2)]
)
def round(x: Array, *, decimals: int = 0, out: Array | None = None) -> Array:
    """Nearest whole number, halves to the even one; with `decimals` the nearest multiple of 10**-decimals.

    The gradient is 0. (ggml rounds halves away from zero.)
    """
    if x.dtype.kind == "b" or (decimals >= 0 and not is_float(x.dtype)):
        return _rounded(x, np.rint, out)
    return np.round(x, decimals, out=out)


round.batch(by_itself)


round.vjp(lambda g, y, x: lambda: zero_slope(g))


@composite(samples=SHAPES)
def frac(x: Value) -> Value:
    """Fractional part x - trunc(x), with the sign of x; the gradient is 1."""
    if not is_float(x.dtype):
        raise DTypeError(f"frac needs a floating input, got {x.dtype.name}; cast it to float32")
    return x - trunc(x)


# -- division with a remainder: quotients away from whole numbers, so that the samples lie between the jumps ----------

DIVISIONS = [
    sample(uniform(0.6, 0.9, 2, 3), uniform(0.21, 0.29, 3)),
    sample(uniform(-0.9, -0.6), uniform(0.21, 0.29, 4)),
]


def _numbers(a: Value, b: Value) -> Spec:
    if a.dtype.kind == "b":
        raise DTypeError("division with a remainder needs numbers, got bool; cast it to int64")
    return broadcast(a, b)


def _refuse_zero(name: str, a: Array, b: Array) -> None:
    if not is_float(a.dtype) and not b.all():
        raise DTypeError(f"{name}: integer division by 0; cast the inputs to float32 for inf and NaN")


@primitive(shape_rule=_numbers, numerics=Numerics(promotion="common"), samples=DIVISIONS)
def floor_divide(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """floor(a / b), elementwise with broadcasting; the gradient is 0. Integers divided by 0 are refused."""
    _refuse_zero("floor_divide", a, b)
    return np.floor_divide(a, b, out=out)


floor_divide.batch(by_itself)


floor_divide.vjp(lambda g, y, a, b: (lambda: zero_slope(g), lambda: zero_slope(g)))


@primitive(shape_rule=_numbers, aliases=("mod",), numerics=Numerics(promotion="common"), samples=DIVISIONS)
def remainder(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a - b floor(a / b), which has the sign of b (as Python's %), elementwise with broadcasting."""
    _refuse_zero("remainder", a, b)
    return np.remainder(a, b, out=out)


remainder.batch(by_itself)


remainder.vjp(lambda g, y, a, b: (g, lambda: -(g * floor_divide(a, b))))


@primitive(shape_rule=_numbers, numerics=Numerics(promotion="common"), samples=DIVISIONS)
def fmod(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a - b trunc(a / b), which has the sign of a (as C's fmod), elementwise with broadcasting."""
    _refuse_zero("fmod", a, b)
    return np.fmod(a, b, out=out)


fmod.batch(by_itself)


@fmod.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    return g, lambda: -(g * trunc_divide(a, b))


@primitive(
    shape_rule=_numbers,
    numerics=Numerics(promotion="common"),
    samples=[sample(uniform(1.2, 1.4, 2, 3), uniform(0.5, 0.55, 3))],
)
def trunc_divide(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a / b without its fraction, elementwise with broadcasting: PyTorch's div with rounding_mode "trunc".

    The gradient is 0, also at a divisor of 0. Integers divided by 0 are refused.
    """
    _refuse_zero("trunc_divide", a, b)
    if is_float(a.dtype):
        quotient: Array = np.divide(a, b, out=out)
        return stored(np.trunc(quotient), out)
    # The remainder takes what would round a negative quotient down, and cannot overflow.
    result: Array = np.floor_divide(a - np.fmod(a, b), b, out=out)
    return result


trunc_divide.batch(by_itself)


trunc_divide.vjp(lambda g, y, a, b: (lambda: zero_slope(g), lambda: zero_slope(g)))
