"""The logarithm of the gamma function and its derivatives, in float64; the formulas are those of the ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.logarithm import log, log1p
from engine.execution.native.inline.polynomials import polynomial
from engine.execution.native.inline.trigonometry import sine
from engine.execution.native.kernel import Kernel, inline, real
from engine.execution.native.kernels.elementwise import elementwise, elementwise_calls, unary
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


@inline
def log_gamma_small(x: Any) -> Any:
    """Return lgamma for 0 < x < LARGE: the recurrence gamma(x + 1) = x gamma(x) leads to an argument in 2..3."""
    factor, rest = 1.0, x - 2.0
    while rest >= 1.0:
        rest -= 1.0
        factor *= rest + 2.0
    if x < 2.0:
        rest = x - np.floor(x)  # x - 2 is rounded, which would show near the zero at 1
    value = polynomial(rest, NUMERATOR) / polynomial(rest, DENOMINATOR) * rest + log(factor)
    if x < 2.0:
        value -= log(x)
    return value - log1p(x) if x < 1.0 else value


@inline
def log_gamma(x: Any) -> Any:
    """Return log(|gamma(x)|)."""
    size = abs(x)
    if size != size:
        return size
    if size == 0.0 or size == np.inf:
        return np.inf
    if size < LARGE:
        value = log_gamma_small(size)
    else:
        value = (size - 0.5) * (log(size) - 1.0) + (HALF_LOG_2_PI - 0.5)
        value += polynomial(1.0 / (size * size), SERIES) / size
    if x > -LEAST:
        return value
    sine = abs(np.sin(math.pi * (x - np.rint(x))))  # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    return np.inf if sine == 0.0 else LOG_PI - log(sine) - log(size) - value


@inline
def digamma_of(x: Any) -> Any:
    """Return the derivative of lgamma: -inf at 0 (inf at -0.0), NaN at the negative whole numbers."""
    if x == 0.0:
        return np.copysign(np.inf, x) * -1.0
    if x == np.inf:
        return x
    z = 1.0 - x if x < 0.0 else x
    top = z + TERMS
    inverse = 1.0 / (top * top)
    value = log(top) - 0.5 / top - polynomial(inverse, CORRECTIONS) * inverse
    for k in range(TERMS - 1, -1, -1):
        value -= 1.0 / (z + k)
    if x < 0.0:
        fraction = x - np.rint(x)
        value = np.nan if fraction == 0.0 else value - math.pi / np.tan(math.pi * fraction)
    return value


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


UNARY: Mapping[str, Callable[[Any], Any]] = {
    "digamma": lambda x: real(digamma_of(np.float64(x))),
    "lgamma": lambda x: real(log_gamma(np.float64(x))),
}
UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}

for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op))

POLYGAMMA: Mapping[int, Kernel] = {
    0: UNARY_KERNELS["digamma"],
    1: Kernel(unary, name="trigamma", parts={"apply": lambda x: real(trigamma_of(np.float64(x)))}),
}
"""By the order of the derivative."""


@lowers("polygamma")
def _(work: Work) -> list[Call] | None:
    code = POLYGAMMA.get(work.attrs["order"])
    return None if code is None else elementwise_calls(work, code, alone=True)
