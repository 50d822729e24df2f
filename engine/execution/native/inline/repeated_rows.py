"""Rows that fit a register, side by side: what an operand repeats is written out, and one loop goes over a block."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once
from numba.extending import intrinsic

from engine.execution.native.inline.vectors import INDEX, WORD, Emitter, vector_bytes
from engine.execution.native.kernel import inline

BLOCK = 512
"""Numbers of a block, at most."""


@intrinsic
def block_of_rows(typing_context: Any, zero: Any) -> Any:
    """Return the address of memory of the caller for a block, and for what `repeat_rows` writes behind it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = BLOCK * Emitter(builder, zero).size + vector_bytes()
        return builder.ptrtoint(alloca_once(builder, ir.IntType(8), INDEX(size)), WORD)

    return types.int64(zero), generate


@intrinsic
def _write_register(typing_context: Any, target: Any, source: Any, count: Any, zero: Any) -> Any:
    """Write a whole register that begins with `count` numbers from `source`; with 1 it is full of that number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, count, _ = arguments
        emit = Emitter(builder, zero)
        read = emit.masked_load(source, emit.first_lanes(count))
        first = emit.repeated(builder.extract_element(read, INDEX(0)))
        emit.store(builder.select(builder.icmp_signed("==", count, emit.word(1)), first, read), target)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, zero), generate


@inline
def repeat_rows(
    target: Any, source: Any, step: Any, apart: Any, rows: Any, length: Any, itemsize: Any, real: Any
) -> None:
    """Write rows that each fit one register one behind another: what begins at `source` and at every `step` bytes.

    That is a row, or where `apart` is 0 one number for a whole row. Registers are written whole: each row over what is
    too much of the one before, and the last one up to a register beyond its beginning.
    """
    count = 1 if apart == 0 else length
    for r in range(rows):
        _write_register(target + r * length * itemsize, source + r * step, count, real(0))
