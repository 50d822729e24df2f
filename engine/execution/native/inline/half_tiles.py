"""Matrices of bfloat16 as tile registers take them: numbers of the depth in pairs, which lie in a 32-bit word."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import choose
from engine.execution.native.inline.matrix_tiles import transposed
from engine.execution.native.inline.register_tiles import EDGE, compiles_tiles, multiplying
from engine.execution.native.inline.vectors import Emitter

PARTS = 1
multiply_halves = multiplying(PARTS, [(0, 0)])


@intrinsic
def pack_half_tile(
    typing_context: Any, down: Any, paired: Any, target: Any, source: Any, step: Any, rows: Any, columns: Any
) -> Any:
    """Pack a tile of an operand whose depth runs down the rows of the source, or else along them.

    Its `rows` and `columns` are at most 32 of the depth, an even number, and at most 16 of the other axis; all others
    count as zeros. Rows of the source lie `step` bytes apart. Words of the depth become rows of the tile if `paired`,
    as in the right operand, else columns.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        down, paired, *rest = arguments
        if not compiles_tiles():
            return context.get_dummy_value()
        emit = Emitter(builder, types.float32)
        choice = builder.add(builder.mul(down, emit.word(2)), paired)
        kinds = [(2 * first + second, (first, second)) for first in range(2) for second in range(2)]
        choose(builder, choice, kinds, lambda kind: _pack(emit, bool(kind[0]), bool(kind[1]), *rest))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), generate


def _pack(
    emit: Emitter, down: bool, paired: bool, target: Any, source: Any, step: Any, rows: Any, columns: Any
) -> None:
    read = [_words(emit, down, row, source, step, rows, columns) for row in range(EDGE)]
    for row, words in enumerate(read if down == paired else transposed(emit, read)):
        emit.store(words, emit.at(target, (emit.word(64), row)))


def _words(emit: Emitter, down: bool, index: int, source: Any, step: Any, rows: Any, columns: Any) -> Any:
    """Return a row of words of the source: of two of its rows, or of neighbours in one."""
    builder = emit.builder

    def inside(row: int, lanes: Any) -> Any:
        return emit.first_lanes(builder.select(builder.icmp_signed("<", emit.word(row), rows), lanes, emit.word(0)))

    if not down:
        mask = inside(index, builder.sdiv(columns, emit.word(2)))
        return emit.masked_load(emit.at(source, (step, index)), mask)
    mask = inside(2 * index, columns)
    low, high = (emit.masked_load_halves(emit.at(source, (step, 2 * index + half)), mask) for half in range(2))
    shifted = builder.shl(high, ir.Constant(high.type, [16] * emit.lanes))
    return builder.bitcast(builder.or_(low, shifted), emit.vector)
