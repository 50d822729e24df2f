"""Hyperbolic sine and cosine, and the inverse functions, in float64, as straight-line code that vectorises."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import INLINE, expm1, log, log1p

LARGE = 709.0
"""From here on e to the x would be infinite before its half is."""
HALF_E = 1.35914091422952261768
LN_2 = 6.93147180559945309417e-1
HUGE = 2.0**28
"""From here on x + sqrt(x^2 +- 1) is 2 x."""


def sinh(x: Any) -> Any:
    """(e^x - e^-x) / 2."""
    raise NotImplementedError


@overload(sinh, jit_options=INLINE)
def _sinh(x: Any) -> Any:
    def sine(x: Any) -> Any:
        size = abs(x)
        t = expm1(LARGE if size > LARGE else size)
        value = 0.5 * (t + t / (t + 1.0))
        value = exp(size - 1.0) * HALF_E if size > LARGE else value
        return np.copysign(value, x) if x == x else x

    return sine


def cosh(x: Any) -> Any:
    """(e^x + e^-x) / 2."""
    raise NotImplementedError


@overload(cosh, jit_options=INLINE)
def _cosh(x: Any) -> Any:
    def cosine(x: Any) -> Any:
        size = abs(x)
        large = size > LARGE
        e = exp(size - 1.0 if large else size)
        value = e * HALF_E if large else 0.5 * e + 0.5 / e
        return value if x == x else x

    return cosine


def asinh(x: Any) -> Any:
    """log(x + sqrt(x^2 + 1)), odd."""
    raise NotImplementedError


@overload(asinh, jit_options=INLINE)
def _asinh(x: Any) -> Any:
    def area(x: Any) -> Any:
        size = abs(x)
        huge = size > HUGE
        t = 1.0 if huge else size
        value = log1p(t + t * t / (1.0 + np.sqrt(t * t + 1.0)))
        value = log(size) + LN_2 if huge else value
        return np.copysign(value, x) if x == x else x

    return area


def acosh(x: Any) -> Any:
    """log(x + sqrt(x^2 - 1)); NaN below 1."""
    raise NotImplementedError


@overload(acosh, jit_options=INLINE)
def _acosh(x: Any) -> Any:
    def area(x: Any) -> Any:
        huge = x > HUGE
        t = 1.0 if huge else x - 1.0
        value = log1p(t + np.sqrt(2.0 * t + t * t))
        # Far below 1 the sum of both rounds to -1 and more.
        value = np.nan if x < 1.0 else value
        return log(x) + LN_2 if huge else value

    return area


def atanh(x: Any) -> Any:
    """log((1 + x) / (1 - x)) / 2."""
    raise NotImplementedError


@overload(atanh, jit_options=INLINE)
def _atanh(x: Any) -> Any:
    def area(x: Any) -> Any:
        size = abs(x)
        t = size + size
        # Near 0 the quotient 2x / (1 - x) is 2x and a small part of it.
        inner = t + t * size / (1.0 - size) if size < 0.5 else t / (1.0 - size)
        value = np.copysign(0.5 * log1p(inner), x)
        return value if size <= 1.0 else np.nan

    return area
