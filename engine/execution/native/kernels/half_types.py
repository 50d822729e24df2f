"""Elementwise kernels on half types, by their bits: operands are widened, and the result is rounded once.

So nothing of float32 is stored, and a step in a half type moves half the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import types

from engine.execution.native.code_folder import compile_kept
from engine.execution.native.inline.halves import float16_of, nearest_bfloat16, of_bfloat16, of_float16
from engine.execution.native.inline.logarithm import bits_of
from engine.execution.native.inline.pointers import float32_of
from engine.execution.native.kernel import BITS, Kernel


def function(*_: Any) -> Any:
    """Stand for the function of float32 that is applied to half types."""
    raise NotImplementedError


def widened(_: Any) -> Any:
    """Stand for a half as float32."""
    raise NotImplementedError


def narrowed(_: Any) -> Any:
    """Stand for the bits of a float32 as a half."""
    raise NotImplementedError


APPLICATIONS: Mapping[int, Callable[..., Any]] = {
    1: lambda x: narrowed(function(widened(x))),
    2: lambda x, y: narrowed(function(widened(x), widened(y))),
    3: lambda x, p, q: narrowed(function(widened(x), p, q)),
    4: lambda x, y, p, q: narrowed(function(widened(x), widened(y), p, q)),
}
"""By what a function takes: one operand or two, and two numbers that are the same for all."""
DECISIONS: Mapping[int, Callable[..., Any]] = {
    1: lambda x: function(widened(x)),
    2: lambda x, y: function(widened(x), widened(y)),
}
"""Of functions whose result is true or false."""

WIDENING: Mapping[str, Callable[[Any], Any]] = {
    "float16": lambda bits: of_float16(bits),
    "bfloat16": lambda bits: of_bfloat16(bits),
}
NARROWING: Mapping[str, Callable[[Any], Any]] = {
    "float16": lambda x: float16_of(x),
    "bfloat16": lambda x: nearest_bfloat16(x),
}
"""Loops with the instruction of AVX-512 BF16 in the place of this are not vectorised as a whole: 0.17 for 0.06 ns."""

OF_BITS: Mapping[str, Callable[[Any], Any]] = {
    "abs": lambda x: x & np.uint16(0x7FFF),
    "copy": lambda x: x,
    "neg": lambda x: x ^ np.uint16(0x8000),
}
SELECTIONS: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{(op, half): function for op, function in OF_BITS.items() for half in WIDENING},
    ("relu", "bfloat16"): lambda x: np.uint16(0) if (x == 0) | ((x >= 0x8000) & (x <= 0xFF80)) else x,
    ("relu", "float16"): lambda x: np.uint16(0) if (x == 0) | ((x >= 0x8000) & (x <= 0xFC00)) else x,
    ("relu_backward", "bfloat16"): lambda g, y: np.uint16(0) if (y == 0) | ((y >= 0x8000) & (y <= 0xFF80)) else g,
    ("relu_backward", "float16"): lambda g, y: np.uint16(0) if (y == 0) | ((y >= 0x8000) & (y <= 0xFC00)) else g,
}
"""Ops that move, set or read the sign, on bits: nothing is widened. Behind the negative infinity are only NaN."""


@cache
def half_kernel(code: Kernel, half: str, *, decides: bool = False) -> Kernel | None:
    """Return the kernel that does with a half type what an elementwise one does with float32.

    None for kernels that are more than a loop over `apply`. The result of one that decides is true or false.
    """
    declare_rounding()
    name = f"{code.name}_{half}"
    if (code.name, half) in SELECTIONS:
        return Kernel(code.body, (BITS,), name=name, parts={"apply": SELECTIONS[code.name, half]})
    applied, *others = code.parts
    if applied != "apply":
        return None
    parts = {
        "function": code.parts["apply"],
        "widened": WIDENING[half],
        "narrowed": NARROWING[half],
        **{other: code.parts[other] for other in others},
        "apply": (DECISIONS if decides else APPLICATIONS)[code.parts["apply"].__code__.co_argcount],
    }
    return Kernel(code.body, (BITS,), name=name, parts=parts, of_float32=("function", *others))


def _nearest_float16(x: Any) -> Any:
    """Round a float64 to a float16, returned as the lower bits of a float32, where the caller finds them."""
    single = np.float32(x)
    bits = bits_of(single)
    # To odd where it is not exact: only numbers that were in the middle of two float16 stay there.
    if np.float64(single) != x and bits & 1 == 0:
        bits += np.int32(-1 if abs(single) > abs(x) else 1)
    return float32_of(np.int32(float16_of(float32_of(np.int32(bits)))))


@cache
def declare_rounding() -> Any:
    """Tell the linker how to round a float64 to a float16, for which processors have no instruction.

    LLVM may join two roundings, or round the sign of a `copysign` by itself, and would end the process without this.
    """
    code = compile_kept(
        lambda kept: numba.cfunc(types.float32(types.float64), cache=kept, error_model="numpy")(_nearest_float16)
    )
    llvmlite.binding.add_symbol("__truncdfhf2", code.address)
    return code
