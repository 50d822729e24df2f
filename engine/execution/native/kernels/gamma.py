"""The logarithm of the gamma function and its derivatives, in float64; the formulas are those of the ops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.logarithm import log
from engine.execution.native.inline.polynomials import polynomial
from engine.execution.native.inline.trigonometry import sine
from engine.execution.native.kernel import Kernel, inline, real
from engine.execution.native.kernels.elementwise import elementwise_calls, unary
from engine.execution.native.kernels.ranges import ranged
from engine.execution.native.lowering import Call, Work, lowers
from engine.ops.elementwise.special import (
    BERNOULLI,
    CENTRE_P,
    CENTRE_Q,
    HALF_LOG_2_PI,
    LARGE,
    LEAST,
    STIRLING,
    TERMS,
)

# Highest power first, as Horner's rule takes them.
NUMERATOR, DENOMINATOR, SERIES = CENTRE_P[::-1], CENTRE_Q[::-1], STIRLING[::-1]
CORRECTIONS = tuple(number / (2 * j) for j, number in enumerate(BERNOULLI, 1))[::-1]
SLOPES = BERNOULLI[::-1]
LOG_PI = math.log(math.pi)
FAR = 1e30
"""From here on the quotients 1 / (x + k) are nothing beside log(x)."""


@inline
def log_gamma_positive(x: Any) -> Any:
    """Return lgamma for x > 0: the recurrence gamma(x + 1) = x gamma(x) leads to an argument in 2..3."""
    is_low, is_large = x < 2.0, x >= LARGE
    factor, rest = 1.0, x - 2.0
    for _ in range(LARGE - 3):
        is_above = rest >= 1.0
        rest = rest - 1.0 if is_above else rest
        factor = factor * (rest + 2.0) if is_above else factor
    rest = x - np.floor(x) if is_low else rest  # x - 2 is rounded, which would show near the zero at 1
    divisor = x * (1.0 + x) if x < 1.0 else x
    logarithm = log(x if is_large else (divisor if is_low else factor))
    small = polynomial(rest, NUMERATOR) / polynomial(rest, DENOMINATOR) * rest
    small = small - logarithm if is_low else small + logarithm
    inverse = 1.0 / x
    large = (x - 0.5) * (logarithm - 1.0) + (HALF_LOG_2_PI - 0.5) + polynomial(inverse * inverse, SERIES) * inverse
    value = large if is_large else small
    return value if x < np.inf else x


@inline
def log_gamma(x: Any) -> Any:
    """Return log(|gamma(x)|)."""
    size = abs(x)
    if size != size:
        return size
    if size == 0.0 or size == np.inf:
        return np.inf
    value = log_gamma_positive(size)
    if x > -LEAST:
        return value
    root = abs(np.sin(math.pi * (x - np.rint(x))))  # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    return np.inf if root == 0.0 else LOG_PI - log(root) - log(size) - value


@inline
def digamma_positive(x: Any) -> Any:
    """Return the derivative of lgamma for x > 0."""
    inverse = 1.0 / (x + TERMS)
    squared = inverse * inverse
    # The quotients 1 / (x + k) as two: what is added to 1 / x, which alone is large, may be rounded more often.
    limited = FAR if x > FAR else x
    above, below = 1.0, limited + 1.0
    for k in range(2, TERMS):
        above = above * (limited + k) + below
        below *= limited + k
    value = log(x + TERMS) - 0.5 * inverse - polynomial(squared, CORRECTIONS) * squared
    value = value - above / below - 1.0 / x
    return value if x < np.inf else x


@inline
def digamma_of(x: Any) -> Any:
    """Return the derivative of lgamma: -inf at 0 (inf at -0.0), NaN at the negative whole numbers."""
    if x == 0.0:
        return np.copysign(np.inf, x) * -1.0
    if x > 0.0 or x != x:
        return digamma_positive(x)
    fraction = x - np.rint(x)
    return np.nan if fraction == 0.0 else digamma_positive(1.0 - x) - math.pi / np.tan(math.pi * fraction)


@inline
def trigamma_of(x: Any) -> Any:
    """Return the derivative of digamma: inf at 0 and the negative whole numbers."""
    z = 1.0 - x if x < 0.0 else x
    top = z + TERMS
    inverse = 1.0 / (top * top)
    value = polynomial(inverse, SLOPES) * inverse / top + 0.5 * inverse + 1.0 / top
    for k in range(TERMS - 1, -1, -1):
        value += 1.0 / ((z + k) * (z + k))
    root = sine(math.pi * (x - np.rint(x)), 0)  # trigamma(x) + trigamma(1 - x) = (pi / sin(pi x))^2
    return math.pi**2 / (root * root) - value if x < 0.0 else value


KERNELS: Mapping[str, Kernel] = {
    "digamma": ranged("digamma", lambda x: x > real(0), lambda x: digamma_positive(x), lambda x: digamma_of(x)),
    "lgamma": ranged("lgamma", lambda x: x > real(0), lambda x: log_gamma_positive(x), lambda x: log_gamma(x)),
}

lowers("digamma")(lambda work: elementwise_calls(work, KERNELS["digamma"], alone=True))
lowers("lgamma")(lambda work: elementwise_calls(work, KERNELS["lgamma"], alone=True))

POLYGAMMA: Mapping[int, Kernel] = {
    0: KERNELS["digamma"],
    1: Kernel(unary, name="trigamma", parts={"apply": lambda x: real(trigamma_of(np.float64(x)))}),
}
"""By the order of the derivative."""


@lowers("polygamma")
def _(work: Work) -> list[Call] | None:
    code = POLYGAMMA.get(work.attrs["order"])
    return None if code is None else elementwise_calls(work, code, alone=True)
