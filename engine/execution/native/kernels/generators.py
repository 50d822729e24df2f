"""Normal and exponential numbers and integers: by the functions of NumPy's generators, on the stream of a key.

The bits are those of engine.ops.random on every machine, whatever method this NumPy has.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.core.dtypes import INT64
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.streams import INCREMENT_HIGH, INCREMENT_LOW, started
from engine.execution.native.kernel import FLOATS, inline, inline_exact, kernel, kernel_of, real
from engine.execution.native.lowering import Argument, Call, Scratch, Work, lowers

STATE, GENERATOR = 32, 64
"""Where in scratch memory the generator's state and its functions begin, behind the 128-bit numbers of PCG64."""
SIZE = 128
FUNCTIONS = {
    "normal float32": "random_standard_normal_fill_f",
    "normal float64": "random_standard_normal_fill",
    "exponential float32": "random_standard_exponential_fill_f",
    "exponential float64": "random_standard_exponential_fill",
    "integers": "random_bounded_uint64_fill",
}
"""What fills arrays, in the library of NumPy's generators."""
MORE = 9
"""Where the words of a kernel that are its own begin."""
_WORD = ir.IntType(64)


@intrinsic
def fill(typing_context: Any, function: Any, generator: Any, count: Any, out: Any) -> Any:
    """Call a function that fills an array: a generator, how many numbers, where they go."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 3)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


@intrinsic
def fill_bounded(typing_context: Any, function: Any, generator: Any, low: Any, span: Any, count: Any, out: Any) -> Any:
    """Call random_bounded_uint64_fill for integers from low to low + span, without masks, as NumPy's generators do."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, generator, low, span, count, out = arguments
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 4 + [ir.IntType(8), _WORD])
        masked = ir.Constant(ir.IntType(8), 0)
        builder.call(builder.inttoptr(function, kind.as_pointer()), [generator, low, span, count, masked, out])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


@inline
def generator_of(a: Any) -> Any:
    """Make a generator at the start of a key's stream in scratch memory, and return its address.

    Words: key and its stride; how many results, contiguous; out; scratch memory; the function that draws; the three of
    PCG64 DXSM, for 64 bits, 32 bits and a fraction.
    """
    high, low = started(view(a[0], 1, np.uint64)[0], view(a[0] + a[1], 1, np.uint64)[0])
    numbers = view(a[4], 4, np.uint64)
    numbers[0], numbers[1] = low, high
    numbers[2], numbers[3] = np.uint64(INCREMENT_LOW), np.uint64(INCREMENT_HIGH)
    state = view(a[4] + STATE, 2, np.int64)
    state[0], state[1] = a[4], 0  # no half of a number is left over
    generator = view(a[4] + GENERATOR, 5, np.int64)
    generator[0] = a[4] + STATE
    generator[1], generator[2], generator[3], generator[4] = a[6], a[7], a[8], a[6]
    return a[4] + GENERATOR


@inline_exact
def move(out: Any, std: Any, mean: Any) -> None:
    """Scale and shift numbers, each operation rounded as NumPy's."""
    for i in range(out.size):
        out[i] = out[i] * std + mean


@inline_exact
def divide(out: Any, rate: Any, least: Any) -> None:
    """Divide numbers, each rounded as NumPy's, and limit them from below."""
    for i in range(out.size):
        value = out[i] / rate
        out[i] = value if value > least else least


@kernel
def normal(a: Any) -> None:
    """Words as of `generator_of`; are the numbers moved, by what factor, and how far."""
    fill(a[5], generator_of(a), a[2], a[3])
    if a[MORE]:
        move(view(a[3], a[2], real), real(float_of(a[MORE + 1])), real(float_of(a[MORE + 2])))


@kernel
def exponential(a: Any) -> None:
    """Words as of `generator_of`; the rate; the smallest result."""
    fill(a[5], generator_of(a), a[2], a[3])
    divide(view(a[3], a[2], real), real(float_of(a[MORE])), real(float_of(a[MORE + 1])))


@kernel_of(np.int64)
def integers(a: Any) -> None:
    """Words as of `generator_of`; the smallest integer, and how far the largest lies above it."""
    fill_bounded(a[5], generator_of(a), a[MORE], a[MORE + 1], a[2], a[3])


@cache
def _numpy_functions() -> tuple[dict[str, int], tuple[int, ...]] | None:
    """Return what fills arrays, and what draws 64 bits, 32 bits and a fraction."""
    import numpy.random._generator as module

    library = ctypes.CDLL(module.__file__)
    bits = np.random.PCG64DXSM(0).ctypes
    try:
        found = {name: _address(getattr(library, function)) for name, function in FUNCTIONS.items()}
    except AttributeError:
        return None
    return found, tuple(_address(function) for function in (bits.next_uint64, bits.next_uint32, bits.next_double))


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _words(work: Work, name: str) -> tuple[Argument, ...] | None:
    """Return the words of `generator_of`; None where NumPy has no such function, or the result is not row-major."""
    (key,), (out,), functions = work.inputs, work.outputs, _numpy_functions()
    if functions is None or not out.flags.c_contiguous:
        return None
    found, drawn = functions
    return (key, key.strides[0], out.size, out, Scratch(), found[name], *drawn)


@lowers("random_normal")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    words = _words(work, f"normal {out.dtype.name}") if out.dtype in FLOATS else None
    mean, std = float(work.attrs["mean"]), float(work.attrs["std"])
    moved = (mean, std) != (0.0, 1.0)
    return None if words is None else [Call(normal, out.dtype, (*words, moved, std, mean), SIZE)]


@lowers("exponential")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    words = _words(work, f"exponential {out.dtype.name}") if out.dtype in FLOATS else None
    if words is None:
        return None
    least = float(np.finfo(out.dtype).tiny)
    return [Call(exponential, out.dtype, (*words, float(work.attrs["rate"]), least), SIZE)]


@lowers("random_integers")
def _(work: Work) -> list[Call] | None:
    (out,) = work.outputs
    words = _words(work, "integers") if out.dtype == INT64 else None
    low, high = work.attrs["low"], work.attrs["high"]
    if words is None or high - low > 2**63:  # a word is an int64
        return None
    return [Call(integers, INT64, (*words, low, high - 1 - low), SIZE)]
