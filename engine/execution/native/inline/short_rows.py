"""Products of a vector and a matrix of short rows: a row is a few registers, the last of which is masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.vectors import Emitter

AHEAD = 2**13
"""Bytes that memory is fetched before it is read."""
WIDTHS = (1, 2, 4, 8)
"""Registers of a row that there is code for."""

Pieces = list[tuple[Any, Any]]
"""Of each register of a row: its bytes from the row's start, and the mask of the numbers that are in the row."""


@intrinsic
def short_row_products(
    typing_context: Any, a: Any, step: Any, rows: Any, count: Any, x: Any, y: Any, y_step: Any, zero: Any
) -> Any:
    """Set y = A x: at least one row of `count` numbers; steps are bytes from one row, or number of y, to the next."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, step, rows, count, x, y, y_step, _ = arguments

        def write(emit: Emitter, pieces: Pieces) -> None:
            factors = [emit.masked_load(builder.add(x, shift), mask) for shift, mask in pieces]

            def row(index: Any, _: list[Any]) -> list[Any]:
                start, total = builder.add(a, builder.mul(index, step)), emit.zeros()
                for shift, _ in pieces:  # rows of a batch are read here first: processors fetch half as fast alone
                    emit.fetch(builder.add(start, builder.add(shift, emit.word(AHEAD))))
                for (shift, mask), factor in zip(pieces, factors, strict=True):
                    total = emit.multiply_add(emit.masked_load(builder.add(start, shift), mask), factor, total)
                emit.store(emit.total(total), builder.add(y, builder.mul(index, y_step)))
                return []

            emit.loop(rows, [], row)

        _by_width(Emitter(builder, zero), count, write)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7, zero), generate


@intrinsic
def short_column_products(
    typing_context: Any, a: Any, step: Any, rows: Any, count: Any, x: Any, x_step: Any, y: Any, zero: Any
) -> Any:
    """Set y = A^T x, whose numbers are neighbours: at least one row; steps are as of `short_row_products`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, step, rows, count, x, x_step, y, _ = arguments

        def write(emit: Emitter, pieces: Pieces) -> None:
            def row(index: Any, sums: list[Any]) -> list[Any]:
                start = builder.add(a, builder.mul(index, step))
                factor = emit.repeated(emit.load(builder.add(x, builder.mul(index, x_step)), emit.number))
                return [
                    emit.multiply_add(emit.masked_load(builder.add(start, shift), mask), factor, total)
                    for (shift, mask), total in zip(pieces, sums, strict=True)
                ]

            sums = emit.loop(rows, [emit.zeros() for _ in pieces], row)
            for (shift, mask), total in zip(pieces, sums, strict=True):
                emit.masked_store(total, builder.add(y, shift), mask)

        _by_width(Emitter(builder, zero), count, write)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7, zero), generate


def _by_width(emit: Emitter, count: Any, write: Callable[[Emitter, Pieces], None]) -> None:
    """Write code for rows of each width, and run that of the least one that holds `count` numbers."""
    builder = emit.builder
    done = builder.append_basic_block("done")
    for width in WIDTHS:
        fits, larger = builder.append_basic_block("fits"), builder.append_basic_block("larger")
        builder.cbranch(builder.icmp_signed("<=", count, emit.word(width * emit.lanes)), fits, larger)
        builder.position_at_end(fits)
        firsts = [place * emit.lanes for place in range(width)]
        write(emit, [(emit.word(k * emit.size), emit.first_lanes(builder.sub(count, emit.word(k)))) for k in firsts])
        builder.branch(done)
        builder.position_at_end(larger)
    builder.branch(done)
    builder.position_at_end(done)
