"""Powers, and logarithms to other bases, in float64, as straight-line code that vectorises.

A power is the exponential of a product that may be 700: the logarithm needs 10 bits more than a float64 has, and is
computed as the sum of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from engine.execution.native.inline.logarithm import INLINE, bits_of, log
from engine.execution.native.inline.pointers import float_of, whole_of

ROUNDED = {"fastmath": False, "error_model": "numpy", "forceinline": True}
"""What rounding takes from a sum or a product is computed: none may be joined with another operation."""
LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The first part has 33 bits: its products with exponents are exact."""
LOG10_2_HIGH, LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
LOG2_E, LOG10_E = 1.44269504088896340736, 4.34294481903251816668e-01
TWO_THIRDS, TWO_THIRDS_LOW = 0.66666666666666662966, 3.7007434154171886e-17
ROOT_HALF = 0.707106781186547524
LEAST, MOST = -746.0, 710.0
"""Powers of e outside are 0 and infinite."""


@intrinsic
def fused(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z of float64 numbers, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def exponent_of(x: Any) -> Any:
    """The e of x = m 2^e with m between the roots of 1/2 and 2, of a positive float64."""
    raise NotImplementedError


@overload(exponent_of, jit_options=INLINE)
def _exponent_of(x: Any) -> Any:
    def exponent(x: Any) -> Any:
        tiny = x < 2.2250738585072014e-308
        bits = bits_of(x * 18014398509481984.0 if tiny else x)
        m = float_of((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)
        return np.float64((bits >> 52) - 1022) - (54.0 if tiny else 0.0) - (1.0 if m < ROOT_HALF else 0.0)

    return exponent


def mantissa_of(x: Any) -> Any:
    """The m of x = m 2^e."""
    raise NotImplementedError


@overload(mantissa_of, jit_options=INLINE)
def _mantissa_of(x: Any) -> Any:
    def mantissa(x: Any) -> Any:
        bits = bits_of(x * 18014398509481984.0 if x < 2.2250738585072014e-308 else x)
        m = float_of((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)
        return m + m if m < ROOT_HALF else m

    return mantissa


def outside(x: Any) -> Any:
    """The logarithm of what is no positive finite number."""
    raise NotImplementedError


@overload(outside, jit_options=INLINE)
def _outside(x: Any) -> Any:
    def limit(x: Any) -> Any:
        return x if x > 0.0 else (-np.inf if x == 0.0 else np.nan)

    return limit


def log2(x: Any) -> Any:
    """Logarithm to base 2, exact of the powers of 2."""
    raise NotImplementedError


@overload(log2, jit_options=INLINE)
def _log2(x: Any) -> Any:
    def logarithm(x: Any) -> Any:
        value = log(mantissa_of(x)) * LOG2_E + exponent_of(x)
        return value if (x > 0.0) & (x < np.inf) else outside(x)

    return logarithm


def log10(x: Any) -> Any:
    """Logarithm to base 10."""
    raise NotImplementedError


@overload(log10, jit_options=INLINE)
def _log10(x: Any) -> Any:
    def logarithm(x: Any) -> Any:
        e = exponent_of(x)
        value = e * LOG10_2_HIGH + (e * LOG10_2_LOW + log(mantissa_of(x)) * LOG10_E)
        return value if (x > 0.0) & (x < np.inf) else outside(x)

    return logarithm


def exp2(x: Any) -> Any:
    """2 to the x; results smaller than the normal numbers are 0."""
    raise NotImplementedError


@overload(exp2, jit_options=INLINE)
def _exp2(x: Any) -> Any:
    def power(x: Any) -> Any:
        # Cephes' rational approximation on |r| <= 1/2.
        t = -1022.0 if x < -1022.0 else x
        t = 1024.0 if t > 1024.0 else t
        n = np.floor(t + 0.5)
        r = t - n
        z = r * r
        p = r * ((2.30933477057345225087e-2 * z + 2.02020656693165307700e1) * z + 1.51390680115615096133e3)
        q = (z + 2.33184211722314911771e2) * z + 4.36821166879210612817e3
        value = (1.0 + 2.0 * p / (q - p)) * float_of((whole_of(n) + 1022) << 52) * 2.0
        return 0.0 if x < -1022.0 else value

    return power


def exponential_of_sum(high: Any, low: Any) -> Any:
    """e to the high + low, where low is what rounding has taken from the sum."""
    raise NotImplementedError


@overload(exponential_of_sum, jit_options=INLINE)
def _exponential_of_sum(high: Any, low: Any) -> Any:
    def power(high: Any, low: Any) -> Any:
        t = LEAST if high < LEAST else high
        t = MOST if t > MOST else t
        n = np.floor(t * LOG2_E + 0.5)
        r = (t - n * LN_2_HIGH) - n * LN_2_LOW + low
        # e^r = 1 + r + r^2 q(r), the q of `expm1`.
        q = 2.0955762289494408e-09
        q = q * r + 2.5162744626460177e-08
        q = q * r + 2.755712159501279e-07
        q = q * r + 2.755704244819296e-06
        q = q * r + 2.480158751780227e-05
        q = q * r + 0.00019841270144086635
        q = q * r + 0.0013888888888792352
        q = q * r + 0.008333333333198127
        q = q * r + 0.04166666666666679
        q = q * r + 0.16666666666666835
        q = q * r + 0.5
        # 2^n in two factors: n may be no exponent that a float64 has.
        half = whole_of(n) >> 1
        scaled = (1.0 + (r + r * r * q)) * float_of((half + 1023) << 52)
        value = scaled * float_of((whole_of(n) - half + 1023) << 52)
        value = value if t < MOST else np.inf
        return value if high >= LEAST else (0.0 if high < LEAST else high)

    return power


def magnitude_of_power(base: Any, exponent: Any) -> Any:
    """The power of a base greater than or equal to 0."""
    raise NotImplementedError


@overload(magnitude_of_power, jit_options=ROUNDED)
def _magnitude_of_power(base: Any, exponent: Any) -> Any:
    def magnitude(base: Any, exponent: Any) -> Any:
        e, m = exponent_of(base), mantissa_of(base)
        # log(m) = 2 atanh(s) = 2 s + 2 s^3 / 3 + ..., s = f / (2 + f): s and two terms as sums of two numbers.
        f = m - 1.0
        below = 2.0 + f
        below_low = f - (below - 2.0)
        share = 1.0 / below
        s = f * share
        s_low = (fused(-s, below, f) - s * below_low) * share
        z = s * s
        z_low = fused(s, s, -z) + 2.0 * s * s_low
        cube = s * z
        cube_low = fused(s, z, -cube) + s * z_low + s_low * z
        third = cube * TWO_THIRDS
        third_low = fused(cube, TWO_THIRDS, -third) + cube * TWO_THIRDS_LOW + cube_low * TWO_THIRDS
        p = z * (2.0 / 23.0) + 2.0 / 21.0
        p = p * z + 2.0 / 19.0
        p = p * z + 2.0 / 17.0
        p = p * z + 2.0 / 15.0
        p = p * z + 2.0 / 13.0
        p = p * z + 2.0 / 11.0
        p = p * z + 2.0 / 9.0
        p = p * z + 2.0 / 7.0
        p = p * z + 2.0 / 5.0
        rest = cube * z * p + third_low + 2.0 * s_low
        whole = e * LN_2_HIGH
        first = whole + 2.0 * s
        first_low = 2.0 * s - (first - whole)
        high = first + third
        low = third - (high - first) + first_low + rest + e * LN_2_LOW
        top = high + low
        low = low - (top - high)
        top = top if (base > 0.0) & (base < np.inf) else outside(base)
        product = exponent * top
        product_low = fused(exponent, top, -product) + exponent * low
        return exponential_of_sum(product, product_low if abs(product) < 1000.0 else 0.0)

    return magnitude
