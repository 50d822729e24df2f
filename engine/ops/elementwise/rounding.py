"""Rounding, division with a remainder, step functions, and replacement of NaN and infinity."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from engine.core.attributes import Range
from engine.core.declarations import PROMOTE_COMMON, Algebra, Numerics
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, sample, uniform
from engine.core.shape_rules import broadcast, same, same_bool
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import eq, isfinite, where
from engine.ops.kernels.blocks import store_result

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
    if decimals and x.dtype.kind == "b":
        raise DTypeError("round: bool has no decimals; cast it to int64 or leave decimals out")
    return x.spec


@primitive(
    shape_rule=_round,
    algebra=Algebra(elementwise=True),
    samples=[sample(away_from((-2.5, -1.5, -0.5, 0.5, 1.5, 2.5), 2, 3)), sample((3,), decimals=2)],
)
def round(x: Array, *, decimals: Annotated[int, Range(-300, 300)] = 0, out: Array | None = None) -> Array:
    """Nearest whole number, halves to the even one; with `decimals` the nearest multiple of 10**-decimals.

    The gradient is 0. (ggml rounds halves away from zero.)
    """
    if x.dtype.kind == "b" or (decimals >= 0 and not is_float(x.dtype)):
        return _rounded(x, np.rint, out)
    return np.round(x, decimals, out=out)


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


@primitive(shape_rule=_numbers, numerics=PROMOTE_COMMON, algebra=Algebra(elementwise=True), samples=DIVISIONS)
def floor_divide(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """floor(a / b), elementwise with broadcasting; the gradient is 0. Integers divided by 0 are refused."""
    _refuse_zero("floor_divide", a, b)
    return np.floor_divide(a, b, out=out)


floor_divide.vjp(lambda g, y, a, b: (lambda: zero_slope(g), lambda: zero_slope(g)))


@primitive(
    shape_rule=_numbers,
    aliases=("mod",),
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=DIVISIONS,
)
def remainder(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a - b floor(a / b), which has the sign of b (as Python's %), elementwise with broadcasting."""
    _refuse_zero("remainder", a, b)
    return np.remainder(a, b, out=out)


remainder.vjp(lambda g, y, a, b: (g, lambda: -(g * floor_divide(a, b))))


@primitive(shape_rule=_numbers, numerics=PROMOTE_COMMON, algebra=Algebra(elementwise=True), samples=DIVISIONS)
def fmod(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a - b trunc(a / b), which has the sign of a (as C's fmod), elementwise with broadcasting."""
    _refuse_zero("fmod", a, b)
    return np.fmod(a, b, out=out)


@fmod.vjp
def _(g: Value, y: Value, a: Value, b: Value) -> object:
    return g, lambda: -(g * trunc_divide(a, b))


@primitive(
    shape_rule=_numbers,
    numerics=PROMOTE_COMMON,
    algebra=Algebra(elementwise=True),
    samples=[sample(uniform(1.2, 1.4, 2, 3), uniform(0.5, 0.55, 3))],
)
def trunc_divide(a: Array, b: Array, *, out: Array | None = None) -> Array:
    """a / b without its fraction, elementwise with broadcasting: PyTorch's div with rounding_mode "trunc".

    The gradient is 0, also at a divisor of 0. Integers divided by 0 are refused.
    """
    _refuse_zero("trunc_divide", a, b)
    if is_float(a.dtype):
        quotient: Array = np.divide(a, b, out=out)
        return store_result(np.trunc(quotient), out)
    # The remainder takes what would round a negative quotient down, and cannot overflow.
    result: Array = np.floor_divide(a - np.fmod(a, b), b, out=out)
    return result


trunc_divide.vjp(lambda g, y, a, b: (lambda: zero_slope(g), lambda: zero_slope(g)))


@primitive(shape_rule=same, algebra=Algebra(piecewise_constant=True), samples=[sample(away_from((0.0,), 2, 3))])
def step(x: Array, *, out: Array | None = None) -> Array:
    """1 where x > 0, else 0; the gradient is 0."""
    return store_result(np.greater(x, 0).astype(x.dtype), out)


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
    algebra=Algebra(elementwise=True),
    samples=[sample((2, 3)), sample((3,), nan=1.0, posinf=9.0, neginf=-9.0)],
)
def nan_to_num(
    x: Array, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, out: Array | None = None
) -> Array:
    """x with NaN, inf and -inf replaced by numbers, by default 0 and the largest and lowest of the dtype.

    The gradient is 0 at the replaced elements. Integers are returned unchanged.
    """
    if not is_float(x.dtype):
        return store_result(x.copy(), out)
    if x.dtype.kind == "V":  # the largest bfloat16 is not the largest float32, rounded
        largest = float(np.nextafter(x.dtype.type(np.inf), x.dtype.type(0)))
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
        return store_result(
            np.nan_to_num(x.astype(np.float32), nan=nan, posinf=posinf, neginf=neginf).astype(x.dtype), out
        )
    return store_result(np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf), out)


nan_to_num.vjp(lambda g, y, x: where(isfinite(x), g, 0.0))
