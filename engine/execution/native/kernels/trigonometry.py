"""Sine, cosine and tangent: by polynomials where a row's angles allow it, else by the C library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.trigonometry import LIMIT, sine
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, elementwise
from engine.execution.native.lowering import lowers

PIECE = 1024
"""Number of angles that are checked together."""


def of_angles(a: Any) -> None:
    """Apply a function of one angle; words as of `unary`."""
    n = a[3]
    for i in range(a[0]):
        for j in range(a[1]):
            for k in range(a[2]):
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + k * a[OUT + 3]
                x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + k * a[FIRST + 3]
                if a[OUT + 4] != itemsize or a[FIRST + 4] != itemsize:
                    for e in range(n):
                        angle = np.float64(view(x + e * a[FIRST + 4], 1, real)[0])
                        view(out + e * a[OUT + 4], 1, real)[0] = real(
                            near(angle) if abs(angle) <= LIMIT else far(angle)
                        )
                    continue
                for start in range(0, n, PIECE):
                    count = min(PIECE, n - start)
                    xs, ys = view(x + start * itemsize, count, real), view(out + start * itemsize, count, real)
                    large = 0
                    for e in range(xs.size):
                        large += 0 if abs(xs[e]) <= real(LIMIT) else 1
                    if large:  # or not a number
                        for e in range(count):
                            angle = np.float64(xs[e])
                            ys[e] = real(near(angle) if abs(angle) <= LIMIT else far(angle))
                    elif x == out:  # a loop of its own: what may overlap is processed one by one
                        for e in range(ys.size):
                            ys[e] = real(near(np.float64(ys[e])))
                    else:
                        for e in range(ys.size):
                            ys[e] = real(near(np.float64(xs[e])))


def near(x: Any) -> Any:
    """Stand for the function of an angle up to the limit."""
    raise NotImplementedError


def far(x: Any) -> Any:
    """Stand for the function of any angle."""
    raise NotImplementedError


FUNCTIONS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (lambda x: sine(x, 0), lambda x: math.sin(x)),
    "cos": (lambda x: sine(x, 1), lambda x: math.cos(x)),
    "tan": (lambda x: sine(x, 0) / sine(x, 1), lambda x: math.tan(x)),
}
KERNELS = {op: Kernel(of_angles, name=op, parts={"near": low, "far": high}) for op, (low, high) in FUNCTIONS.items()}

for _op in FUNCTIONS:
    lowers(_op)(elementwise(KERNELS, _op))
