"""Products of rows and rows: a tile of results in registers, each the sum of products along a row of both operands."""

from __future__ import annotations

from itertools import product
from typing import Any

from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import choose
from engine.execution.native.inline.vectors import Emitter

ROWS, COLUMNS = 4, 5
"""Rows of the left operand, unless it is one, and most of the right one: 29 of 32 registers."""


@intrinsic
def dot_tile(
    typing_context: Any,
    rows: Any,
    columns: Any,
    left: Any,
    left_step: Any,
    right: Any,
    right_step: Any,
    depth: Any,
    target: Any,
    step: Any,
    ahead: Any,
    zero: Any,
) -> Any:
    """target[r, c] = sum over k < depth of left[r, k] right[c, k].

    There are ROWS `rows`, or one, and up to COLUMNS `columns`. Steps are the bytes from row to row. `depth` is at least
    that of a register. If `ahead`, the next ROWS of the left operand are fetched.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, columns, *rest, ahead, _ = arguments
        kinds = [*product((1, ROWS), range(1, COLUMNS + 1), (0, 1))]

        def number(rows: Any, columns: Any, ahead: Any) -> Any:
            return builder.add(builder.shl(builder.add(builder.shl(rows, word(3)), columns), word(1)), ahead)

        word = Emitter(builder, zero).word

        def one(kind: tuple[int, int, int]) -> None:
            _tile(Emitter(builder, zero), kind, *rest)

        choose(builder, number(rows, columns, ahead), [((k[0] * 8 + k[1]) * 2 + k[2], k) for k in kinds], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 10, zero), generate


def _tile(
    emit: Emitter,
    kind: tuple[int, int, int],
    left: Any,
    left_step: Any,
    right: Any,
    right_step: Any,
    depth: Any,
    target: Any,
    step: Any,
) -> None:
    """Write the code of a tile."""
    rows, columns, ahead = kind
    builder, register = emit.builder, emit.word(emit.lanes * emit.size)
    lefts = [emit.at(left, (left_step, r)) for r in range(rows)]
    rights = [emit.at(right, (right_step, c)) for c in range(columns)]

    def add(shift: Any, sums: list[Any], mask: Any) -> list[Any]:
        read = [emit.masked_load(builder.add(place, shift), mask) for place in lefts]
        if ahead and mask is None:
            for place in lefts:
                emit.fetch(builder.add(emit.at(place, (left_step, ROWS)), shift))
        results: list[Any] = []
        for place in rights:
            factor = emit.masked_load(builder.add(place, shift), mask)
            results += [emit.multiply_add(x, factor, sums[len(results) + r]) for r, x in enumerate(read)]
        return results

    whole = builder.sdiv(depth, emit.word(emit.lanes))
    starts = [emit.zeros() for _ in range(rows * columns)]
    sums = emit.loop(whole, starts, lambda index, sums: add(builder.mul(index, register), sums, None))
    rest = builder.sub(depth, builder.mul(whole, emit.word(emit.lanes)))
    sums = add(builder.mul(whole, register), sums, emit.first_lanes(rest))
    for (c, r), total in zip(product(range(columns), range(rows)), sums, strict=True):
        emit.store(emit.total(total), emit.at(target, (step, r), (emit.word(c), emit.size)))
