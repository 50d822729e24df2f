"""Normal random numbers: the functions that NumPy's generators call, by their addresses, on the stream of a key.

The bits are those of engine.ops.random.random on every machine, whatever method this NumPy has.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.streams import INCREMENT_HIGH, INCREMENT_LOW, started
from engine.execution.native.kernel import FLOATS, inline_exact, kernel, real
from engine.execution.native.lowering import Call, Scratch, Work, lowers

STATE, GENERATOR = 32, 64
"""Where in scratch memory the generator's state and its functions begin, behind the 128-bit numbers of PCG64."""
SIZE = 128
_WORD = ir.IntType(64)


@intrinsic
def fill_normal(typing_context: Any, function: Any, generator: Any, count: Any, out: Any) -> Any:
    """Call NumPy's random_standard_normal_fill: a generator, how many numbers, where they go."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 3)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


@inline_exact
def move(out: Any, std: Any, mean: Any) -> None:
    """Scale and shift numbers, each operation rounded as NumPy's."""
    for i in range(out.size):
        out[i] = out[i] * std + mean


@kernel
def normal(a: Any) -> None:
    """Words: key and its stride; how many results, contiguous; out; the function that draws; the three of PCG64 DXSM;
    are the numbers moved, by what factor, and how far; scratch for the generator.
    """
    high, low = started(view(a[0], 1, np.uint64)[0], view(a[0] + a[1], 1, np.uint64)[0])
    numbers = view(a[11], 4, np.uint64)
    numbers[0], numbers[1] = low, high
    numbers[2], numbers[3] = np.uint64(INCREMENT_LOW), np.uint64(INCREMENT_HIGH)
    state = view(a[11] + STATE, 2, np.int64)
    state[0], state[1] = a[11], 0  # no half of a number is left over
    generator = view(a[11] + GENERATOR, 5, np.int64)
    generator[0] = a[11] + STATE
    generator[1], generator[2], generator[3], generator[4] = a[5], a[6], a[7], a[5]
    fill_normal(a[4], a[11] + GENERATOR, a[2], a[3])
    if a[8]:
        move(view(a[3], a[2], real), real(float_of(a[9])), real(float_of(a[10])))


@cache
def _numpy_functions() -> tuple[dict[str, int], tuple[int, int, int]] | None:
    """Return, by dtype, what fills an array with normal numbers, and what draws 64 bits, 32 bits and a fraction."""
    import numpy.random._generator as module

    library = ctypes.CDLL(module.__file__)
    bits = np.random.PCG64DXSM(0).ctypes
    try:
        fill = {"float32": library.random_standard_normal_fill_f, "float64": library.random_standard_normal_fill}
    except AttributeError:
        return None
    drawn = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (bits.next_uint64, bits.next_uint32, bits.next_double)]
    return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in fill.items()}, (
        drawn[0],
        drawn[1],
        drawn[2],
    )


@lowers("random_normal")
def _(work: Work) -> list[Call] | None:
    (key,), (out,), functions = work.inputs, work.outputs, _numpy_functions()
    if functions is None or out.dtype not in FLOATS or not out.flags.c_contiguous:
        return None
    fill, drawn = functions
    mean, std = float(work.attrs["mean"]), float(work.attrs["std"])
    words = (key, key.strides[0], out.size, out, fill[out.dtype.name], *drawn, (mean, std) != (0.0, 1.0), std, mean)
    return [Call(normal, out.dtype, (*words, Scratch()), SIZE)]
