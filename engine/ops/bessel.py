"""Modified Bessel functions of the first kind, plain and scaled by exp(-|x|).

The power series up to |x| = 20 plus the square of the order, Hankel's expansion beyond (Abramowitz & Stegun 9.6.10,
9.7.1); both to the last digits of float64, in which float16 and float32 are computed too.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError
from engine.core.registry import composite, primitive
from engine.core.samples import sample, uniform
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise import sign
from engine.ops.results import in_float64

SAMPLES = [sample((2, 3)), sample(uniform(15.0, 25.0, 3)), sample(())]
SERIES_END = 20
HIGHEST = 20
"""Orders beyond this would need other methods; each differentiation raises the order by one."""


def _scaled_series(x: Array, order: int, end: float) -> Array:
    """exp(-x) I(x) for 0 <= x <= end, by its power series: all terms are positive, so nothing cancels."""
    quarter = x * x / 4
    total = np.ones_like(x)
    for k in range(int(1.5 * end) + 20, 0, -1):
        total *= quarter / (k * (k + order))
        total += 1
    return total * np.exp(-x) * (x / 2) ** order / math.factorial(order)


def _scaled_expansion(x: Array, order: int) -> Array:
    """exp(-x) I(x) for large x."""
    total = np.ones_like(x)
    for k in range(30, 0, -1):
        total *= ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * x)
        total += 1
    result: Array = total / (math.sqrt(2 * math.pi) * np.sqrt(x))  # 2 pi x may overflow
    return np.where(np.isinf(x), 0.0, result)


def _bessel(y: Array, x: Array, *, order: int, scaled: bool) -> None:
    size = np.abs(x)
    end = SERIES_END + order**2
    near = size <= end
    result = np.full_like(x, np.nan)
    result[near] = _scaled_series(size[near], order, end)
    far = size > end
    if far.any():
        result[far] = _scaled_expansion(size[far], order)
    if not scaled:  # in two steps, since exp(|x|) overflows before the function does
        half = np.exp(size / 2)
        result = np.where(np.isinf(size), np.inf, result * half * half)
    y[...] = np.copysign(result, x) if order % 2 else result


def _order(x: Value, *, order: int, scaled: bool) -> Spec:
    if not 0 <= order <= HIGHEST:
        raise AttributeValueError(f"bessel_i: order {order} must be in 0..{HIGHEST}")
    return x.spec


@primitive(
    shape_rule=_order,
    numerics=Numerics(promotion="float"),
    samples=[sample(uniform(-3.0, 3.0, 3), order=2), sample(uniform(19.0, 30.0, 3), order=1, scaled=True)],
)
def bessel_i(x: Array, *, order: int, scaled: bool = False, out: Array | None = None) -> Array:
    """Modified Bessel function of the first kind of a whole order; `scaled` multiplies by exp(-|x|)."""
    return in_float64(partial(_bessel, order=order, scaled=scaled), x, out)


bessel_i.batch(by_itself)


@bessel_i.vjp
def _(g: Value, y: Value, x: Value, *, order: int, scaled: bool) -> Value:
    above = bessel_i(x, order=order + 1, scaled=scaled)
    slope = above if order == 0 else (bessel_i(x, order=order - 1, scaled=scaled) + above) * 0.5
    return g * (slope - sign(x) * y if scaled else slope)


@composite(samples=SAMPLES)
def i0(x: Value) -> Value:
    """Modified Bessel function of the first kind of order 0."""
    return bessel_i(x, order=0)


@composite(samples=SAMPLES)
def i0e(x: Value) -> Value:
    """exp(-|x|) times the modified Bessel function of the first kind of order 0."""
    return bessel_i(x, order=0, scaled=True)


@composite(samples=SAMPLES)
def i1(x: Value) -> Value:
    """Modified Bessel function of the first kind of order 1."""
    return bessel_i(x, order=1)


@composite(samples=SAMPLES)
def i1e(x: Value) -> Value:
    """exp(-|x|) times the modified Bessel function of the first kind of order 1."""
    return bessel_i(x, order=1, scaled=True)
