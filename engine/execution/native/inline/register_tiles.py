"""Products by the tile registers of AMX, of bfloat16 with sums in float32: what all kernels that use them share.

A tile has 16 rows of 64 bytes: of the left operand 16 rows and 32 of the depth, of the right one 16 pairs of the depth
and 16 columns. Packed are, for each 32 of the depth, two tiles of each part of the numbers, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.core.tile_registers import may_use_tiles
from engine.execution.native.inline.matrix_tiles import transposed
from engine.execution.native.inline.vectors import WORD, Emitter, vector_bytes

EDGE = 16
"""Rows and columns of a tile of the result."""
BLOCK = 2 * EDGE
"""Rows and columns of the four tiles of the result that are summed at a time, and depth of one step."""
TILE_BYTES = 1024
_BYTE = ir.IntType(8)
_POINTER = _BYTE.as_pointer()


def step_bytes(parts: int) -> int:
    """Return the packed bytes of 32 rows or columns and 32 of the depth, of numbers with this many parts."""
    return parts * 2 * TILE_BYTES


@cache
def has_tiles() -> bool:
    """Return whether kernels of this process may use tile registers."""
    return compiles_tiles() and may_use_tiles()


def compiles_tiles() -> bool:
    """Return whether kernels are compiled for tile registers; without them what is here compiles to nothing."""
    return vector_bytes() == 64 and "+amx-bf16" in (numba.config.CPU_FEATURES or "")


@intrinsic
def configure_tiles(typing_context: Any, place: Any) -> Any:
    """Give all eight tiles 16 rows of 64 bytes, by 64 bytes of memory at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (place,) = arguments
        if not compiles_tiles():
            return context.get_dummy_value()
        # Palette 1; from byte 16 the bytes of a row of each tile, from byte 48 its rows.
        words = [1, 0, *[64 * 0x0001_0001_0001_0001] * 2, 0, 0, EDGE * 0x0101_0101_0101_0101, 0]
        for index, word in enumerate(words):
            target = builder.inttoptr(builder.add(place, ir.Constant(WORD, 8 * index)), WORD.as_pointer())
            builder.store(ir.Constant(WORD, word), target).align = 8
        _call(builder, "ldtilecfg", [builder.inttoptr(place, _POINTER)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def release_tiles(typing_context: Any) -> Any:
    """Forget what tiles hold, so that the system need not keep it for this thread."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if compiles_tiles():
            _call(builder, "tilerelease", [])
        return context.get_dummy_value()

    return types.void(), generate


def multiplying(parts: int, order: Sequence[tuple[int, int]]) -> Any:
    """Return the function of kernels that multiplies packed operands, whose numbers are sums of parts.

    Args:
        parts: how many a number has.
        order: which parts of the left and the right operand are multiplied, in turn.
    """

    @intrinsic
    def multiply_tiles(
        typing_context: Any, left: Any, right: Any, steps: Any, target: Any, target_step: Any, resume: Any
    ) -> Any:
        """target[r, c] = sum over k of left[r, k] right[k, c] for 32 rows and columns, added to what is there if asked.

        The operands are packed, `steps` times 32 of the depth. Rows of the target lie `target_step` bytes apart; what
        they hold is added to if `resume`.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if compiles_tiles():
                _multiply(Emitter(builder, types.float32), parts, order, *arguments)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return multiply_tiles


def _multiply(
    emit: Emitter,
    parts: int,
    order: Sequence[tuple[int, int]],
    left: Any,
    right: Any,
    steps: Any,
    target: Any,
    target_step: Any,
    resume: Any,
) -> None:
    builder = emit.builder
    sums, lefts, rights = (0, 1, 2, 3), (4, 5), (6, 7)
    places = [
        emit.at(target, (target_step, EDGE * row), (emit.word(4), EDGE * column))
        for row in range(2)
        for column in range(2)
    ]
    with builder.if_else(builder.icmp_signed("!=", resume, emit.word(0))) as (then, otherwise):
        with then:
            for tile, place in zip(sums, places, strict=True):
                _call(builder, "tileloadd64", [_tile(tile), builder.inttoptr(place, _POINTER), target_step])
        with otherwise:
            for tile in sums:
                _call(builder, "tilezero", [_tile(tile)])

    def load(tiles: tuple[int, int], operand: Any, index: Any, part: int) -> None:
        for half, tile in enumerate(tiles):
            shift = emit.word((2 * part + half) * TILE_BYTES)
            place = builder.add(emit.at(operand, (index, step_bytes(parts))), shift)
            _call(builder, "tileloadd64", [_tile(tile), builder.inttoptr(place, _POINTER), emit.word(64)])

    def add(index: Any, _: list[Any]) -> list[Any]:
        held: tuple[int | None, int | None] = (None, None)
        for taken in order:
            if taken[0] != held[0]:
                load(lefts, left, index, taken[0])
            if taken[1] != held[1]:
                load(rights, right, index, taken[1])
            held = taken
            for tile in sums:
                operands = [_tile(tile), _tile(lefts[tile // 2]), _tile(rights[tile % 2])]
                _call(builder, "tdpbf16ps", operands)
        return []

    emit.loop(steps, [], add)
    for tile, place in zip(sums, places, strict=True):
        _call(builder, "tilestored64", [_tile(tile), builder.inttoptr(place, _POINTER), target_step])


@intrinsic
def put_turned(
    typing_context: Any, target: Any, target_step: Any, source: Any, rows: Any, columns: Any, resume: Any
) -> Any:
    """target[c, r] = source[r, c], added to what is there if `resume`, for 1 to 16 `rows` and `columns`.

    Rows of the target lie `target_step` bytes apart, those of the source 128; of it 16 rows and columns are read.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, target_step, source, rows, columns, resume = arguments
        if not compiles_tiles():
            return context.get_dummy_value()
        emit = Emitter(builder, types.float32)
        read = [emit.load(builder.add(source, emit.word(128 * row)), emit.vector) for row in range(EDGE)]
        mask = emit.first_lanes(rows)
        again = emit.spread(builder.icmp_signed("!=", resume, emit.word(0)), ir.IntType(1))
        for column, vector in enumerate(transposed(emit, read)):
            inside = emit.spread(builder.icmp_signed("<", emit.word(column), columns), ir.IntType(1))
            kept = builder.and_(mask, inside)
            place = emit.at(target, (target_step, column))
            held = emit.masked_load(place, builder.and_(kept, again))
            emit.masked_store(builder.fadd(vector, held), place, kept)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


def _tile(number: int) -> Any:
    return ir.Constant(_BYTE, number)


def _call(builder: Any, instruction: str, operands: list[Any]) -> None:
    """Call an instruction on tiles."""
    name = f"llvm.x86.{instruction}"
    kind = ir.FunctionType(ir.VoidType(), [operand.type for operand in operands])
    builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), operands)
