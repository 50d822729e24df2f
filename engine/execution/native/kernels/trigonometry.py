"""Sine, cosine, tangent and sinc: by polynomials where a row's angles allow it, else by the C library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.polynomials import polynomial
from engine.execution.native.inline.trigonometry import LIMIT, sine
from engine.execution.native.kernel import Kernel, inline, itemsize, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, elementwise, elementwise_calls
from engine.execution.native.lowering import Call, Work, lowers

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


SERIES = tuple((-1) ** k / (math.factorial(2 * k - 1) * (2 * k + 1)) for k in range(12, 0, -1))
"""The derivative of sin(u) / u is u times this polynomial in u^2, highest power first, for |u| < `SMALL`."""
SMALL = 1.5
LEAST = 1e-9
"""Below this sin(u) / u is 1, and the reciprocal of u may be infinite."""


@inline
def sinc_slope(u: Any, sine_of: Any, cosine_of: Any) -> Any:
    """Return the derivative of sinc at u / pi."""
    near = abs(u) < SMALL
    safe = 1.0 if near else u
    value = u * polynomial(u * u, SERIES) if near else (cosine_of - sine_of / safe) / safe
    return math.pi * value


def _sinc(x: Any) -> Any:
    u = math.pi * x
    return 1.0 if abs(u) < LEAST else sine(u, 0) / u


FUNCTIONS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (lambda x: sine(x, 0), lambda x: math.sin(x)),
    "cos": (lambda x: sine(x, 1), lambda x: math.cos(x)),
    # The multiples of pi / 2 in pi `LIMIT` have 20 bits.
    "sinc": (_sinc, lambda x: math.sin(math.pi * x) / (math.pi * x)),
    "sinc_derivative": (
        lambda x: sinc_slope(math.pi * x, sine(math.pi * x, 0), sine(math.pi * x, 1)),
        lambda x: sinc_slope(math.pi * x, math.sin(math.pi * x), math.cos(math.pi * x)),
    ),
    "tan": (lambda x: sine(x, 0) / sine(x, 1), lambda x: math.tan(x)),
}
KERNELS = {op: Kernel(of_angles, name=op, parts={"near": low, "far": high}) for op, (low, high) in FUNCTIONS.items()}

for _op in FUNCTIONS:
    lowers(_op)(elementwise(KERNELS, _op))


@lowers("sinc_derivative")
def _(work: Work) -> list[Call] | None:
    return elementwise_calls(work, KERNELS["sinc_derivative"]) if work.attrs["order"] == 1 else None
