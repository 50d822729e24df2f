"""Functions that are computed in float64, of float32 too: other bases, hyperbolic and inverse functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.arcs import arc_cosine, atan, atan2
from engine.execution.native.inline.hyperbolic import acosh, asinh, atanh, cosh, sinh
from engine.execution.native.inline.logarithm import bits_of, log1p_of_share
from engine.execution.native.inline.pointers import float_of, whole_of
from engine.execution.native.inline.polynomials import polynomial
from engine.execution.native.inline.powers import LOG2_E, exp2, fused, log2, log10
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.elementwise import binary, elementwise, unary
from engine.execution.native.lowering import lowers

LEAST_SQUARED, MOST_SQUARED = 1e-140, 1e150
"""Magnitudes of float64 between which a square is a normal number, and so is a sum of two."""
THIRD, TWO_NINTHS = 1.0 / 3.0, 2.0 / 9.0
CUBE_BIAS = 715094163
CUBE = (0.145996192886612446982, -0.758397934778766047437, 1.621429720105354466140, -1.88497979543377169875,
        1.87595182427177009643)  # fmt: skip
"""Of FreeBSD's cbrt: two thirds of the bias of exponents, less 3 % of a bit; x^(1/3) / t by t^3 / x, to 23 bits."""


def _hypot(x: Any, y: Any) -> Any:
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    if abs(x) == real(np.inf) or abs(y) == real(np.inf):
        return real(np.inf)
    if x != x or y != y:
        return x + y
    if itemsize == 4 or (large > LEAST_SQUARED and large < MOST_SQUARED):
        return real(np.sqrt(np.float64(large) * np.float64(large) + np.float64(small) * np.float64(small)))
    share = real(0) if large == real(0) else small / large
    return large * np.sqrt(real(1) + share * share)


def _cube_root(x: Any) -> Any:
    # What is below 1 is taken times 2^54, whose root is 2^18, and the rest by it: no cube of a root is beyond the
    # largest number, or so small that its rest has fewer digits.
    size = abs(np.float64(x))
    small = size < 1.0
    size *= 2.0**54 if small else 2.0**-54
    # A third of the exponent, in the upper half of the bits, makes 5 bits of the root, a polynomial 23, Halley's method
    # the rest.
    root = float_of((whole_of(np.float64(bits_of(size) >> 32) * THIRD) + CUBE_BIAS) << 32)
    share = root * root * (root / size)
    root *= polynomial(share, CUBE)
    squared = root * root
    excess = (fused(squared, root, -size) + fused(root, root, -squared) * root) / size
    root -= root * excess * (THIRD - TWO_NINTHS * excess)
    root *= 2.0**-18 if small else 2.0**18
    return real(np.copysign(root, x) if (size > 0.0) & (size < np.inf) else x)


def _logaddexp2(x: Any, y: Any) -> Any:
    # Where both are one infinity their difference is NaN.
    x, y = np.float64(x), np.float64(y)
    top = x if x >= y or x != x else y
    gap = 0.0 if x == y else abs(x - y)
    return real(fused(log1p_of_share(exp2(-gap)), LOG2_E, top))


UNARY: Mapping[str, Callable[[Any], Any]] = {
    "acos": lambda x: real(arc_cosine(np.float64(x), False)),
    "acosh": lambda x: real(acosh(np.float64(x))),
    "asin": lambda x: real(arc_cosine(np.float64(x), True)),
    "asinh": lambda x: real(asinh(np.float64(x))),
    "atan": lambda x: real(atan(np.float64(x))),
    "atanh": lambda x: real(atanh(np.float64(x))),
    "cbrt": _cube_root,
    "cosh": lambda x: real(cosh(np.float64(x))),
    "exp2": lambda x: real(exp2(np.float64(x))),
    "log10": lambda x: real(log10(np.float64(x))),
    "log2": lambda x: real(log2(np.float64(x))),
    "sinh": lambda x: real(sinh(np.float64(x))),
}
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "atan2": lambda y, x: real(atan2(np.float64(y), np.float64(x))),
    "hypot": _hypot,
    "logaddexp2": _logaddexp2,
}
UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}
BINARY_KERNELS = {op: Kernel(binary, name=op, parts={"apply": function}) for op, function in BINARY.items()}

for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op))
for _op in BINARY:
    lowers(_op)(elementwise(BINARY_KERNELS, _op))
