"""The error function and its complement in float64, as straight-line code that vectorises.

W. J. Cody's rational approximations, with the coefficients of engine.ops.elementwise.error_function: numerator and
denominator of each region of |x| are computed, and one quotient serves the region that x lies in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import INLINE
from engine.ops.elementwise.error_function import (
    BETWEEN_P,
    BETWEEN_Q,
    CENTRE,
    CENTRE_P,
    CENTRE_Q,
    TAIL,
    TAIL_P,
    TAIL_Q,
    TWO_OVER_ROOT_PI,
)

ROOT = 0.5 * TWO_OVER_ROOT_PI
A0, A1, A2, A3, A4 = CENTRE_P
B0, B1, B2, B3, _ = CENTRE_Q
C0, C1, C2, C3, C4, C5, C6, C7, C8 = BETWEEN_P
D0, D1, D2, D3, D4, D5, D6, D7, _ = BETWEEN_Q
E0, E1, E2, E3, E4, E5 = TAIL_P
F0, F1, F2, F3, F4, _ = TAIL_Q
FAR = 30.0
"""From here on the complement is 0 in float64."""


def erfc_of(x: Any, complement: Any) -> Any:
    """The error function of a float64, or 1 less that if `complement`; within 2 units in the last place."""
    raise NotImplementedError


@overload(erfc_of, jit_options=INLINE)
def _erfc_of(x: Any, complement: Any) -> Any:
    assert x == types.float64
    return _cody


def _cody(x: Any, complement: Any) -> Any:
    size = FAR if abs(x) > FAR else abs(x)
    z = size * size
    centre = size <= CENTRE
    tail = size > TAIL
    # In the tail polynomials of 1 / x^2, multiplied by powers of x^2 so that there is nothing to divide.
    p = (((A4 * z + A3) * z + A2) * z + A1) * z + A0
    q = (((z + B3) * z + B2) * z + B1) * z + B0
    s = size
    p2 = (((((((C8 * s + C7) * s + C6) * s + C5) * s + C4) * s + C3) * s + C2) * s + C1) * s + C0
    q2 = (((((((s + D7) * s + D6) * s + D5) * s + D4) * s + D3) * s + D2) * s + D1) * s + D0
    p3 = ((((E0 * z + E1) * z + E2) * z + E3) * z + E4) * z + E5
    q3 = (((((F0 * z + F1) * z + F2) * z + F3) * z + F4) * z + 1.0) * z
    above = p * x if centre else (ROOT * q3 - p3 if tail else p2)
    below = q if centre else (q3 * s if tail else q2)
    ratio = above / below
    # exp(-x^2) without the rounding error of x^2: the square of x rounded to 1/16 is exact.
    coarse = np.floor(s * 16.0) * 0.0625
    rest = exp(-coarse * coarse) * exp(-(s - coarse) * (s + coarse)) * ratio
    if complement:
        value = 1.0 - ratio if centre else (2.0 - rest if x < 0.0 else rest)
    else:
        value = ratio if centre else (rest - 1.0 if x < 0.0 else 1.0 - rest)
    return value if x == x else x


def normal_share(x: Any) -> Any:
    """The probability that a standard normal number is below a float64."""
    raise NotImplementedError


@overload(normal_share, jit_options=INLINE)
def _normal_share(x: Any) -> Any:
    def share(x: Any) -> Any:
        return 0.5 * erfc_of(x * -0.70710678118654752440, True)

    return share
