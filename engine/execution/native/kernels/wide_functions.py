"""Functions that are computed in float64, of float32 too: other bases, hyperbolic and inverse functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.arcs import arc_cosine, atan, atan2
from engine.execution.native.inline.hyperbolic import acosh, asinh, atanh, cosh, sinh
from engine.execution.native.inline.powers import exp2, log2, log10
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.elementwise import binary, elementwise, unary
from engine.execution.native.lowering import lowers

LEAST_SQUARED, MOST_SQUARED = 1e-140, 1e150
"""Magnitudes of float64 between which a square is a normal number, and so is a sum of two."""


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


UNARY: Mapping[str, Callable[[Any], Any]] = {
    "acos": lambda x: real(arc_cosine(np.float64(x), False)),
    "acosh": lambda x: real(acosh(np.float64(x))),
    "asin": lambda x: real(arc_cosine(np.float64(x), True)),
    "asinh": lambda x: real(asinh(np.float64(x))),
    "atan": lambda x: real(atan(np.float64(x))),
    "atanh": lambda x: real(atanh(np.float64(x))),
    "cosh": lambda x: real(cosh(np.float64(x))),
    "exp2": lambda x: real(exp2(np.float64(x))),
    "log10": lambda x: real(log10(np.float64(x))),
    "log2": lambda x: real(log2(np.float64(x))),
    "sinh": lambda x: real(sinh(np.float64(x))),
}
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "atan2": lambda y, x: real(atan2(np.float64(y), np.float64(x))),
    "hypot": _hypot,
}
UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}
BINARY_KERNELS = {op: Kernel(binary, name=op, parts={"apply": function}) for op, function in BINARY.items()}

for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op))
for _op in BINARY:
    lowers(_op)(elementwise(BINARY_KERNELS, _op))
