"""From one element type to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.core.dtypes import BOOL, DType
from engine.core.value import Array
from engine.execution.native.inline.halves import bfloat16_of, float16_of, of_bfloat16, of_float16
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.vectors import _BFloat, multiplies_pairs
from engine.execution.native.kernel import FLOATS, Kernel, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, operands
from engine.execution.native.lowering import Call, Work, is_half, lowers


def convert(a: Any) -> None:
    """Convert numbers; words as of `unary`."""
    rows, n = a[2], a[3]
    out_step, x_step, out_apart, x_apart = a[OUT + 3], a[FIRST + 3], a[OUT + 4], a[FIRST + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            for _ in range(rows):
                xs, ys = source(x, n), view(out, n, real)
                if out_apart == ys.itemsize and x_apart == xs.itemsize:
                    for e in range(ys.size):
                        ys[e] = apply(xs[e])
                else:
                    for e in range(n):
                        view(out + e * out_apart, 1, real)[0] = apply(source(x + e * x_apart, 1)[0])
                out, x = out + out_step, x + x_step


def source(*_: Any) -> Any:
    """Stand for the view on what is converted."""
    raise NotImplementedError


def apply(*_: Any) -> Any:
    """Stand for the conversion of a number."""
    raise NotImplementedError


@intrinsic
def rounded_bfloat16(typing_context: Any, x: Any) -> Any:
    """Return the bits of a float32 as a bfloat16 by the instruction of AVX-512 BF16, for which subnormals are zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], _BFloat()), ir.IntType(16))

    return types.uint16(types.float32), generate


SOURCES: Mapping[str, Callable[[Any, Any], Any]] = {
    "uint8": lambda address, n: view(address, n, np.uint8),
    "uint16": lambda address, n: view(address, n, np.uint16),
    "int32": lambda address, n: view(address, n, np.int32),
    "int64": lambda address, n: view(address, n, np.int64),
    "float32": lambda address, n: view(address, n, np.float32),
    "float64": lambda address, n: view(address, n, np.float64),
}
NUMBERS = ("int32", "int64", "float32", "float64")
CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "cast": lambda x: real(x),
    "truth": lambda x: real(1) if x != 0 else real(0),
    "cast_of_float16": lambda x: real(of_float16(x)),
    "cast_of_bfloat16": lambda x: real(of_bfloat16(x)),
    "float16": lambda x: float16_of(x),
    "bfloat16": lambda x: bfloat16_of(x),
    "through_float16": lambda x: of_float16(float16_of(x)),
    "through_bfloat16": lambda x: of_bfloat16(bfloat16_of(x)),
}
BY_INSTRUCTION: Mapping[str, Callable[[Any], Any]] = {
    "bfloat16": lambda x: rounded_bfloat16(x),
    "through_bfloat16": lambda x: of_bfloat16(rounded_bfloat16(x)),
}
"""Conversions on machines with AVX-512 BF16, in half the time; elsewhere the instruction would be a library's call."""


@cache
def converting(conversion: str, found: str) -> Kernel:
    """Return the kernel of a conversion from the type that kernels read, to the one they are compiled for."""
    conversions = {**CONVERSIONS, **BY_INSTRUCTION} if multiplies_pairs() else CONVERSIONS
    parts: dict[str, Callable[..., Any]] = {"source": SOURCES[found], "apply": conversions[conversion]}
    return Kernel(convert, name=f"{conversion}_from_{found}", parts=parts)


for _source in SOURCES:
    converting("cast", _source)  # others are declared when a plan has them


def raw(x: Array) -> Array:
    """Return bool as bytes and half types as their bits, and other arrays as they are."""
    if x.dtype == BOOL:
        return x.view(np.uint8)
    return x.view(np.uint16) if is_half(x.dtype) else x


def _conversion(found: DType, wanted: DType) -> str | None:
    """Return what conversion takes one type to another; None where no kernel does."""
    if is_half(wanted):
        return wanted.name if found == FLOATS[0] else None
    if is_half(found):
        return f"cast_of_{found.name}" if wanted in FLOATS else None
    if found.name not in (*NUMBERS, "bool", "uint8"):
        return None
    if wanted == BOOL:
        return "truth"
    return "cast" if wanted.name in NUMBERS else None


@lowers("cast")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    conversion = _conversion(x.dtype, out.dtype)
    if conversion is None:
        return None
    given, made = raw(x), raw(out)
    words, code = operands(Work([given], [made], work.attrs)), converting(conversion, given.dtype.name)
    return None if words is None else [Call(code, made.dtype, words, elementwise=True)]


@lowers("round_through")
def _(work: Work) -> list[Call] | None:
    (x,), (out,), through = work.inputs, work.outputs, work.attrs["through"]
    words = operands(work)
    if words is None or not (is_half(through) and x.dtype == out.dtype == FLOATS[0]):
        return None
    return [Call(converting(f"through_{through.name}", x.dtype.name), out.dtype, words, elementwise=True)]
