"""Inverse trigonometric functions in float64, as straight-line code that vectorises.

The approximations are those of Cephes' atan and fdlibm's asin and acos: of each one quotient of polynomials serves all
ranges of the argument. Sums with what a range decides are fused by name: where the compiler makes branches of ranges,
for single numbers but not for vectors, it would join no product with a sum beyond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from engine.execution.native.inline.logarithm import INLINE, bits_of
from engine.execution.native.inline.pointers import float_of
from engine.execution.native.inline.powers import fused

QUARTER, HALF, WHOLE = 0.78539816339744830962, 1.57079632679489661923, 3.14159265358979323846
"""pi / 4, pi / 2 and pi; `HALF_REST` is what rounding has taken from pi / 2."""
HALF_REST = 6.123233995736765886130e-17
NEAR, FAR = 0.66, 2.41421356237309504880
"""Where arc tangents are taken from pi / 4 and, from tan(3 pi / 8) on, from pi / 2."""
UPPER = -0x100000000
"""The bits of a float64 that leave its square exact."""


def atan(x: Any) -> Any:
    """Arc tangent, within 1.5 units in the last place."""
    raise NotImplementedError


@overload(atan, jit_options=INLINE)
def _atan(x: Any) -> Any:
    def arc(x: Any) -> Any:
        size = abs(x)
        far, middle = size > FAR, size > NEAR
        above = -1.0 if far else (size - 1.0 if middle else size)
        below = size if far else (size + 1.0 if middle else 1.0)
        t = above / below
        z = t * t
        p = -8.750608600031904122785e-1 * z - 1.615753718733365076637e1
        p = (p * z - 7.500855792314704667340e1) * z - 1.228866684490136173410e2
        p = p * z - 6.485021904942025371773e1
        q = (z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2
        q = (q * z + 4.328810604912902668951e2) * z + 4.853903996359136964868e2
        q = q * z + 1.945506571482613964425e2
        rest = HALF_REST if far else (0.5 * HALF_REST if middle else 0.0)
        value = (HALF if far else (QUARTER if middle else 0.0)) + (fused(t, z * p / q, rest) + t)
        return np.copysign(value, x) if x == x else x

    return arc


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), -pi to pi."""
    raise NotImplementedError


@overload(atan2, jit_options=INLINE)
def _atan2(y: Any, x: Any) -> Any:
    def angle(y: Any, x: Any) -> Any:
        # Two zeros lie on the axis, two infinities on the diagonal.
        both = (y == 0.0) & (x == 0.0)
        infinite = (abs(y) == np.inf) & (abs(x) == np.inf)
        slope = 0.0 if both else (1.0 if infinite else abs(y) / abs(x))
        arc = atan(slope)
        behind = np.copysign(1.0, x) < 0.0
        value = np.copysign(WHOLE - (arc - 2.0 * HALF_REST) if behind else arc, y)
        return value if (x == x) & (y == y) else x + y

    return angle


def arc_cosine(x: Any, complement: Any) -> Any:
    """Arc cosine of a number from -1 to 1, or its arc sine if `complement`; within 1.5 units in the last place."""
    raise NotImplementedError


@overload(arc_cosine, jit_options=INLINE)
def _arc_cosine(x: Any, complement: Any) -> Any:
    def arc(x: Any, complement: Any) -> Any:
        size = abs(x)
        near = size < 0.5
        z = size * size if near else (1.0 - size) * 0.5
        p = 3.47933107596021167570e-5 * z + 7.91534994289814532176e-4
        p = (p * z - 4.00555345006794114027e-2) * z + 2.01212532134862925881e-1
        p = (p * z - 3.25565818622400915405e-1) * z + 1.66666666666666657415e-1
        q = 7.70381505559019352791e-2 * z - 6.88283971605453293030e-1
        q = (q * z + 2.02094576023350569471) * z - 2.40339491173441421878
        r = z * p / (q * z + 1.0)
        s = np.sqrt(z)
        # The root in two parts, the first of which has an exact square: s = part + rest.
        part = float_of(bits_of(s) & UPPER)
        rest = (z - part * part) / (s + part) if s > 0.0 else 0.0
        small = fused(s, r, rest)
        if complement:
            value = fused(size, r, size) if near else QUARTER - ((2.0 * small - HALF_REST) - (QUARTER - 2.0 * part))
            value = np.copysign(value, x)
        else:
            centre = HALF - (x - fused(-x, r, HALF_REST))
            value = (
                centre if near else (WHOLE - 2.0 * (part + (small - HALF_REST)) if x < 0.0 else 2.0 * (part + small))
            )
        return value if size <= 1.0 else np.nan

    return arc
