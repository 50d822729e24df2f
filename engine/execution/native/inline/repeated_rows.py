"""Broadcast operands written out into a buffer, for rows that fit a register: one loop goes over many rows then."""

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
    """Return the address of a buffer on the stack for a block, and for what `repeat_rows` writes behind it."""

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
    """Write rows of at most a register's numbers contiguously to `target`.

    Row r is read from `source` + r * `step`: its numbers, or one number for the whole row where `apart` is 0. Whole
    registers are stored: each row overwrites the excess of the row before, and the last one is followed by up to a
    register of excess.
    """
    count = 1 if apart == 0 else length
    for r in range(rows):
        _write_register(target + r * length * itemsize, source + r * step, count, real(0))
