"""Special functions: lgamma, digamma and polygamma, and modified Bessel functions of the first kind."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated

import numpy as np

from engine.core.attributes import Length, Range
from engine.core.declarations import PROMOTE_FLOAT, Algebra, CallForms
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, positive, sample, uniform
from engine.core.shape_rules import same
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.elementwise import sign
from engine.ops.kernels.blocks import in_float64, polynomial

POLES = tuple(float(-number) for number in range(10))
SAMPLES = [sample(positive(2, 3)), sample(away_from(POLES, 4)), sample(uniform(8.0, 20.0))]

# lgamma(2 + x) = x P(x)/Q(x) for 0 <= x <= 1; lgamma(x) = (x - 1/2) log x - x + log(2 pi)/2 + S(x^-2)/x above.
# Lowest power first.
CENTRE_P = (-8.53555664245765465627e5, -1.72173700820839662146e6, -1.16237097492762307383e6,
            -3.31612992738871184744e5, -3.88016315134637840924e4, -1.37825152569120859100e3)  # fmt: skip
CENTRE_Q = (-2.01889141433532773231e6, -2.53252307177582951285e6, -1.13933444367982507207e6,
            -2.20528590553854454839e5, -1.70642106651881159223e4, -3.51815701436523470549e2, 1.0)  # fmt: skip
STIRLING = (8.33333333333331927722e-2, -2.77777777730099687205e-3, 7.93650340457716943945e-4,
            -5.95061904284301438324e-4, 8.11614167470508450300e-4)  # fmt: skip
HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
LARGE = 13
"""Argument from which on Stirling's series is accurate enough."""

TERMS = 10
"""Terms summed one by one before the Euler-Maclaurin correction."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _sin_pi(x: Array) -> Array:
    """sin(pi x), exactly 0 at whole numbers."""
    whole = np.rint(x)
    sine = np.sin(math.pi * (x - whole))
    result: Array = np.where(whole % 2 == 0, sine, -sine)
    return result


def _lgamma_small(x: Array) -> Array:
    """lgamma for 0 < x < LARGE: the recurrence gamma(x + 1) = x gamma(x) leads to an argument in 2..3."""
    factor, rest = np.ones_like(x), x - 2
    for _ in range(LARGE - 3):
        above = rest >= 1
        rest[above] -= 1
        factor[above] *= rest[above] + 2
    low = x < 2
    rest[low] = x[low] - np.floor(x[low])  # x - 2 is rounded, which would show near the zero at 1
    p, q = np.empty_like(x), np.empty_like(x)
    polynomial(p, rest, CENTRE_P)
    polynomial(q, rest, CENTRE_Q)
    p /= q
    p *= rest
    p += np.log(factor)
    p[low] -= np.log(x[low])
    lowest = x < 1
    p[lowest] -= np.log1p(x[lowest])
    return p


def _lgamma_large(x: Array) -> Array:
    series = np.empty_like(x)
    polynomial(series, 1 / (x * x), STIRLING)
    result: Array = (x - 0.5) * (np.log(x) - 1) + (HALF_LOG_2_PI - 0.5) + series / x
    return result


def _lgamma_positive(x: Array) -> Array:
    result = np.full_like(x, np.nan)
    for region, rule in (((x > 0) & (x < LARGE), _lgamma_small), (x >= LARGE, _lgamma_large)):
        result[region] = rule(x[region])
    result[(x == 0) | np.isinf(x)] = np.inf
    return result


LEAST = 1e-20
"""Magnitude below which |gamma(x)| is 1 / |x| to the last digit; pi times a subnormal number would be rounded."""


def _lgamma(y: Array, x: Array) -> None:
    negative = x < 0
    result = _lgamma_positive(np.where(negative, -x, x))
    if negative.any():  # gamma(x) gamma(-x) = -pi / (x sin(pi x))
        low = x[negative]
        sine = np.log(np.abs(_sin_pi(low)))
        reflected = math.log(math.pi) - sine - np.log(-low) - result[negative]
        reflected = np.where(low > -LEAST, result[negative], reflected)
        result[negative] = np.where(np.isneginf(sine) | np.isneginf(low), np.inf, reflected)
    y[...] = result


@primitive(shape_rule=same, aliases=("gammaln",), numerics=PROMOTE_FLOAT, samples=SAMPLES)
def lgamma(x: Array, *, out: Array | None = None) -> Array:
    """log(|gamma(x)|), inf at 0 and the negative whole numbers; absolute error about 1e-15 near the zeros."""
    return in_float64(_lgamma, x, out)


@lgamma.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g * digamma(x)


def _digamma(y: Array, x: Array) -> None:
    low = x < 0
    z = np.where(low, 1 - x, x)
    top = z + TERMS
    inverse = 1 / (top * top)
    series = np.empty_like(z)
    polynomial(series, inverse, (0.0, *(b / (2 * j) for j, b in enumerate(BERNOULLI, 1))))
    result = np.log(top) - 0.5 / top - series
    for k in range(TERMS - 1, 0, -1):
        result -= 1 / (z + k)
    result -= 1 / z
    if low.any():
        fraction = x - np.rint(x)
        result = np.where(low, result - math.pi / np.tan(math.pi * fraction), result)
        result = np.where(low & (fraction == 0), np.nan, result)
    y[...] = np.where(np.isposinf(x), np.inf, result)


@primitive(shape_rule=same, aliases=("psi",), numerics=PROMOTE_FLOAT, samples=SAMPLES)
def digamma(x: Array, *, out: Array | None = None) -> Array:
    """Derivative of lgamma; -inf at 0 (inf at -0.0), NaN at the negative whole numbers."""
    return in_float64(_digamma, x, out)


@digamma.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g * polygamma(x, order=1)


def _cotangent_derivative(order: int) -> tuple[float, ...]:
    """Coefficients, lowest power first, of the polynomial in c = cot(t) that is the derivative of cot of this order."""
    coefficients = [0, 1]
    for _ in range(order):
        derived = [power * c for power, c in enumerate(coefficients)][1:]
        coefficients = [0] * (len(derived) + 2)
        for power, c in enumerate(derived):  # dc/dt = -(1 + c²)
            coefficients[power] -= c
            coefficients[power + 2] -= c
    return tuple(map(float, coefficients))


def _hurwitz(s: int, x: Array) -> Array:
    """Sum of (x + k)**-s over k = 0, 1, ... for x >= 0 and s >= 2."""
    total = np.zeros_like(x)
    for k in range(TERMS - 1, -1, -1):
        total += (x + k) ** -s
    top = x + TERMS
    total += top ** (1 - s) / (s - 1) + 0.5 * top**-s
    factor = s / 2.0
    power = top ** (-s - 1)
    for j, number in enumerate(BERNOULLI, 1):
        total += number * factor * power
        factor *= (s + 2 * j - 1) * (s + 2 * j) / ((2 * j + 1) * (2 * j + 2))
        power /= top * top
    return total


def _polygamma(y: Array, x: Array, *, order: int) -> None:
    low = x < 0
    sign = 1.0 if order % 2 else -1.0
    result = sign * math.factorial(order) * _hurwitz(order + 1, np.where(low, 1 - x, x))
    if low.any():  # psi(1 - x) = (-1)**n (psi(x) + pi (d/dx)**n cot(pi x))
        cotangent = 1 / np.tan(math.pi * (x - np.rint(x)))
        slope = np.empty_like(x)
        polynomial(slope, cotangent, _cotangent_derivative(order))
        result = np.where(low, -sign * result - math.pi ** (order + 1) * slope, result)
    y[...] = result


def _order(x: Value, *, order: int) -> Spec:
    return x.spec


@primitive(
    shape_rule=_order,
    call=CallForms(orders=(("order", "x"),)),
    numerics=PROMOTE_FLOAT,
    algebra=Algebra(elementwise=True),
    samples=[sample(positive(3), order=0), sample(positive(3), order=1), sample(away_from(POLES, 4), order=2)],
)
def polygamma(x: Array, *, order: Annotated[int, Range(0, 100)], out: Array | None = None) -> Array:
    """Derivative of digamma of the given order; 0 is digamma itself, 1 is called trigamma."""
    kernel = partial(_polygamma, order=order) if order else _digamma
    return in_float64(kernel, x, out)


polygamma.vjp(lambda g, y, x, *, order: g * polygamma(x, order=order + 1))


@composite(
    aliases=("multigammaln",), samples=[sample(uniform(2.0, 4.0, 2, 3), order=3), sample(uniform(1.0, 2.0, 2), order=1)]
)
def mvlgamma(x: Value, *, order: Length) -> Value:
    """The logarithm of the multivariate gamma function: the sum of lgamma(x - j / 2) for j < order, and a constant."""
    total = lgamma(x)
    for j in range(1, order):
        total = total + lgamma(x - 0.5 * j)
    return total + order * (order - 1) / 4 * math.log(math.pi)


BESSEL_SAMPLES = [sample((2, 3)), sample(uniform(15.0, 25.0, 3)), sample(())]
EXPANSION_TERMS = 30
HIGHEST = 20
"""Maximum order; higher ones need other methods. Each differentiation raises the order by one."""


def series_end(order: int) -> int:
    """Return up to which x the power series is taken."""
    return 20 + order**2


def series_terms(order: int) -> int:
    """Return how many terms of the power series are taken."""
    return int(1.5 * series_end(order)) + 20


def _scaled_series(x: Array, order: int) -> Array:
    """exp(-x) I(x) for small x >= 0, by its power series: all terms are positive, so nothing cancels."""
    quarter = x * x / 4
    total = np.ones_like(x)
    for k in range(series_terms(order), 0, -1):
        total *= quarter / (k * (k + order))
        total += 1
    return total * np.exp(-x) * (x / 2) ** order / math.factorial(order)


def _scaled_expansion(x: Array, order: int) -> Array:
    """exp(-x) I(x) for large x."""
    total = np.ones_like(x)
    for k in range(EXPANSION_TERMS, 0, -1):
        total *= ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * x)
        total += 1
    result: Array = total / (math.sqrt(2 * math.pi) * np.sqrt(x))  # 2 pi x may overflow
    return np.where(np.isinf(x), 0.0, result)


def _bessel(y: Array, x: Array, *, order: int, scaled: bool) -> None:
    size = np.abs(x)
    near = size <= series_end(order)
    result = np.full_like(x, np.nan)
    result[near] = _scaled_series(size[near], order)
    far = size > series_end(order)
    if far.any():
        result[far] = _scaled_expansion(size[far], order)
    if not scaled:  # in two steps, since exp(|x|) overflows before the function does
        half = np.exp(size / 2)
        result = np.where(np.isinf(size), np.inf, result * half * half)
    y[...] = np.copysign(result, x) if order % 2 else result


def _bessel_order(x: Value, *, order: int, scaled: bool) -> Spec:
    return x.spec


@primitive(
    shape_rule=_bessel_order,
    numerics=PROMOTE_FLOAT,
    algebra=Algebra(elementwise=True),
    samples=[sample(uniform(-3.0, 3.0, 3), order=2), sample(uniform(19.0, 30.0, 3), order=1, scaled=True)],
)
def bessel_i(
    x: Array, *, order: Annotated[int, Range(0, HIGHEST)], scaled: bool = False, out: Array | None = None
) -> Array:
    """Modified Bessel function of the first kind of a whole order; `scaled` multiplies by exp(-|x|)."""
    return in_float64(partial(_bessel, order=order, scaled=scaled), x, out)


@bessel_i.vjp
def _(g: Value, y: Value, x: Value, *, order: int, scaled: bool) -> Value:
    above = bessel_i(x, order=order + 1, scaled=scaled)
    slope = above if order == 0 else (bessel_i(x, order=order - 1, scaled=scaled) + above) * 0.5
    return g * (slope - sign(x) * y if scaled else slope)


@composite(samples=BESSEL_SAMPLES)
def i0(x: Value) -> Value:
    """Modified Bessel function of the first kind of order 0."""
    return bessel_i(x, order=0)


@composite(samples=BESSEL_SAMPLES)
def i0e(x: Value) -> Value:
    """exp(-|x|) times the modified Bessel function of the first kind of order 0."""
    return bessel_i(x, order=0, scaled=True)


@composite(samples=BESSEL_SAMPLES)
def i1(x: Value) -> Value:
    """Modified Bessel function of the first kind of order 1."""
    return bessel_i(x, order=1)


@composite(samples=BESSEL_SAMPLES)
def i1e(x: Value) -> Value:
    """exp(-|x|) times the modified Bessel function of the first kind of order 1."""
    return bessel_i(x, order=1, scaled=True)
