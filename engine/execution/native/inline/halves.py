"""Half types by their bits, 16-bit integers, to float32 and back; rounded to the nearest, ties to even."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.logarithm import bits_of
from engine.execution.native.inline.pointers import float32_of
from engine.execution.native.inline.vectors import BFloat
from engine.execution.native.kernel import inline

_BITS, _HALF, _SINGLE = ir.IntType(16), ir.HalfType(), ir.FloatType()


@intrinsic
def of_float16(typing_context: Any, bits: Any) -> Any:
    """Return the float16 of these bits as a float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], _HALF), _SINGLE)

    return types.float32(types.uint16), generate


@intrinsic
def float16_of(typing_context: Any, x: Any) -> Any:
    """Return the bits of a float32 as a float16."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], _HALF), _BITS)

    return types.uint16(types.float32), generate


@inline
def of_bfloat16(bits: Any) -> Any:
    """Return the bfloat16 of these bits as a float32."""
    return float32_of(np.int32(np.uint32(bits) << np.uint32(16)))


@inline
def nearest_bfloat16(x: Any) -> Any:
    """Return the bits of a float32 as a bfloat16, for NaN of arithmetic or of bfloat16 that were widened."""
    bits = np.uint32(bits_of(x))
    return np.uint16((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))


@inline
def bfloat16_of(x: Any) -> Any:
    """Return the bits of a float32 as a bfloat16; NaN stays NaN."""
    bits = np.uint32(bits_of(x))
    rounded = np.uint32(bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.uint16(rounded) if x == x else np.uint16((bits >> np.uint32(16)) | np.uint32(0x40))


@intrinsic
def rounded_bfloat16(typing_context: Any, x: Any) -> Any:
    """Return the bits of a float32 as a bfloat16 by the instruction of AVX-512 BF16, for which subnormals are zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], BFloat()), _BITS)

    return types.uint16(types.float32), generate
