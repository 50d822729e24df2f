"""Modified Bessel functions of the first kind of low orders, in float64; the formulas are those of the op."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.polynomials import in_quarters, long_polynomial
from engine.execution.native.kernel import Kernel, inline, real
from engine.execution.native.kernels.activations import of_two_numbers
from engine.execution.native.kernels.elementwise import elementwise_calls
from engine.execution.native.lowering import Call, Work, lowers
from engine.ops.elementwise.special import EXPANSION_TERMS, series_end, series_terms

ROOT_2_PI = math.sqrt(2 * math.pi)
ENDS = tuple(float(series_end(order)) for order in range(4))
"""By order, up to where the power series is taken."""


def _series(order: int) -> tuple[float, ...]:
    """Return the coefficients, highest power first, of exp(-x) I(x) / (exp(-x) (x/2)^order) by x^2 / 4."""
    return tuple(1 / (math.factorial(k) * math.factorial(k + order)) for k in range(series_terms(order), -1, -1))


def _expansion(order: int) -> tuple[float, ...]:
    """Return the coefficients, highest power first, of sqrt(2 pi x) exp(-x) I(x) by 1 / x."""
    found = [1.0]
    for k in range(1, EXPANSION_TERMS + 1):
        found.append(found[-1] * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k))
    return tuple(found[::-1])


SERIES_0, SERIES_1, SERIES_2, SERIES_3 = (in_quarters(_series(order)) for order in range(4))
EXPANSION_0, EXPANSION_1, EXPANSION_2, EXPANSION_3 = (in_quarters(_expansion(order)) for order in range(4))


@inline
def bessel(x: Any, scaled: Any, order: Any, end: Any, series: Any, expansion: Any) -> Any:
    """Return the magnitude of the function in float64, times exp(-|x|) if it is `scaled`."""
    size = abs(np.float64(x))
    near = long_polynomial(0.25 * size * size, series) * exp(-size)
    for _ in range(order):
        near *= 0.5 * size
    far = long_polynomial(1.0 / size, expansion) / (ROOT_2_PI * np.sqrt(size))  # 2 pi x may overflow
    value = near if size <= end else far
    half = exp(0.5 * size)  # in two steps: exp(|x|) overflows before the function does
    return value if scaled else (np.inf if size == np.inf else value * half * half)


FUNCTIONS: Mapping[int, Callable[..., Any]] = {
    0: lambda x, scaled, _: real(bessel(x, scaled != real(0), 0, ENDS[0], SERIES_0, EXPANSION_0)),
    1: lambda x, scaled, _: np.copysign(real(bessel(x, scaled != real(0), 1, ENDS[1], SERIES_1, EXPANSION_1)), x),
    2: lambda x, scaled, _: real(bessel(x, scaled != real(0), 2, ENDS[2], SERIES_2, EXPANSION_2)),
    3: lambda x, scaled, _: np.copysign(real(bessel(x, scaled != real(0), 3, ENDS[3], SERIES_3, EXPANSION_3)), x),
}
"""By order: i0 and i1, their derivatives, and the second ones."""
KERNELS: Mapping[int, Kernel] = {
    order: of_two_numbers(f"bessel_i{order}", function) for order, function in FUNCTIONS.items()
}


@lowers("bessel_i")
def _(work: Work) -> list[Call] | None:
    code = KERNELS.get(work.attrs["order"])
    numbers = (float(work.attrs["scaled"]), 0.0)
    return None if code is None else elementwise_calls(work, code, numbers=numbers, alone=True)
