"""Sines of arguments that are not too large, as straight-line code that vectorises.

In float64 throughout. The argument less its nearest multiple of pi / 2 is taken in three parts (Cody & Waite 1980),
of which the products with the first two are exact; the polynomials are those of Cephes' sin and cos.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from engine.execution.native.inline.logarithm import INLINE
from engine.execution.native.inline.pointers import whole_of

LIMIT = 500_000.0
"""Arguments of a larger magnitude have multiples of more than 20 bits."""

PI_1, PI_2, PI_3 = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
"""pi / 2 in two parts of 33 bits, and what is left."""


def sine(x: Any, turn: Any) -> Any:
    """sin(x + turn pi / 2) of a float64 of a magnitude up to `LIMIT`."""
    raise NotImplementedError


@overload(sine, jit_options=INLINE)
def _sine(x: Any, turn: Any) -> Any:
    assert x == types.float64

    def polynomial(x: Any, turn: Any) -> Any:
        k = np.rint(x * 0.63661977236758134308)
        t = x - k * PI_1
        w = k * PI_2
        r = t - w
        rest = ((t - r) - w) - k * PI_3
        high = r + rest
        low = (r - high) + rest
        z = high * high
        p = 1.58962301576546568060e-10
        p = p * z - 2.50507477628578072866e-8
        p = p * z + 2.75573136213857245213e-6
        p = p * z - 1.98412698295895385996e-4
        p = p * z + 8.33333333332211858878e-3
        p = p * z - 1.66666666666666307295e-1
        s = high + (high * z * p + low)
        q = -1.13585365213876817300e-11
        q = q * z + 2.08757008419747316778e-9
        q = q * z - 2.75573141792967388112e-7
        q = q * z + 2.48015872888517045348e-5
        q = q * z - 1.38888888888730564116e-3
        q = q * z + 4.16666666666665929218e-2
        half = 0.5 * z
        top = 1.0 - half
        c = top + (((1.0 - top) - half) + (z * z * q - high * low))
        quarter = whole_of(k) + turn
        value = c if quarter & 1 else s
        return -value if quarter & 2 else value

    return polynomial
