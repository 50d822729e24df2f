"""Matrix products of float32 by the tile registers of AMX, whose products are of bfloat16 with sums in float32.

A float32 is the sum of three bfloat16, its parts: 24 bits in threes of 8. Of the nine products of the parts of two
numbers the six largest are added up; the others are at most 2**-23 of the product, less than a sum's rounding.
Subnormal parts count as zeros, so a number below 2**-110 may lose its last bits.

A tile has 16 rows of 64 bytes: of the left operand 16 rows and 32 of the depth, of the right one 16 pairs of the depth
and 16 columns. Packed are two tiles of each part after another, for each 32 of the depth.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once
from numba.extending import intrinsic

from engine.core.tile_registers import may_use_tiles
from engine.execution.native.inline.blocks import choose
from engine.execution.native.inline.matrix_tiles import transposed
from engine.execution.native.inline.vectors import INDEX, WORD, Emitter, vector_bytes

EDGE = 16
"""Rows and columns of a tile of the result."""
BLOCK = 2 * EDGE
"""Rows and columns of the four tiles of the result that are summed at a time, and depth of one step."""
TILE_BYTES = 1024
UPPER = 0xFFFF0000
"""The bits of a float32 that are those of a bfloat16."""
MAGNITUDE = 0x7FFFFFFF
"""The bits of a float32 without its sign: as whole numbers they are in the order of the magnitudes, NaN the largest."""
LARGEST = 0x7F7F7FFF
"""The bits of the largest float32 that rounds to a finite bfloat16."""
LOW, MIDDLE, HIGH = 0, 1, 2
"""The parts of a number in the order they are packed in."""
PARTS = 3
STEP_BYTES = PARTS * 2 * TILE_BYTES
"""What is packed of 32 rows or columns and 32 of the depth."""
ORDER = ((LOW, HIGH), (MIDDLE, HIGH), (MIDDLE, MIDDLE), (HIGH, MIDDLE), (HIGH, LOW), (HIGH, HIGH))
"""The products of parts, of the left and the right operand, the largest last; each step reloads one of the two."""

_BYTE = ir.IntType(8)
_POINTER = _BYTE.as_pointer()


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


@intrinsic
def multiply_tiles(
    typing_context: Any, left: Any, right: Any, steps: Any, target: Any, target_step: Any, resume: Any
) -> Any:
    """target[r, c] = sum over k of left[r, k] right[k, c] for 32 rows and columns, added to what is there if `resume`.

    The operands are packed, `steps` times 32 of the depth. Rows of the target lie `target_step` bytes apart.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, steps, target, target_step, resume = arguments
        if not compiles_tiles():
            return context.get_dummy_value()
        emit = Emitter(builder, types.float32)
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
                place = builder.add(emit.at(operand, (index, STEP_BYTES)), shift)
                _call(builder, "tileloadd64", [_tile(tile), builder.inttoptr(place, _POINTER), emit.word(64)])

        def add(index: Any, _: list[Any]) -> list[Any]:
            held: tuple[int | None, int | None] = (None, None)
            for parts in ORDER:
                if parts[0] != held[0]:
                    load(lefts, left, index, parts[0])
                if parts[1] != held[1]:
                    load(rights, right, index, parts[1])
                held = parts
                for tile in sums:
                    operands = [_tile(tile), _tile(lefts[tile // 2]), _tile(rights[tile % 2])]
                    _call(builder, "tdpbf16ps", operands)
            return []

        emit.loop(steps, [], add)
        for tile, place in zip(sums, places, strict=True):
            _call(builder, "tilestored64", [_tile(tile), builder.inttoptr(place, _POINTER), target_step])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


@intrinsic
def split_tile(
    typing_context: Any,
    paired: Any,
    target: Any,
    source: Any,
    step: Any,
    rows: Any,
    columns: Any,
) -> Any:
    """Pack the parts of a tile; return the bits of its largest magnitude.

    The source has `rows` and `columns`, all others count as zeros, and its rows lie `step` bytes apart. If `paired` it
    is of the right operand, at most 32 rows, along the depth, and 16 columns; else of the left one, at most 16 rows and
    32 columns. The tiles of the parts lie two tiles apart.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        paired, target, source, step, rows, columns = arguments
        if not compiles_tiles():
            return ir.Constant(WORD, 0)
        emit = Emitter(builder, types.float32)
        largest = alloca_once(builder, WORD)

        def one(kind: tuple[int, int]) -> None:
            builder.store(_split(emit, bool(kind[0]), target, source, step, rows, columns), largest)

        choose(builder, paired, [(0, (0, 0)), (1, (1, 0))], one)
        return builder.load(largest)

    return types.int64(*[types.int64] * 6), generate


def _split(emit: Emitter, paired: bool, target: Any, source: Any, step: Any, rows: Any, columns: Any) -> Any:
    builder, lanes = emit.builder, emit.lanes
    masks = [emit.first_lanes(columns), emit.first_lanes(builder.sub(columns, emit.word(lanes)))]
    bits = ir.VectorType(INDEX, lanes)
    upper, shift, magnitude = (ir.Constant(bits, [value] * lanes) for value in (UPPER, 16, MAGNITUDE))

    def row(index: Any, largest: list[Any]) -> list[Any]:
        parts, found = [], largest[0]
        for v in range(2):
            number = builder.add(index, emit.word(EDGE * v)) if paired else index
            inside = emit.spread(builder.icmp_signed("<", number, rows), ir.IntType(1))
            place = emit.at(builder.add(source, builder.mul(number, step)), (emit.word(0 if paired else 64), v))
            read = emit.masked_load(place, builder.and_(inside, masks[0 if paired else v]))
            parts.append(_parts(emit, read))
            size = builder.and_(builder.bitcast(read, bits), magnitude)
            found = builder.select(builder.icmp_unsigned(">", size, found), size, found)
        for part in range(PARTS):
            pairs = builder.or_(builder.lshr(parts[0][part], shift), builder.and_(parts[1][part], upper))
            place = builder.add(target, emit.word(2 * part * TILE_BYTES))
            emit.store(builder.bitcast(pairs, emit.vector), emit.at(place, (index, 64)))
        return [found]

    (largest,) = emit.loop(emit.word(EDGE), [ir.Constant(bits, [0] * lanes)], row)
    name = f"llvm.vector.reduce.umax.v{lanes}i32"
    reduce = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(INDEX, [bits]), name)
    return builder.zext(builder.call(reduce, [largest]), WORD)


def _parts(emit: Emitter, number: Any) -> list[Any]:
    """Return the bits of numbers whose upper halves are the parts of numbers."""
    builder = emit.builder
    bits = ir.VectorType(INDEX, emit.lanes)

    def constant(value: int) -> Any:
        return ir.Constant(bits, [value] * emit.lanes)

    def nearest(value: Any) -> Any:
        """Round to the 8 bits of a bfloat16."""
        rounded = builder.add(builder.bitcast(value, bits), constant(0x8000))
        return builder.and_(rounded, constant(UPPER))

    high = nearest(number)
    rest = builder.fsub(number, builder.bitcast(high, emit.vector))
    middle = nearest(rest)
    low = builder.fsub(rest, builder.bitcast(middle, emit.vector))
    return [builder.bitcast(low, bits), middle, high]


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
