"""Elementary functions in extended precision, the ranges they are measured on, and the errors they may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.registry import OPS
from engine.core.value import Array
from engine.ops.activation.gated import CUBIC, QUICK, TWICE_ROOT

Wide = Any
"""Arrays and numbers of NumPy's longdouble."""
TERMS, STEPS = 120, 300
"""Of the series of erf, and of the continued fraction of erfc from 1 on: as many as longdouble shows."""


@dataclass(frozen=True)
class Elementary:
    """An op that is measured.

    Attributes:
        exact: the function in extended precision.
        low, high: the range, of float32 within `low32` to 80.
        ulp64, ulp32: errors in units in the last place that compiled kernels may have.
        op: the op, unless it is called as the row.
        attrs: of the op.
        operands: how many there are; those after the first are from -30 to 30.
        low32: see above.
    """

    exact: Callable[..., Wide]
    low: float
    high: float
    ulp64: float
    ulp32: float
    op: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    operands: int = 1
    low32: float = -80.0


def _erf_series(x: Wide) -> Wide:
    term = total = x
    for n in range(1, TERMS):
        term = term * (2 * x * x) / (2 * n + 1)
        total = total + term
    return total * 2 / np.sqrt(_PI) * np.exp(-x * x)


def _erfc_fraction(x: Wide) -> Wide:
    tail = x
    for n in range(STEPS, 0, -1):
        tail = x + n / np.longdouble(2) / tail
    return np.exp(-x * x) / (tail * np.sqrt(_PI))


_PI = 4 * np.arctan(np.longdouble(1))
_ROOT_HALF = np.sqrt(np.longdouble(0.5))


def exact_erfc(x: Wide) -> Wide:
    """Return the complement of the error function."""
    size = abs(x)
    near = size < 1
    far = _erfc_fraction(np.where(near, 1, size))
    far = np.where(x < 0, 2 - far, far)
    return np.where(near, 1 - _erf_series(np.where(near, x, 0)), far)


def exact_erf(x: Wide) -> Wide:
    """Return the error function."""
    return np.where(abs(x) < 3, _erf_series(np.clip(x, -3, 3)), 1 - exact_erfc(x))


def _scaled_complement(x: Wide) -> Wide:
    far = x > 3
    safe = np.where(far, x, 3)
    return np.where(far, _erfc_fraction(safe) * np.exp(safe * safe), exact_erfc(np.where(far, 0, x)) * np.exp(x * x))


def _log_share(x: Wide) -> Wide:
    low, t = x < -1, -x * _ROOT_HALF
    scaled = _scaled_complement(np.where(low, t, 1))
    return np.where(low, np.log(scaled / 2) - t * t, np.log1p(-exact_erfc(np.where(low, 1, -t)) / 2))


def _inverse(function: Callable[[Wide], Wide], slope: Callable[[Wide], Wide], guess: str) -> Callable[[Wide], Wide]:
    """Return the inverse of a function, by Newton's method from what an op says."""

    def inverse(p: Wide) -> Wide:
        x = OPS[guess].body(p.astype(np.float64)).astype(np.longdouble)
        for _ in range(2):
            x = x - (function(x) - p) / slope(x)
        return x

    return inverse


def _trigamma(x: Wide) -> Wide:
    low = x < 0
    z = np.where(low, 1 - x, x)
    total = sum(1 / (z + k) ** 2 for k in range(40))
    top = z + 40
    total = total + 1 / top + 1 / (2 * top**2) + 1 / (6 * top**3) - 1 / (30 * top**5) + 1 / (42 * top**7)
    return np.where(low, (_PI / np.sin(_PI * (x - np.rint(x)))) ** 2 - total, total)


def _logistic(x: Wide) -> Wide:
    e = np.exp(-abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


FUNCTIONS: Mapping[str, Elementary] = {
    "exp": Elementary(np.exp, -700, 700, 2, 2),
    "exp2": Elementary(np.exp2, -1000, 1000, 2, 1),
    "expm1": Elementary(np.expm1, -40, 700, 1.5, 3),
    "log": Elementary(np.log, 0, 1e6, 1, 2),
    "log2": Elementary(np.log2, 0, 1e6, 2, 1),
    "log10": Elementary(np.log10, 0, 1e6, 2, 1),
    "log1p": Elementary(np.log1p, -0.9, 1e6, 2, 3),
    "power": Elementary(lambda x, y: x**y, 0.01, 30, 1.5, 1, operands=2),
    "sigmoid": Elementary(_logistic, -700, 40, 2.5, 3),
    "logsigmoid": Elementary(lambda x: np.minimum(x, 0) - np.log1p(np.exp(-abs(x))), -700, 40, 3, 3),
    "logit": Elementary(lambda x: np.log(x / (1 - x)), 1e-3, 0.999, 4, 4),
    "softplus": Elementary(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-abs(x))), -700, 19, 3, 4),
    "silu": Elementary(lambda x: x * _logistic(x), -700, 40, 3, 4),
    "gelu": Elementary(lambda x: x * exact_erfc(-x * np.sqrt(np.longdouble(0.5))) / 2, -36, 40, 6, 64, low32=-3),
    "gelu tanh": Elementary(
        lambda x: x * _logistic(np.longdouble(TWICE_ROOT) * (x + CUBIC * x**3)),
        -3,
        40,
        10,
        12,
        "gelu",
        {"approximate": "tanh"},
    ),
    "gelu quick": Elementary(lambda x: x * _logistic(QUICK * x), -3, 40, 7, 8, "gelu", {"approximate": "quick"}),
    "tanh": Elementary(np.tanh, -22, 22, 1.5, 3),
    "sinh": Elementary(np.sinh, -710, 710, 3, 1),
    "cosh": Elementary(np.cosh, -710, 710, 3, 1),
    "asinh": Elementary(np.arcsinh, -1e6, 1e6, 3, 1),
    "acosh": Elementary(np.arccosh, 1, 1e6, 3, 1),
    "atanh": Elementary(np.arctanh, -1, 1, 3, 1),
    "sin": Elementary(np.sin, -400_000, 400_000, 1.5, 1),
    "cos": Elementary(np.cos, -400_000, 400_000, 1.5, 1),
    "tan": Elementary(np.tan, -400_000, 400_000, 2.5, 1),
    "asin": Elementary(np.arcsin, -1, 1, 1.5, 1),
    "acos": Elementary(np.arccos, -1, 1, 1.5, 1),
    "atan": Elementary(np.arctan, -1e6, 1e6, 1.5, 1),
    "atan2": Elementary(np.arctan2, -30, 30, 2, 1, operands=2),
    "erf": Elementary(exact_erf, -6, 6, 2, 1),
    "erfc": Elementary(exact_erfc, -6, 26, 6, 1),
    "erfcx": Elementary(_scaled_complement, -26, 1e3, 4, 1),
    "erfinv": Elementary(
        _inverse(exact_erf, lambda y: 2 / np.sqrt(_PI) * np.exp(-y * y), "erfinv"), -0.9999, 0.9999, 6, 1
    ),
    "log_ndtr": Elementary(_log_share, -1e3, 8, 6, 1),
    "ndtri": Elementary(
        _inverse(lambda y: exact_erfc(-y * _ROOT_HALF) / 2, lambda y: np.exp(-y * y / 2) / np.sqrt(2 * _PI), "ndtri"),
        0,
        0.9999,
        6,
        1,
    ),
    "trigamma": Elementary(_trigamma, -30, 100, 6, 1, "polygamma", {"order": 1}),
    "cbrt": Elementary(np.cbrt, -1e9, 1e9, 1, 1),
}


def points(function: Elementary, dtype: Any, count: int) -> list[Array]:
    """Return the operands that a function is measured at: over its range, and near 0."""
    draw = np.random.default_rng(5)
    low, high = function.low, function.high
    if np.dtype(dtype) == np.float32:
        low, high = max(low, function.low32), min(high, 80.0)
    near = np.exp(draw.uniform(-25, 1, count)) * draw.choice([-1.0, 1.0], count)
    x = np.concatenate([draw.uniform(low, high, count), near[(near >= low) & (near <= high)]]).astype(dtype)
    return [x, *(draw.uniform(-30, 30, x.size).astype(dtype) for _ in range(function.operands - 1))]


def errors(function: Elementary, operands: list[Array], found: Array) -> Array:
    """Return how far results are from the exact ones, in units in the last place of these."""
    with np.errstate(all="ignore"):
        wanted = function.exact(*(x.astype(np.longdouble) for x in operands))
        rounded = abs(wanted).astype(found.dtype)
        kept = np.isfinite(rounded) & (rounded >= np.finfo(found.dtype).tiny)
        found_errors: Array = np.where(kept, abs(found - wanted) / np.spacing(rounded), 0)
    return found_errors
