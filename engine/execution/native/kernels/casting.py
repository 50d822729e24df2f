"""From one element type to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from engine.core.dtypes import BFLOAT16, BOOL, DType
from engine.execution.native.inline.halves import bfloat16_of, float16_of, rounded_bfloat16
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.vectors import multiplies_pairs
from engine.execution.native.kernel import BITS, FLOATS, Kernel, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, is_across, operands
from engine.execution.native.kernels.half_types import WIDENING, narrowed, widened
from engine.execution.native.kernels.transposing import transposing
from engine.execution.native.lowering import Call, Work, is_half, lowers, raw


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
    "widened": lambda x: real(widened(x)),
    "narrowed": lambda x: narrowed(x),
    "rounded": lambda x: widened(narrowed(x)),
}
"""What is done with a number; the last three are of a half type."""

NARROWING: Mapping[str, Callable[[Any], Any]] = {
    "float16": lambda x: float16_of(x),
    "bfloat16": lambda x: bfloat16_of(x),
}
BY_INSTRUCTION: Mapping[str, Callable[[Any], Any]] = {"bfloat16": lambda x: rounded_bfloat16(x)}
"""Roundings on machines with AVX-512 BF16, in half the time; elsewhere the instruction would be a library's call."""


@cache
def converting(conversion: str, found: str, half: str = "") -> Kernel:
    """Return the kernel of a conversion from the type that kernels read, to the one they are compiled for."""
    parts: dict[str, Callable[..., Any]] = {"source": SOURCES[found]}
    if half:
        narrowing = {**NARROWING, **BY_INSTRUCTION} if multiplies_pairs() else NARROWING
        parts.update(widened=WIDENING[half], narrowed=narrowing[half])
    name = "_".join(filter(None, (conversion, half, "from", found)))
    return Kernel(convert, name=name, parts={**parts, "apply": CONVERSIONS[conversion]})


for _source in SOURCES:
    converting("cast", _source)  # others are declared when a plan has them


def _conversion(found: DType, wanted: DType) -> Kernel | None:
    """Return the kernel that takes one type to another; None where there is none."""
    if is_half(wanted):
        return converting("narrowed", found.name, wanted.name) if found == FLOATS[0] else None
    if is_half(found):
        return converting("widened", BITS.name, found.name) if wanted in FLOATS else None
    if found.name not in (*NUMBERS, "bool", "uint8"):
        return None
    source = "uint8" if found == BOOL else found.name
    if wanted == BOOL:
        return converting("truth", source)
    return converting("cast", source) if wanted.name in NUMBERS else None


@lowers("cast")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    conversion = _conversion(x.dtype, out.dtype)
    if conversion is None:
        return None
    source, made = raw(x), raw(out)
    words = operands(Work([source], [made], work.attrs))
    if words is None:
        return None
    call = Call(conversion, made.dtype, words, elementwise=True)
    halves = (x.dtype is BFLOAT16 or out.dtype is BFLOAT16) and FLOATS[0] in (x.dtype, out.dtype)
    return (transposing(source, made) if halves and is_across(call) else None) or [call]


@lowers("round_through")
def _(work: Work) -> list[Call] | None:
    (x,), (out,), through = work.inputs, work.outputs, work.attrs["through"]
    words = operands(work)
    if words is None or not (is_half(through) and x.dtype == out.dtype == FLOATS[0]):
        return None
    return [Call(converting("rounded", x.dtype.name, through.name), out.dtype, words, elementwise=True)]
