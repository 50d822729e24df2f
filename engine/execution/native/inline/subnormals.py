"""Numbers too small to be normal, which processors of the x86 family are slow with, as zeros."""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

FLUSH = 0x8040
"""The bits of the control word MXCSR by which results that are not normal become 0, and operands count as 0."""
X86 = platform.machine() in ("x86_64", "AMD64")

_WORD = ir.IntType(32)


def _control(builder: Any, name: str, place: Any) -> None:
    """Call an instruction on the control word at `place`."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(function, [builder.bitcast(place, ir.IntType(8).as_pointer())])


@intrinsic
def control_word(typing_context: Any) -> Any:
    """Return how this thread rounds; 0 where there is nothing to set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not X86:
            return ir.Constant(_WORD, 0)
        place = builder.alloca(_WORD)
        _control(builder, "llvm.x86.sse.stmxcsr", place)
        return builder.load(place)

    return types.int32(), generate


@intrinsic
def set_control_word(typing_context: Any, word: Any) -> Any:
    """Set the control word of this thread to one that `control_word` returned; with `FLUSH`, subnormals are zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if X86:
            place = builder.alloca(_WORD)
            builder.store(arguments[0], place)
            _control(builder, "llvm.x86.sse.ldmxcsr", place)
        return context.get_dummy_value()

    return types.void(types.int32), generate
