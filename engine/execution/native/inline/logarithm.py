"""Logarithms, and exponentials near 0, as polynomials that vectorise, within a few units of rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from engine.execution.native.inline.arithmetic import EXACT, exp
from engine.execution.native.inline.pointers import float32_of, float_of, whole_of

INLINE = {**EXACT, "forceinline": True}
"""A loop that calls a function is not vectorised, however long the function."""


@intrinsic
def bits_of(typing_context: Any, x: Any) -> Any:
    """Return the bits of a float as an integer of its size."""
    single = x == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32 if single else 64))

    return (types.int32 if single else types.int64)(x), generate


def log(x: Any) -> Any:
    """Natural logarithm: -inf of 0, NaN of negative numbers."""
    raise NotImplementedError


@overload(log, jit_options=INLINE)
def _log(x: Any) -> Any:
    return _log32 if x == types.float32 else _log64


def _log32(x: Any) -> Any:
    # x = m 2^e with m in sqrt(1/2)..sqrt(2); the polynomial in m - 1 is that of Cephes' logf.
    tiny = x < np.float32(1.17549435e-38)
    bits = bits_of(x * np.float32(8388608.0) if tiny else x)
    e = np.float32(np.int32((bits >> np.int32(23)) - np.int32(126))) - (np.float32(23.0) if tiny else np.float32(0.0))
    m = float32_of(np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F000000)))
    below = m < np.float32(0.707106781186547524)
    e = e - np.float32(1.0) if below else e
    m = (m + m if below else m) - np.float32(1.0)
    z = m * m
    p = np.float32(7.0376836292e-2)
    p = p * m + np.float32(-1.1514610310e-1)
    p = p * m + np.float32(1.1676998740e-1)
    p = p * m + np.float32(-1.2420140846e-1)
    p = p * m + np.float32(1.4249322787e-1)
    p = p * m + np.float32(-1.6668057665e-1)
    p = p * m + np.float32(2.0000714765e-1)
    p = p * m + np.float32(-2.4999993993e-1)
    p = p * m + np.float32(3.3333331174e-1)
    y = p * m * z + e * np.float32(-2.12194440e-4) - z * np.float32(0.5)
    value = m + y + e * np.float32(0.693359375)
    value = value if x < np.float32(np.inf) else x
    value = value if x > np.float32(0.0) else np.float32(-np.inf)
    return value if x >= np.float32(0.0) else np.float32(np.nan)


def _log64(x: Any) -> Any:
    # As in fdlibm: log(1 + f) = 2 atanh(s) with s = f / (2 + f), by a polynomial in s^2.
    tiny = x < 2.2250738585072014e-308
    bits = bits_of(x * 18014398509481984.0 if tiny else x)
    e = np.float64((bits >> 52) - 1022) - (54.0 if tiny else 0.0)
    m = float_of((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)
    below = m < 0.707106781186547524
    e = e - 1.0 if below else e
    f = (m + m if below else m) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 1.479819860511658591e-01
    p = p * z + 1.531383769920937332e-01
    p = p * z + 1.818357216161805012e-01
    p = p * z + 2.222219843214978396e-01
    p = p * z + 2.857142874366239149e-01
    p = p * z + 3.999999999940941908e-01
    p = (p * z + 6.666666666666735130e-01) * z
    half = 0.5 * f * f
    value = e * 6.93147180369123816490e-01 - ((half - (s * (half + p) + e * 1.90821492927058770002e-10)) - f)
    value = value if x < np.inf else x
    value = value if x > 0.0 else -np.inf
    return value if x >= 0.0 else np.nan


def log1p(x: Any) -> Any:
    """log(1 + x), exact near 0."""
    raise NotImplementedError


@overload(log1p, jit_options=INLINE)
def _log1p(x: Any) -> Any:
    real = np.float32 if x == types.float32 else np.float64

    def logarithm(x: Any) -> Any:
        # The second term is what rounding has taken from 1 + x.
        u = real(1.0) + x
        value = log(u) + (x - (u - real(1.0))) / u
        value = value if u > real(0.0) else log(u)
        return value if u < real(np.inf) else u

    return logarithm


def log1p_of_share(x: Any) -> Any:
    """log(1 + x) of a number from 0 to 1, within 2 units in the last place."""
    raise NotImplementedError


@overload(log1p_of_share, jit_options=INLINE)
def _log1p_of_share(x: Any) -> Any:
    return _share32 if x == types.float32 else _share64


def _share32(x: Any) -> Any:
    # log(1 + x) = 2 atanh(s), s = x / (2 + x) <= 1/3, where (atanh(s) / s - 1) / s^2 is interpolated in s^2.
    s = x / (np.float32(2.0) + x)
    z = s * s
    p = np.float32(0.11612164612015)
    p = p * z + np.float32(0.10853287900438)
    p = p * z + np.float32(0.14296178997151)
    p = p * z + np.float32(0.19999853165965)
    p = p * z + np.float32(0.33333333660264)
    return np.float32(2.0) * (p * z * s + s)


def _share64(x: Any) -> Any:
    s = x / (2.0 + x)
    z = s * s
    p = 0.08082020318287683
    p = p * z + 0.04400370586692379
    p = p * z + 0.060005360952150505
    p = p * z + 0.06657072144457953
    p = p * z + 0.07692785029418293
    p = p * z + 0.09090894718210205
    p = p * z + 0.11111111358710059
    p = p * z + 0.1428571428355443
    p = p * z + 0.20000000000007292
    p = p * z + 0.3333333333333333
    return 2.0 * (p * z * s + s)


def expm1(x: Any) -> Any:
    """exp(x) - 1, exact near 0."""
    raise NotImplementedError


@overload(expm1, jit_options=INLINE)
def _expm1(x: Any) -> Any:
    return _expm1_32 if x == types.float32 else _expm1_64


def _expm1_32(x: Any) -> Any:
    p = np.float32(1 / 5040) + x * np.float32(1 / 40320)
    p = p * x + np.float32(1 / 720)
    p = p * x + np.float32(1 / 120)
    p = p * x + np.float32(1 / 24)
    p = p * x + np.float32(1 / 6)
    p = p * x + np.float32(1 / 2)
    far = exp(x) - np.float32(1.0)
    value = p * x * x + x if abs(x) < np.float32(0.5) else far
    return value if x != np.float32(0.0) else x


def _expm1_64(x: Any) -> Any:
    # x = n ln 2 + r: exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1). Subtracting 1 from exp(x) would lose digits between -1
    # and 1. exp(r) = 1 + r + r^2 q(r) on |r| <= 1/2, where q interpolates at Chebyshev nodes.
    t = -60.0 if x < -60.0 else x
    t = 710.0 if t > 710.0 else t
    n = 0.0 if abs(t) < 0.5 else np.floor(t * 1.4426950408889634074 + 0.5)
    r = t - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
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
    half = float_of((whole_of(n) + 1022) << 52)  # 2^(n - 1): the largest results have an n that is no exponent
    value = (half * (q * r * r + r) + (half - 0.5)) * 2.0
    return value if x != 0.0 else x
