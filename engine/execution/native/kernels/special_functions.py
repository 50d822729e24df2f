"""The error function, powers, and terms of losses that are made of logarithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.error_function import erfc_of
from engine.execution.native.inline.logarithm import log, log1p
from engine.execution.native.inline.powers import magnitude_of_power
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.elementwise import binary, elementwise, unary
from engine.execution.native.lowering import lowers
from engine.ops.loss.loss import LOG_FLOOR


def _power(x: Any, y: Any) -> Any:
    # Of float32 in float64, whose digits the product of exponent and logarithm needs. An exponent from 2^53 on is even.
    base, exponent = np.float64(x), np.float64(y)
    value = magnitude_of_power(abs(base), exponent) if itemsize == 8 else exp(exponent * log(abs(base)))
    whole = np.floor(exponent) == exponent
    odd = whole & (np.floor(exponent * 0.5) * 2.0 != exponent)
    negative = np.copysign(1.0, base) < 0.0
    value = -value if negative & odd else value
    value = np.nan if (base < 0.0) & (abs(base) < np.inf) & (not whole) else value
    one = (exponent == 0.0) | (base == 1.0) | ((base == -1.0) & (abs(exponent) == np.inf))
    return real(1.0 if one else value)


def _bce_terms(p: Any, target: Any) -> Any:
    yes, no = log(p), log1p(-p)
    yes = real(LOG_FLOOR) if yes < real(LOG_FLOOR) else yes
    no = real(LOG_FLOOR) if no < real(LOG_FLOOR) else no
    return -((yes - no) * target + no)


def _entr(x: Any) -> Any:
    value = real(0) if x == real(0) else -x * log(abs(x))
    return real(-np.inf) if x < real(0) else value


UNARY: Mapping[str, Callable[[Any], Any]] = {
    "entr": _entr,
    "erf": lambda x: real(erfc_of(np.float64(x), 0.0, False)),
    "erfc": lambda x: real(erfc_of(np.float64(x), 0.0, True)),
    "one_minus_square": lambda x: (real(1) - x) * (real(1) + x),
}
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "bce_terms": _bce_terms,
    "copysign": lambda x, y: np.copysign(x, y),
    "power": _power,
}
UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}
BINARY_KERNELS = {op: Kernel(binary, name=op, parts={"apply": function}) for op, function in BINARY.items()}

for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op))
for _op in BINARY:
    lowers(_op)(elementwise(BINARY_KERNELS, _op))
