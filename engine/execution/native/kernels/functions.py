"""Elementary functions of one and two numbers, beside the arithmetic of `elementwise`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import expm1, log, log1p, log1p_of_share
from engine.execution.native.kernel import FLOATS, Kernel, inline_exact, real
from engine.execution.native.kernels.activations import of_two_numbers
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.elementwise import WHOLE, binary, elementwise, elementwise_calls, unary
from engine.execution.native.kernels.integers import DIVISIONS, clamp_calls, division
from engine.execution.native.lowering import Call, Lowering, Work, lowers


def _sign(x: Any) -> Any:
    # NaN and 0 are what they are.
    return real(1) if x > real(0) else (real(-1) if x < real(0) else x + real(0))


def _logsigmoid(x: Any) -> Any:
    return (real(0) if x >= real(0) else x) - log1p_of_share(exp(-abs(x)))


def _logit(x: Any) -> Any:
    # Near 1/2 the quotient is near 1, and only its distance from 1 is exact.
    complement = real(1) - x
    near = abs(x - real(0.5)) < real(0.2)
    return log1p((x + x - real(1)) / complement) if near else log(x / complement)


def _logaddexp(x: Any, y: Any) -> Any:
    # Where both are one infinity their difference is NaN.
    top = x if x >= y or x != x else y
    gap = real(0) if x == y else abs(x - y)
    return top + log1p_of_share(exp(-gap))


def _times_log(x: Any, y: Any) -> Any:
    return real(0) if x == real(0) and y == y else x * log(y)


def _times_log1p(x: Any, y: Any) -> Any:
    return real(0) if x == real(0) and y == y else x * log1p(y)


@inline_exact
def quotient(x: Any, y: Any) -> Any:
    """Return x / y, rounded once: its whole part may not be that of x times 1 / y."""
    return x / y


def _remainder(x: Any, y: Any) -> Any:
    # As in NumPy the result has the sign of the divisor, and is NaN where that is 0.
    rest = np.fmod(x, y)
    if rest == real(0):
        return np.copysign(real(0), y)
    return rest + y if (y < real(0)) != (rest < real(0)) else rest


def _floor_divided(x: Any, y: Any) -> Any:
    if y == real(0):
        return quotient(x, y)
    rest = np.fmod(x, y)
    whole = quotient(x - rest, y)
    if rest != real(0) and (y < real(0)) != (rest < real(0)):
        whole -= real(1)
    if whole == real(0):
        return np.copysign(real(0), quotient(x, y))
    down = np.floor(whole)
    return down + real(1) if whole - down > real(0.5) else down


UNARY: Mapping[str, Callable[[Any], Any]] = {
    "ceil": lambda x: np.ceil(x),
    "expm1": lambda x: expm1(x),
    "floor": lambda x: np.floor(x),
    "log": lambda x: log(x),
    "log1p": lambda x: log1p(x),
    "logit": _logit,
    "logsigmoid": _logsigmoid,
    "sign": _sign,
    "step": lambda x: real(1) if x > real(0) else real(0),
    "trunc": lambda x: np.trunc(x),
}

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "clamp_max": lambda x, high: high if x > high or high != high else x,
    "clamp_min": lambda x, low: low if x < low or low != low else x,
    "floor_divide": _floor_divided,
    "fmax": lambda x, y: x if x >= y or y != y else y,
    "fmin": lambda x, y: x if x <= y or y != y else y,
    "fmod": lambda x, y: np.fmod(x, y),
    "logaddexp": _logaddexp,
    "remainder": _remainder,
    "trunc_divide": lambda x, y: np.trunc(quotient(x, y)),
    "xlog1py": _times_log1p,
    "xlogy": _times_log,
}

UNARY_KERNELS = {op: Kernel(unary, name=op, parts={"apply": function}) for op, function in UNARY.items()}
BINARY_KERNELS = {op: Kernel(binary, name=op, parts={"apply": function}) for op, function in BINARY.items()}


def _clamped(x: Any, low: Any, high: Any) -> Any:
    # A comparison with NaN is false.
    x = low if x < low else x
    return high if x > high else x


def _multiple(x: Any, factor: Any, divisor: Any) -> Any:
    # One of both is 1.
    return quotient(np.rint(quotient(x * factor, divisor)), factor) * divisor


CLAMP = of_two_numbers("clamp", _clamped)
ROUND = Kernel(unary, name="round", parts={"apply": lambda x: np.rint(x)})
ROUND_TO = of_two_numbers("round_to", _multiple)
DECIMALS = 22
"""The greatest exponent of a power of ten that float64 has."""
NUMBERED = of_two_numbers("numbered", lambda x, number, _: x if x == x else number)
FINITE = of_two_numbers(
    "finite", lambda x, high, low: high if x == real(np.inf) else (low if x == real(-np.inf) else x)
)
SCALE = of_two_numbers("scale", lambda x, factor, bias: x * factor + bias)
THRESHOLD = of_two_numbers("threshold", lambda x, t, value: value if x <= t else x)


@lowers("clamp")
def _(work: Work) -> list[Call] | None:
    low, high = work.attrs["min"], work.attrs["max"]
    if work.outputs[0].dtype in WHOLE:
        return clamp_calls(work, low, high)
    limits = (-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return elementwise_calls(work, CLAMP, numbers=limits)


@lowers("round")
def _(work: Work) -> list[Call] | None:
    decimals = work.attrs["decimals"]
    if decimals == 0:
        return elementwise_calls(work, ROUND)
    if abs(decimals) > DECIMALS:
        return None
    return elementwise_calls(work, ROUND_TO, numbers=(10.0 ** max(decimals, 0), 10.0 ** max(-decimals, 0)))


@lowers("nan_to_num")
def _(work: Work) -> list[Call] | None:
    (x,), (out,), attrs = work.inputs, work.outputs, work.attrs
    if not is_float(x.dtype):
        return copied(x, out)
    if not math.isfinite(attrs["nan"]):
        return None
    largest = float(np.nextafter(x.dtype.type(np.inf), x.dtype.type(0)))
    high, low = attrs["posinf"], attrs["neginf"]
    limits = (largest if high is None else float(high), -largest if low is None else float(low))
    return joined_calls(
        elementwise_calls(work, NUMBERED, numbers=(float(attrs["nan"]), 0.0)),
        elementwise_calls(replace(work, inputs=[out]), FINITE, numbers=limits),
    )


@lowers("bitcast")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    return copied(x.view(out.dtype), out)


@lowers("scale")
def _(work: Work) -> list[Call] | None:
    return elementwise_calls(work, SCALE, numbers=(float(work.attrs["factor"]), float(work.attrs["bias"])))


@lowers("threshold")
def _(work: Work) -> list[Call] | None:
    return elementwise_calls(work, THRESHOLD, numbers=(float(work.attrs["threshold"]), float(work.attrs["value"])))


for _op in UNARY:
    lowers(_op)(elementwise(UNARY_KERNELS, _op))
for _op in BINARY:
    lowers(_op)(elementwise(BINARY_KERNELS, _op))


@lowers("logit")
def _(work: Work) -> list[Call] | None:
    (out,), eps = work.outputs, work.attrs.get("eps")
    if eps is not None and out.dtype not in FLOATS:  # what is limited is not rounded to a half type
        return None
    calls = elementwise_calls(work if eps is None else replace(work, inputs=[out]), UNARY_KERNELS["logit"], alone=True)
    limited = [] if eps is None else elementwise_calls(work, CLAMP, numbers=(eps, 1 - eps))
    return joined_calls(limited, calls)


def _division(op: str) -> Lowering:
    """Return the lowering of a division with a remainder, of floating numbers or integers."""
    of_floats, of_integers = elementwise(BINARY_KERNELS, op), division(op)
    return lambda work: of_floats(work) if work.outputs[0].dtype in FLOATS else of_integers(work)


for _op in DIVISIONS:
    lowers(_op)(_division(_op))
