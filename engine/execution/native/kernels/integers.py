"""Integers beside the arithmetic of `elementwise`: division with a remainder, limits, bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import BOOL
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.comparing import deciding
from engine.execution.native.kernels.elementwise import (
    FIRST,
    OUT,
    SECOND,
    THIRD,
    WHOLE,
    apply,
    binary,
    elementwise,
    operands,
    unary,
)
from engine.execution.native.lowering import Call, Lowering, Status, Work, lowers
from engine.ops.elementwise.elementwise import integers_within

LIMITS = SECOND
"""Where the words of `limited` hold the smallest and the largest number."""
ZERO = THIRD
"""Where those of `divided` hold the address of the word that is set at a divisor of 0."""


def limited(a: Any) -> None:
    """Limit numbers to a range. Words: as of `unary`, then the smallest and the largest."""
    low, high = real(a[LIMITS]), real(a[LIMITS + 1])
    for i in range(a[0]):
        for j in range(a[1]):
            for k in range(a[2]):
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + k * a[OUT + 3]
                x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + k * a[FIRST + 3]
                for e in range(a[3]):
                    value = view(x + e * a[FIRST + 4], 1, real)[0]
                    value = low if value < low else value
                    view(out + e * a[OUT + 4], 1, real)[0] = high if value > high else value


def divided(a: Any) -> None:
    """Apply a function of a number and a divisor. Words: as of `binary`, then where to say that a divisor is 0."""
    for i in range(a[0]):
        for j in range(a[1]):
            for k in range(a[2]):
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + k * a[OUT + 3]
                x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + k * a[FIRST + 3]
                y = a[SECOND] + i * a[SECOND + 1] + j * a[SECOND + 2] + k * a[SECOND + 3]
                for e in range(a[3]):
                    value, divisor = view(x + e * a[FIRST + 4], 1, real)[0], view(y + e * a[SECOND + 4], 1, real)[0]
                    if divisor == real(0):
                        view(a[ZERO], 1, np.int64)[0] = 1
                        divisor = real(1)
                    view(out + e * a[OUT + 4], 1, real)[0] = apply(value, divisor)


def _floor_divided(x: Any, y: Any) -> Any:
    # The processor refuses to divide the lowest number by -1; its negative is itself.
    return real(-x) if y == real(-1) else real(x // y)


def _remainder(x: Any, y: Any) -> Any:
    return real(0) if y == real(-1) else real(x - x // y * y)


def _truncated(x: Any, y: Any) -> Any:
    if y == real(-1):
        return real(-x)
    down = x // y
    return real(down + 1) if down * y != x and (x < real(0)) != (y < real(0)) else real(down)


def _truncated_remainder(x: Any, y: Any) -> Any:
    if y == real(-1):
        return real(0)
    rest = x - x // y * y
    return real(rest - y) if rest != real(0) and (x < real(0)) != (y < real(0)) else real(rest)


def _shifted_left(x: Any, y: Any) -> Any:
    return real(x << y) if real(0) <= y < real(8 * itemsize) else real(0)


def _shifted_right(x: Any, y: Any) -> Any:
    return real(x >> (y if real(0) <= y < real(8 * itemsize) else real(8 * itemsize - 1)))


DIVISIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "floor_divide": _floor_divided,
    "fmod": _truncated_remainder,
    "remainder": _remainder,
    "trunc_divide": _truncated,
}

BITS: Mapping[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_left_shift": _shifted_left,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_right_shift": _shifted_right,
    "bitwise_xor": lambda x, y: x ^ y,
}

CLAMP = Kernel(limited, WHOLE, name="clamp_integers")
DIVIDING = {op: Kernel(divided, WHOLE, name=op, parts={"apply": function}) for op, function in DIVISIONS.items()}
BIT_KERNELS = {op: Kernel(binary, WHOLE, name=op, parts={"apply": function}) for op, function in BITS.items()}
NOT = {"bitwise_not": Kernel(unary, WHOLE, name="bitwise_not", parts={"apply": lambda x: ~x})}


def clamp_calls(work: Work, low: float | None, high: float | None) -> list[Call] | None:
    """Return the calls that limit int64 or int32 to the integers within bounds."""
    words, dtype = operands(work), work.outputs[0].dtype
    if words is None or work.inputs[0].dtype != dtype:
        return None
    limits, (least, most) = np.iinfo(dtype), integers_within(low, high, dtype)
    least, most = int(limits.min) if least is None else least, int(limits.max) if most is None else most
    return [Call(CLAMP, dtype, (*words, least, most), elementwise=True)]


def division(op: str) -> Callable[[Work], list[Call] | None]:
    """Return the lowering of a division with a remainder of int64 or int32, which refuses divisors of 0."""

    def lower(work: Work) -> list[Call] | None:
        dtype = work.outputs[0].dtype
        if dtype not in WHOLE or any(array.dtype != dtype for array in work.inputs):
            return None
        words = operands(work)
        return None if words is None else [Call(DIVIDING[op], dtype, (*words, Status()))]

    return lower


ON_TRUTHS: Mapping[str, str] = {
    "bitwise_and": "logical_and",
    "bitwise_not": "logical_not",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
}
"""What ops on bits are on bool."""


def _on_bits(op: str) -> Lowering:
    """Return the lowering of an op on the bits of integers, or on bool."""
    of_integers = elementwise(NOT if op in NOT else BIT_KERNELS, op, WHOLE)
    of_truths = deciding(ON_TRUTHS[op]) if op in ON_TRUTHS else of_integers
    return lambda work: of_truths(work) if work.outputs[0].dtype == BOOL else of_integers(work)


for _op in (*BITS, *NOT):
    lowers(_op)(_on_bits(_op))
