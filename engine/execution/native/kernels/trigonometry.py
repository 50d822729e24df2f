"""Sine, cosine, tangent and sinc: by polynomials where a row's angles allow it, else by the C library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.polynomials import polynomial
from engine.execution.native.inline.trigonometry import LIMIT, sine
from engine.execution.native.kernel import inline, real
from engine.execution.native.kernels.elementwise import elementwise, elementwise_calls
from engine.execution.native.kernels.ranges import ranged
from engine.execution.native.lowering import Call, Work, lowers

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


@inline
def times_pi(x: Any, real: Any) -> Any:
    """Return pi x rounded to the dtype, as the op has it: near whole numbers the sine is what rounding has left."""
    return np.float64(real(math.pi) * real(x))


def _sinc(x: Any) -> Any:
    u = times_pi(x, real)
    return 1.0 if abs(u) < LEAST else sine(u, 0) / u


FUNCTIONS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (lambda x: sine(x, 0), lambda x: math.sin(x)),
    "cos": (lambda x: sine(x, 1), lambda x: math.cos(x)),
    # The multiples of pi / 2 in pi `LIMIT` have 20 bits.
    "sinc": (_sinc, lambda x: math.sin(times_pi(x, real)) / times_pi(x, real)),
    "sinc_derivative": (
        lambda x: sinc_slope(times_pi(x, real), sine(times_pi(x, real), 0), sine(times_pi(x, real), 1)),
        lambda x: sinc_slope(times_pi(x, real), math.sin(times_pi(x, real)), math.cos(times_pi(x, real))),
    ),
    "tan": (lambda x: sine(x, 0) / sine(x, 1), lambda x: math.tan(x)),
}
KERNELS = {
    op: ranged(op, lambda x: abs(np.float64(x)) <= LIMIT, small, any_angle)
    for op, (small, any_angle) in FUNCTIONS.items()
}

for _op in FUNCTIONS:
    lowers(_op)(elementwise(KERNELS, _op))


@lowers("sinc_derivative")
def _(work: Work) -> list[Call] | None:
    return elementwise_calls(work, KERNELS["sinc_derivative"]) if work.attrs["order"] == 1 else None
