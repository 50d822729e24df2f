"""Elementary functions as short polynomials that vectorise: exp, tanh, sigmoid, erf, within a few units of rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from engine.execution.native.inline.pointers import float32_of, float_of, whole_of

EXACT = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}
"""The terms of a polynomial stay in their order."""


def exp(x: Any) -> Any:
    """e to the x, within 2 units in the last place; results smaller than the normal numbers are 0."""
    raise NotImplementedError


@overload(exp, jit_options=EXACT)
def _exp(x: Any) -> Any:
    return _exp32 if x == types.float32 else _exp64


def _exp32(x: Any) -> Any:
    # x = n ln 2 + r; the polynomial is that of Cephes' expf on |r| <= ln 2 / 2. NaN passes every comparison by.
    low = np.float32(-87.33)
    t = low if x < low else x
    t = np.float32(89.0) if t > np.float32(89.0) else t
    n = np.floor(t * np.float32(1.44269504) + np.float32(0.5))
    r = t - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    # 2 ** n in two factors: the largest results have an n that no float32 has as its exponent.
    value = p * float32_of(np.int32((np.int32(n) + np.int32(126)) << np.int32(23))) * np.float32(2.0)
    return np.float32(0.0) if x < low else value


def _exp64(x: Any) -> Any:
    # Cephes' rational approximation of exp on |r| <= ln 2 / 2.
    low = -708.0
    t = low if x < low else x
    t = 710.0 if t > 710.0 else t
    n = np.floor(t * 1.4426950408889634074 + 0.5)
    r = t - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
    rr = r * r
    p = r * ((1.26177193074810590878e-4 * rr + 3.02994407707441961300e-2) * rr + 9.99999999999999999910e-1)
    q = ((3.00198505138664455042e-6 * rr + 2.52448340349684104192e-3) * rr + 2.27265548208155028766e-1) * rr
    value = (1.0 + 2.0 * p / (q + 2.0 - p)) * float_of((whole_of(n) + 1022) << 52) * 2.0
    return 0.0 if x < low else value


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), inf of 0: divided out, as the estimate that fast code makes of it is NaN there."""
    raise NotImplementedError


@overload(rsqrt, jit_options=EXACT)
def _rsqrt(x: Any) -> Any:
    real = np.float32 if x == types.float32 else np.float64

    def divided(x: Any) -> Any:
        return real(1.0) / np.sqrt(x)

    return divided


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    raise NotImplementedError


@overload(sigmoid, jit_options=EXACT)
def _sigmoid(x: Any) -> Any:
    real = np.float32 if x == types.float32 else np.float64

    def logistic(x: Any) -> Any:
        # Of the magnitude, so that nothing overflows and small results keep their digits.
        e = exp(-abs(x))
        return (real(1.0) if x >= real(0.0) else e) / (real(1.0) + e)

    return logistic


def tanh(x: Any) -> Any:
    """Hyperbolic tangent, within a few units in the last place, odd to the bit."""
    raise NotImplementedError


@overload(tanh, jit_options=EXACT)
def _tanh(x: Any) -> Any:
    if x == types.float32:
        return _tanh32
    return _tanh64


def _tanh32(x: Any) -> Any:
    # Cephes' tanhf: an odd polynomial near 0, where 1 - 2 / (exp(2|x|) + 1) would lose digits.
    z = abs(x)
    s = x * x
    p = np.float32(-5.70498872745e-3)
    p = p * s + np.float32(2.06390887954e-2)
    p = p * s + np.float32(-5.37397155531e-2)
    p = p * s + np.float32(1.33314422036e-1)
    p = p * s + np.float32(-3.33332819422e-1)
    near = p * s * x + x
    far = np.float32(1.0) - np.float32(2.0) / (exp(z + z) + np.float32(1.0))
    far = far if x > np.float32(0.0) else -far
    value = near if z < np.float32(0.625) else (far if x == x else x)
    return value if x != np.float32(0.0) else x


def _tanh64(x: Any) -> Any:
    # Near 0 the rational approximation of Cephes' tanh, elsewhere 1 - 2 / (exp(2|x|) + 1): one quotient serves both.
    s = x * x
    p = (s * -9.64399179425052238628e-1 - 9.92877231001918586564e1) * s - 1.61468768441708447952e3
    q = ((s + 1.12811678491632931402e2) * s + 2.23548839060100448583e3) * s + 4.84406305325125486048e3
    z = abs(x)
    near = z < 0.625
    one = 1.0 if x > 0.0 else -1.0
    above = p * s * x if near else one * -2.0
    below = q if near else exp(z + z) + 1.0
    value = above / below + (x if near else one)
    return value if x != 0.0 else x
