"""The error function and its complement in float64, as straight-line code that vectorises.

Near 0 fdlibm's rational approximation of erf(x) / x - 1, elsewhere W. J. Cody's of the complement, with the
coefficients of engine.ops.elementwise.error_function: numerator and denominator of each region of |x| are computed, and
one quotient serves the region that x lies in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from engine.execution.native.inline.logarithm import INLINE
from engine.execution.native.inline.powers import exponential_of_sum, fused
from engine.ops.elementwise.error_function import (
    BETWEEN_P,
    BETWEEN_Q,
    TAIL,
    TAIL_P,
    TAIL_Q,
    TWO_OVER_ROOT_PI,
)

ROOT = 0.5 * TWO_OVER_ROOT_PI
C0, C1, C2, C3, C4, C5, C6, C7, C8 = BETWEEN_P
D0, D1, D2, D3, D4, D5, D6, D7, _ = BETWEEN_Q
E0, E1, E2, E3, E4, E5 = TAIL_P
F0, F1, F2, F3, F4, _ = TAIL_Q
CENTRE = 0.84375
"""Up to here erf(x) = x + x y, y a quotient of polynomials in x^2."""
FAR = 30.0
"""From here on the complement is 0 in float64."""
ROOT_HALF, ROOT_HALF_LOW = 0.70710678118654752440, -4.833646656726457e-17
"""The root of 1/2, and what rounding has taken from it."""


def erfc_of(x: Any, low: Any, complement: Any) -> Any:
    """The error function of x + low, or 1 less that if `complement`; `low` is what rounding has taken from the sum."""
    raise NotImplementedError


@overload(erfc_of, jit_options=INLINE)
def _erfc_of(x: Any, low: Any, complement: Any) -> Any:
    assert x == types.float64
    return _by_regions


def _by_regions(x: Any, low: Any, complement: Any) -> Any:
    size = FAR if abs(x) > FAR else abs(x)
    z = size * size
    centre = size <= CENTRE
    tail = size > TAIL
    p = (-2.37630166566501626084e-05 * z - 5.77027029648944159157e-03) * z - 2.84817495755985104766e-02
    p = (p * z - 3.25042107247001499370e-01) * z + 1.28379167095512558561e-01
    q = (-3.96022827877536812320e-06 * z + 1.32494738004321644526e-04) * z + 5.08130628187576562776e-03
    q = ((q * z + 6.50222499887672944485e-02) * z + 3.97917223959155352819e-01) * z + 1.0
    # In the tail polynomials of 1 / x^2, multiplied by powers of x^2 so that there is nothing to divide.
    s = size
    p2 = (((((((C8 * s + C7) * s + C6) * s + C5) * s + C4) * s + C3) * s + C2) * s + C1) * s + C0
    q2 = (((((((s + D7) * s + D6) * s + D5) * s + D4) * s + D3) * s + D2) * s + D1) * s + D0
    p3 = ((((E0 * z + E1) * z + E2) * z + E3) * z + E4) * z + E5
    q3 = (((((F0 * z + F1) * z + F2) * z + F3) * z + F4) * z + 1.0) * z
    above = p * x if centre else (ROOT * q3 - p3 if tail else p2)
    below = q if centre else (q3 * s if tail else q2)
    ratio = above / below
    # exp(-(x + low)^2), whose error would be x^2 times that of its exponent.
    taken = np.copysign(2.0 * size * low, low * x)
    rest = exponential_of_sum(-z, -(fused(size, size, -z) + taken)) * ratio
    if complement:
        inner = 0.5 - ((x - 0.5) + ratio) if x > 0.25 else 1.0 - (x + ratio)
        value = inner if centre else (2.0 - rest if x < 0.0 else rest)
    else:
        value = x + ratio if centre else (rest - 1.0 if x < 0.0 else 1.0 - rest)
    return value if x == x else x


def normal_share(x: Any) -> Any:
    """The probability that a standard normal number is below a float64."""
    raise NotImplementedError


@overload(normal_share, jit_options=INLINE)
def _normal_share(x: Any) -> Any:
    def share(x: Any) -> Any:
        t = x * -ROOT_HALF
        low = fused(x, -ROOT_HALF, -t) - x * ROOT_HALF_LOW
        return 0.5 * erfc_of(t, low if abs(t) < FAR else 0.0, True)

    return share
