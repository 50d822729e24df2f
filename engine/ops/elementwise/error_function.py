"""The error function, its complements and the normal distribution function, by W. J. Cody's rational approximations.

Source: W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969), 631-637, with
the coefficients of his published routine CALERF. Relative error about 1e-16 in float64.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from engine.core.declarations import PROMOTE_FLOAT
from engine.core.dtypes import FLOAT64
from engine.core.registry import composite, primitive
from engine.core.samples import normal, sample, uniform
from engine.core.shape_rules import same
from engine.core.value import Array, Value
from engine.ops.elementwise.comparison import lt, where
from engine.ops.elementwise.elementwise import exp, square
from engine.ops.kernels.blocks import blockwise, in_float64, polynomial

CENTRE, TAIL = 0.46875, 4.0
"""Where Cody's three regions meet."""
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
    """The probability that a standard normal number is at most x: erfc(-x / sqrt(2)) / 2."""
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
    """log of ndtr, the probability that a standard normal number is at most x; exact far below, where ndtr is 0."""
    return in_float64(_log_ndtr, x, out)


@log_ndtr.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    negative = lt(x, 0)
    # The ratio of density and probability, by the scaled function where both vanish; neither form overflows.
    low, high = where(negative, x, 0.0), where(negative, 0.0, x)
    below = math.sqrt(2 / math.pi) / erfcx(low * -math.sqrt(0.5))
    above = exp(square(high) * -0.5) / (erfc(high * -math.sqrt(0.5)) * math.sqrt(math.pi / 2))
    return g * where(negative, below, above)
