"""What kernels do with addresses: views on memory, floats by their bits, calls of other kernels and of BLAS."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.kernel import linked

_INT = ir.IntType(64)


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """Return an address as a pointer to anything."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """Return the float64 that an int64 holds the bits of."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


SHIFT, SHIFT_BITS = 6755399441055744.0, 0x4338000000000000
"""1.5 * 2**52: a float64 of this size has no fraction; and its bits."""


@intrinsic
def whole_of(typing_context: Any, number: Any) -> Any:
    """Return a float64 without fraction, of a magnitude below 2**51, as an int64.

    A conversion would be made one number at a time: AVX2 has none of vectors.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shifted = builder.fadd(arguments[0], ir.Constant(ir.DoubleType(), SHIFT))
        return builder.sub(builder.bitcast(shifted, _INT), ir.Constant(_INT, SHIFT_BITS))

    return types.int64(types.float64), generate


@intrinsic
def float32_of(typing_context: Any, bits: Any) -> Any:
    """Return the float32 that an int32 holds the bits of."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def frozen(typing_context: Any, x: Any) -> Any:
    """Return a number that was read where a choice between it and another is written, see `freeze`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return freeze(builder, arguments[0])

    return x(x), generate


def freeze(builder: Any, value: Any) -> Any:
    """Return a number or vector that was read where a choice between it and another is written.

    LLVM would write only what changes, by a mask, which takes processors of AMD with AVX2 ten times as long.
    """
    instruction = ir.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)  # noqa: SLF001 # llvmlite has no method for it
    return instruction


@intrinsic
def call(typing_context: Any, function: Any, block: Any) -> Any:
    """Call the kernel at the address `function` with the block of operands at the address `block`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_INT.as_pointer()])
        builder.call(
            builder.inttoptr(arguments[0], kind.as_pointer()), [builder.inttoptr(arguments[1], _INT.as_pointer())]
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def call_with(typing_context: Any, function: Any, block: Any) -> Any:
    """Call the kernel at the address `function` with the caller's own block of operands."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_INT.as_pointer()])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])
        return context.get_dummy_value()

    return types.void(types.int64, block), generate


@linked
def size_of(dtype: Any) -> Any:
    """Return the bytes of a number."""
    return view(0, 0, dtype).itemsize


@linked
def view(address: Any, extent: Any, dtype: Any) -> Any:
    """Return the array of `extent` elements of `dtype` at an address."""
    return numba.carray(_pointer(address), (extent,), dtype)
