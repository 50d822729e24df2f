"""A float32 as the sum of three bfloat16, its parts, for products by tile registers: 24 bits in threes of 8.

Of the nine products of the parts of two numbers the six largest are added up; the others are at most 2**-23 of the
product, less than a sum's rounding. Subnormal parts count as zeros, so a number below 2**-110 may lose its last bits.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import choose
from engine.execution.native.inline.register_tiles import EDGE, TILE_BYTES, compiles_tiles, multiplying
from engine.execution.native.inline.vectors import INDEX, WORD, Emitter

UPPER = 0xFFFF0000
"""The bits of a float32 that are those of a bfloat16."""
MAGNITUDE = 0x7FFFFFFF
"""The bits of a float32 without its sign: as whole numbers they are in the order of the magnitudes, NaN the largest."""
LARGEST = 0x7F7F7FFF
"""The bits of the largest float32 that rounds to a finite bfloat16."""
LOW, MIDDLE, HIGH = 0, 1, 2
"""The parts of a number in the order they are packed in."""
PARTS = 3
ORDER = ((LOW, HIGH), (MIDDLE, HIGH), (MIDDLE, MIDDLE), (HIGH, MIDDLE), (HIGH, LOW), (HIGH, HIGH))
"""The products of parts, of the left and the right operand, the largest last; each step reloads one of the two."""

multiply_split = multiplying(PARTS, ORDER)


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
