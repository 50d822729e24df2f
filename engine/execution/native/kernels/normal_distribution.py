"""Quantiles and logarithms of the normal distribution, and the scaled complement of the error function, in float64.

The approximations are those of the ops: each region's is computed, and one quotient serves that of the number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.error_function import ROOT, ROOT_HALF
from engine.execution.native.inline.logarithm import log, log1p
from engine.execution.native.inline.polynomials import polynomial
from engine.execution.native.inline.powers import exponential_of_sum, fused
from engine.execution.native.kernel import Kernel, inline, real
from engine.execution.native.kernels.elementwise import elementwise, unary
from engine.execution.native.lowering import lowers
from engine.ops.elementwise import error_function as op

# Highest power first, as Horner's rule takes them.
CENTRE_P, CENTRE_Q = op.CENTRE_P[::-1], op.CENTRE_Q[::-1]
BETWEEN_P, BETWEEN_Q = op.BETWEEN_P[::-1], op.BETWEEN_Q[::-1]
TAIL_P, TAIL_Q = op.TAIL_P[::-1], op.TAIL_Q[::-1]
A, B, C, D, E, F = (coefficients[::-1] for coefficients in (op.A, op.B, op.C, op.D, op.E, op.F))
CENTRE, TAIL, NDTRI_CENTRE, FAR = op.CENTRE, op.TAIL, op.NDTRI_CENTRE, op.FAR
OVERFLOW = 27.0
"""The square of a greater number is beyond the exponents of float64."""


@inline
def complement_ratio(size: Any) -> Any:
    """Return erf of a float64 up to `CENTRE`, and erfcx beyond."""
    squared = size * size
    inverse = 1.0 / squared
    near, far = size <= CENTRE, size > TAIL
    q = polynomial(inverse, TAIL_Q)
    tail, below_tail = ROOT * q - inverse * polynomial(inverse, TAIL_P), q * size
    above = tail if far else polynomial(size, BETWEEN_P)
    below = below_tail if far else polynomial(size, BETWEEN_Q)
    above = polynomial(squared, CENTRE_P) * size if near else above
    below = polynomial(squared, CENTRE_Q) if near else below
    return above / below


@inline
def scaled_complement(x: Any) -> Any:
    """Return erfcx of a float64."""
    size = abs(x)
    ratio = complement_ratio(size)
    limited = OVERFLOW if size > OVERFLOW else size
    z = limited * limited
    growth = exponential_of_sum(z, fused(limited, limited, -z))
    value = 2.0 * growth - ratio if x < 0.0 else ratio
    value = (1.0 - np.copysign(ratio, x)) * growth if size <= CENTRE else value
    return value if x == x else x


@inline
def quantile(half: Any, tail: Any) -> Any:
    """Return the magnitude of the normal quantile of 1/2 + half, given the probability of the tail behind it."""
    r = 0.180625 - half * half
    root = np.sqrt(-log(tail))
    near, far = abs(half) <= 0.5 * NDTRI_CENTRE, root > FAR
    outer = root - (FAR if far else 1.6)
    above = polynomial(outer, E) if far else polynomial(outer, C)
    below = polynomial(outer, F) if far else polynomial(outer, D)
    above = polynomial(r, A) * abs(half) if near else above
    below = polynomial(r, B) if near else below
    return above / below if tail > 0.0 else (np.inf if tail == 0.0 else np.nan)


def _quantile_of(p: Any) -> Any:
    wide = np.float64(p)
    half = wide - 0.5
    return np.copysign(real(quantile(half, 1.0 - wide if half > 0.0 else wide)), p - real(0.5))


def _inverse_error(x: Any) -> Any:
    wide = np.float64(x)
    return np.copysign(real(quantile(0.5 * wide, 0.5 * (1.0 - abs(wide))) * ROOT_HALF), x)


def _log_share(x: Any) -> Any:
    x = np.float64(x)
    size, squared = abs(x) * ROOT_HALF, x * x
    density = exponential_of_sum(-0.5 * squared, -0.5 * fused(x, x, -squared))
    ratio, near = complement_ratio(size), size <= CENTRE
    # The probability of the tail beyond |x|; of the lower one exp(-x^2 / 2) is left out.
    tail = 0.5 - 0.5 * ratio if near else 0.5 * ratio * (1.0 if x < 0.0 else density)
    low = log(tail) - (0.0 if near else 0.5 * squared)
    value = low if x < 0.0 else log1p(-tail)
    return real(value if x == x else x)


UNARY: Mapping[str, Callable[[Any], Any]] = {
    "erfcx": lambda x: real(scaled_complement(np.float64(x))),
    "erfinv": _inverse_error,
    "log_ndtr": _log_share,
    "ndtri": _quantile_of,
}
UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}

for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op))
