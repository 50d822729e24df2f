"""Tiles of a matrix product whose operands are both packed: rows of the left one in blocks of a register's lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import VECTORS, choose, with_products
from engine.execution.native.inline.vectors import Emitter, vector_bytes

ROWS = 8
"""Rows of a tile: with three registers a row and what is multiplied they take 28 of 32 registers."""


@intrinsic
def packed_tile(
    typing_context: Any,
    vectors: Any,
    left: Any,
    panel: Any,
    depth: Any,
    target: Any,
    step: Any,
    rows: Any,
    count: Any,
    resume: Any,
    zero: Any,
) -> Any:
    """target[r, c] = sum over k < depth of left[k, r] panel[k, c], added to what is there if `resume`.

    For each k there is one register of `left`, of which the first 8 lanes are read, and `vectors` registers, 1 to 3,
    of the panel. Of the target the first `rows` rows, at most 8, and `count` columns are written; its rows lie `step`
    bytes apart. `depth` is at least 1.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        choice, *rest = arguments

        def one(kind: tuple[int, int]) -> None:
            _tile(Emitter(builder, zero), kind[1], *rest[:-1])

        choose(builder, choice, [(vectors, (ROWS, vectors)) for vectors in range(1, VECTORS + 1)], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9, zero), generate


def _tile(
    emit: Emitter,
    vectors: int,
    left: Any,
    panel: Any,
    depth: Any,
    target: Any,
    step: Any,
    rows: Any,
    count: Any,
    resume: Any,
) -> None:
    builder = emit.builder
    columns = [emit.first_lanes(builder.sub(count, emit.word(v * emit.lanes))) for v in range(vectors)]
    places = []
    for row in range(ROWS):
        inside = emit.spread(builder.icmp_signed("<", emit.word(row), rows), ir.IntType(1))
        for v in range(vectors):
            place = emit.at(target, (step, row), (emit.word(vector_bytes()), v))
            emit.prefetch(place)
            places.append((place, builder.and_(columns[v], inside)))

    def add(index: Any, sums: list[Any]) -> list[Any]:
        place = emit.at(panel, (index, vectors * vector_bytes()))
        factors = emit.at(left, (index, vector_bytes()))
        numbers = [emit.load(emit.at(place, (emit.word(vector_bytes()), v)), emit.vector) for v in range(vectors)]
        read = [emit.at(factors, (emit.word(emit.size), row)) for row in range(ROWS)]
        return with_products(emit, read, numbers, sums)

    sums = emit.loop(depth, [emit.zeros() for _ in places], add)
    again = builder.icmp_signed("!=", resume, emit.word(0))
    with builder.if_else(again) as (then, otherwise):
        with then:
            for value, (place, mask) in zip(sums, places, strict=True):
                emit.masked_store(builder.fadd(value, emit.masked_load(place, mask)), place, mask)
        with otherwise:
            for value, (place, mask) in zip(sums, places, strict=True):
                emit.masked_store(value, place, mask)


@intrinsic
def pack_rows(
    typing_context: Any, vectors: Any, target: Any, source: Any, step: Any, rows: Any, count: Any, zero: Any
) -> Any:
    """Copy `count` numbers of each of `rows` rows, `step` bytes apart, to rows of `vectors` registers, 1 to 3.

    Numbers behind the first `count` are set to 0. There is at least one row. Of pairs of bfloat16 (see Emitter) each
    row is made of two: a word has the number of the first one in its lower half.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        choice, target, source, step, rows, count, _ = arguments
        emit = Emitter(builder, zero)

        def one(kind: tuple[int, int]) -> None:
            masks = emit.masks_of_row(count, kind[1])
            half_step = builder.sdiv(step, emit.word(2))

            def row(index: Any, _: list[Any]) -> list[Any]:
                read = builder.add(source, builder.mul(index, step))
                written = emit.at(target, (index, kind[1] * vector_bytes()))
                for v, mask in enumerate(masks):
                    read_at = builder.add(read, emit.word(v * emit.lanes * (2 if emit.pairs else emit.size)))
                    number = _paired(emit, read_at, half_step, mask) if emit.pairs else emit.masked_load(read_at, mask)
                    emit.store(number, builder.add(written, emit.word(v * vector_bytes())))
                return []

            emit.loop(rows, [], row)

        choose(builder, choice, [(vectors, (1, vectors)) for vectors in range(1, VECTORS + 1)], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6, zero), generate


def _paired(emit: Emitter, first: Any, step: Any, mask: Any) -> Any:
    """Return words with the numbers of a row in their lower halves, of that `step` bytes behind in the upper ones."""
    builder = emit.builder
    low, high = (emit.masked_load_halves(place, mask) for place in (first, builder.add(first, step)))
    shifted = builder.shl(high, ir.Constant(high.type, [16] * emit.lanes))
    return builder.bitcast(builder.or_(low, shifted), emit.vector)
