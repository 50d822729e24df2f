"""The error function, its complements and inverse, the normal distribution function and its quantiles, log-odds.

Sources: W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969), 631-637, with
the coefficients of his routine CALERF; erfinv and ndtri: M. J. Wichura's algorithm AS 241, "The percentage points
of the normal distribution", Appl. Statist. 37 (1988), 477-484. Relative errors are about 1e-16 in float64.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated

import numpy as np

from engine.core.attributes import Range
from engine.core.declarations import PRECISE_FUNCTION, PROMOTE_FLOAT, Algebra
from engine.core.dtypes import FLOAT64
from engine.core.registry import composite, primitive
from engine.core.samples import normal, positive, sample, uniform
from engine.core.shape_rules import same
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import lt, where
from engine.ops.elementwise.elementwise import clamp, exp, log, square
from engine.ops.kernels.blocks import blockwise, in_float64, polynomial, store_result

CENTRE, TAIL = 0.46875, 4.0
"""Boundaries of Cody's three regions."""
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

# Lowest power first: erf(x) = x P(x^2)/Q(x^2) in the centre, erfc(x) = exp(-x^2) P(x)/Q(x) between,
# erfc(x) = exp(-x^2)/x (1/sqrt(pi) - x^-2 P(x^-2)/Q(x^-2)) in the tail.
CENTRE_P = (3.20937758913846947e03, 3.77485237685302021e02, 1.13864154151050156e02, 3.16112374387056560e00,
            1.85777706184603153e-1)  # fmt: skip
CENTRE_Q = (2.84423683343917062e03, 1.28261652607737228e03, 2.44024637934444173e02, 2.36012909523441209e01, 1.0)
BETWEEN_P = (1.23033935479799725e03, 2.05107837782607147e03, 1.71204761263407058e03, 8.81952221241769090e02,
             2.98635138197400131e02, 6.61191906371416295e01, 8.88314979438837594e00, 5.64188496988670089e-1,
             2.15311535474403846e-8)  # fmt: skip
BETWEEN_Q = (1.23033935480374942e03, 3.43936767414372164e03, 4.36261909014324716e03, 3.29079923573345963e03,
             1.62138957456669019e03, 5.37181101862009858e02, 1.17693950891312499e02, 1.57449261107098347e01,
             1.0)  # fmt: skip
TAIL_P = (6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1, 3.60344899949804439e-1,
          3.05326634961232344e-1, 1.63153871373020978e-2)  # fmt: skip
TAIL_Q = (2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1, 1.87295284992346725e00,
          2.56852019228982242e00, 1.0)  # fmt: skip


def _ratio(x: Array, above: tuple[float, ...], below: tuple[float, ...]) -> Array:
    p, q = np.empty_like(x), np.empty_like(x)
    polynomial(p, x, above)
    polynomial(q, x, below)
    return np.divide(p, q, out=p)


def _exp_square(x: Array, sign: float) -> Array:
    """exp(sign x**2) without the rounding error of x**2: the square of x rounded to 1/16 is exact."""
    coarse = np.trunc(x * 16) / 16
    result: Array = np.exp(sign * coarse * coarse) * np.exp(sign * (x - coarse) * (x + coarse))
    return result


def _scaled_between(x: Array) -> Array:
    """erfc(x) exp(x**2) between the centre and the tail."""
    return _ratio(x, BETWEEN_P, BETWEEN_Q)


def _scaled_tail(x: Array) -> Array:
    """erfc(x) exp(x**2) in the tail."""
    inverse = 1 / x / x
    result: Array = (0.5 * TWO_OVER_ROOT_PI - inverse * _ratio(inverse, TAIL_P, TAIL_Q)) / x
    return result


def _erfc_between(x: Array) -> Array:
    return _exp_square(x, -1) * _scaled_between(x)


def _erfc_tail(x: Array) -> Array:
    x = np.minimum(x, 30.0)  # erfc(27.3) is 0 in float64 already
    return _exp_square(x, -1) * _scaled_tail(x)


def _regions(y: Array, x: Array, *, complement: bool) -> None:
    """Write erf(x), or erfc(x), into y: each region of |x| by its own approximation."""
    size = np.abs(x)
    result = np.full_like(x, np.nan)
    near = size <= CENTRE
    centre = x[near]
    value = centre * _ratio(centre * centre, CENTRE_P, CENTRE_Q)
    result[near] = 1 - value if complement else value
    for place, approximation in (((size > CENTRE) & (size <= TAIL), _erfc_between), (size > TAIL, _erfc_tail)):
        rest = approximation(size[place])
        negative = x[place] < 0
        result[place] = np.where(negative, 2 - rest, rest) if complement else np.where(negative, rest - 1, 1 - rest)
    y[...] = result


def erf_array(x: Array, out: Array | None = None, *, complement: bool = False) -> Array:
    """Compute erf(x), or erfc(x), of any floating array in float64."""
    kernel = partial(_regions, complement=complement)
    if x.dtype == FLOAT64:
        return blockwise(kernel, (x,), out)
    result = blockwise(kernel, (x.astype(FLOAT64),), None).astype(x.dtype)
    if out is None:
        return result
    np.copyto(out, result)
    return out


@primitive(
    shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3)), sample(uniform(-5.0, 5.0, 3, 4)), sample(())]
)
def erf(x: Array, *, out: Array | None = None) -> Array:
    """Error function, 2/sqrt(pi) times the integral of exp(-t²) from 0 to x; relative error about 1e-16 in float64."""
    return erf_array(x, out)


erf.vjp(lambda g, y, x: g * (exp(-square(x)) * TWO_OVER_ROOT_PI))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3)), sample(normal())])
def erfc(x: Array, *, out: Array | None = None) -> Array:
    """Complementary error function 1 - erf(x), without cancellation for large x."""
    return erf_array(x, out, complement=True)


erfc.vjp(lambda g, y, x: g * (exp(-square(x)) * -TWO_OVER_ROOT_PI))


@composite(samples=[sample((2, 3))])
def ndtr(x: Value) -> Value:
    """The probability that a standard normal variable is at most x: erfc(-x / sqrt(2)) / 2."""
    return erfc(x * -math.sqrt(0.5)) * 0.5


def _erfcx(y: Array, x: Array) -> None:
    size = np.abs(x)
    result = np.full_like(x, np.nan)
    near = size <= CENTRE
    centre = x[near]
    square_of = centre * centre
    result[near] = (1 - centre * _ratio(square_of, CENTRE_P, CENTRE_Q)) * np.exp(square_of)
    for place, approximation in (((size > CENTRE) & (size <= TAIL), _scaled_between), (size > TAIL, _scaled_tail)):
        result[place] = approximation(size[place])
    low = x < -CENTRE
    if low.any():  # erfc(x) = 2 - erfc(-x); -27 overflows
        result[low] = 2 * _exp_square(np.maximum(x[low], -30.0), 1) - result[low]
    y[...] = result


@primitive(
    shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3)), sample(uniform(-3.0, 9.0, 3, 4)), sample(())]
)
def erfcx(x: Array, *, out: Array | None = None) -> Array:
    """Scaled complementary error function exp(x²) erfc(x): about 1 / (x sqrt(pi)) for large x, inf below -27."""
    return in_float64(_erfcx, x, out)


erfcx.vjp(lambda g, y, x: g * (x * y * 2.0 - TWO_OVER_ROOT_PI))


def _log_ndtr(y: Array, x: Array) -> None:
    low = x < -1
    result, scaled = np.empty_like(x), np.empty_like(x[low])
    below = x[low] * math.sqrt(0.5)
    _erfcx(scaled, -below)
    result[low] = np.log(scaled / 2) - below * below
    rest = np.empty_like(x[~low])
    _regions(rest, x[~low] * math.sqrt(0.5), complement=True)
    result[~low] = np.log1p(-rest / 2)
    y[...] = result


@primitive(
    shape_rule=same, numerics=PROMOTE_FLOAT, samples=[sample((2, 3)), sample(uniform(-12.0, 6.0, 3, 4)), sample(())]
)
def log_ndtr(x: Array, *, out: Array | None = None) -> Array:
    """log of ndtr; accurate for large negative x, where ndtr underflows to 0."""
    return in_float64(_log_ndtr, x, out)


@log_ndtr.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    negative = lt(x, 0)
    # The ratio of density and probability, by the scaled function where both vanish; neither form overflows.
    low, high = where(negative, x, 0.0), where(negative, 0.0, x)
    below = math.sqrt(2 / math.pi) / erfcx(low * -math.sqrt(0.5))
    above = exp(square(high) * -0.5) / (erfc(high * -math.sqrt(0.5)) * math.sqrt(math.pi / 2))
    return g * where(negative, below, above)


# Lowest power first. The quantile of 1/2 + q is q A(r)/B(r) with r = 0.180625 - q^2 for |q| <= 0.425; further out it
# is C(r - 1.6)/D(r - 1.6) for r = sqrt(-log(tail)) <= 5, and E(r - 5)/F(r - 5) beyond.
A = (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3)  # fmt: skip
B = (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3)  # fmt: skip
C = (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
     7.74545014278341407640e-4)  # fmt: skip
D = (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9)  # fmt: skip
E = (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
     2.01033439929228813265e-7)  # fmt: skip
F = (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15)  # fmt: skip
NDTRI_CENTRE, FAR = 0.85, 5.0
"""Boundaries of Wichura's three regions: |x| = 2 |q|, and r."""


def _erfinv(y: Array, x: Array) -> None:
    result = np.full_like(x, np.nan)
    size = np.abs(x)
    centre = size <= NDTRI_CENTRE
    half = x[centre] / 2
    result[centre] = half * _ratio(0.180625 - half * half, A, B)
    outer = (size > NDTRI_CENTRE) & (size < 1)
    if outer.any():
        root = np.sqrt(-np.log((1 - size[outer]) / 2))
        near = _ratio(root - 1.6, C, D)
        result[outer] = np.copysign(np.where(root <= FAR, near, _ratio(root - FAR, E, F)), x[outer])
    result *= math.sqrt(0.5)
    result[size == 1] = np.copysign(np.inf, x[size == 1])
    y[...] = result


@primitive(
    shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(-0.9, 0.9, 2, 3)), sample(uniform(0.9, 0.95))]
)
def erfinv(x: Array, *, out: Array | None = None) -> Array:
    """Inverse of erf: -inf and inf at -1 and 1, NaN beyond; relative error about 1e-16 in float64."""
    return in_float64(_erfinv, x, out)


erfinv.vjp(lambda g, y, x: g * (exp(square(y)) * (math.sqrt(math.pi) / 2)))


def _ndtri(y: Array, p: Array) -> None:
    result = np.full_like(p, np.nan)
    half = p - 0.5
    centre = np.abs(half) <= NDTRI_CENTRE / 2
    inner = half[centre]
    result[centre] = inner * _ratio(0.180625 - inner * inner, A, B)
    tail = np.minimum(p, 1 - p)
    outer = ~centre & (tail > 0)
    if outer.any():
        root = np.sqrt(-np.log(tail[outer]))
        # The third region ends at the smallest normal number, whose root is 26.6, well within the approximation.
        size = np.where(root <= FAR, _ratio(root - 1.6, C, D), _ratio(root - FAR, E, F))
        result[outer] = np.copysign(size, half[outer])
    result[p == 0], result[p == 1] = -np.inf, np.inf
    y[...] = result


@primitive(
    shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(0.1, 0.9, 2, 3)), sample(uniform(0.95, 0.99))]
)
def ndtri(p: Array, *, out: Array | None = None) -> Array:
    """Quantile of the normal distribution, the inverse of ndtr: -inf and inf at 0 and 1, NaN beyond.

    Relative error about 1e-16 in float64, for the smallest probabilities too.
    """
    return in_float64(_ndtri, p, out)


ndtri.vjp(lambda g, y, p: g * (exp(square(y) * 0.5) * math.sqrt(2 * math.pi)))


def _eps_in_range(x: Value, *, eps: float | None) -> Spec:
    return x.spec


def _logit(y: Array, x: Array) -> None:
    complement = 1 - x
    # Near 1/2 the quotient is near 1, and only its distance from 1 is exact.
    near = np.abs(x - 0.5) < 0.2
    y[...] = np.where(near, np.log1p((2 * x - 1) / complement), np.log(x / complement))


@primitive(
    shape_rule=_eps_in_range,
    numerics=PRECISE_FUNCTION,
    algebra=Algebra(elementwise=True),
    samples=[sample(uniform(0.1, 0.9, 2, 3)), sample(uniform(-0.5, 1.5, 4), eps=0.15)],
)
def logit(x: Array, *, eps: Annotated[float | None, Range(0, 0.5)] = None, out: Array | None = None) -> Array:
    """log(x / (1 - x)), the inverse of sigmoid: -inf and inf at 0 and 1, NaN beyond.

    With `eps` x is first limited to eps..1 - eps, and the gradient outside is 0.
    """
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    return blockwise(_logit, (x,), out)


@logit.vjp
def _(g: Value, y: Value, x: Value, *, eps: float | None) -> Value:
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    limited = clamp(x, min=low, max=1 - low)
    return where((x < low) | (x > 1 - low), outside, g / (limited * (1.0 - limited)))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(positive(2, 3)), sample(positive())])
def entr(x: Array, *, out: Array | None = None) -> Array:
    """-x log(x), the term of an entropy: 0 at 0 (with an infinite gradient), -inf below."""
    value = np.where(x == 0, 0, -x * np.log(np.abs(x)))
    return store_result(np.where(x < 0, -np.inf, value).astype(x.dtype, copy=False), out)


entr.vjp(lambda g, y, x: -(g * (log(x) + 1.0)))
