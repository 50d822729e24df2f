"""Products whose left operand is read where it lies: the right one is packed, some panels of columns at a time.

Where there are several panels, blocks of rows of the left operand stay in the second-level cache for all of them. By a
transposed matrix, as in linear layers, the operand with fewer rows is packed. BLAS packs both operands, which costs it
a tenth to a half of the time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.blocks import VECTORS, block_rows
from engine.execution.native.inline.matrix_tiles import far_tile, prefetch_rows, product_tile, transpose
from engine.execution.native.inline.packed_tiles import pack_rows
from engine.execution.native.inline.vectors import registers, vector_bytes
from engine.execution.native.kernel import Kernel, inline, itemsize, real
from engine.execution.native.kernels.blocked_product import AT_A_TIME, SMALL, panel_vectors
from engine.execution.native.kernels.shared_loop import loop_parts, rows_of_block, run_rounds
from engine.execution.native.lowering import Argument, Call, Scratch

DEPTH = 256
"""Number of products that are summed in registers before their sum is added to the result."""
BLOCK_DEPTH = 512
"""Depth of a block, unless the transpose is written."""
PANEL_BYTES, ROWS_BYTES = 2**19, 2**18
"""Largest panels together, or largest panel, and rows of a block: both stay in the second-level cache."""
NEAR_BYTES = 2**20
"""A larger left operand is fetched from a far cache or memory, whose rows are asked for ahead."""
READ_BYTES, READS = 2**22, 4
"""An operand of more bytes is read up to READS times; beyond that it is packed, or BLAS reads it."""
FEW_ROWS = 64
"""With 16 registers, tiles are so small that more rows are no slower by BLAS (0.91 to 1.04 of its time on AVX2)."""
LEAST = (8, 24, 32)
"""Rows, columns and depth of the smallest product; BLAS does not pack most of the smaller ones either."""


@inline
def _end_of_panels(a: Any, start: Any, lanes: Any) -> Any:
    """Return the first column behind a block of panels."""
    for _ in range(a[16]):
        if start < a[1]:
            start = min(start + panel_vectors(a[1] - start, lanes) * lanes, a[1])
    return start


def _block(a: Any, number: Any) -> Any:
    """Return the first column of the panels of a round and the one behind them, their first depth and its extent."""
    lanes, depths = a[10] // itemsize, (a[2] + a[17] - 1) // a[17]
    first, start = number % depths * a[17], 0
    for _ in range(number // depths):
        start = _end_of_panels(a, start, lanes)
    return start, _end_of_panels(a, start, lanes), first, min(a[17], a[2] - first)


def _pack_right(a: Any, number: Any) -> None:
    """Pack the panels of a round."""
    start, stop, first, depth = _block(a, number)
    some = depth if a[14] else AT_A_TIME
    for k in range(0, depth, some):
        _pack_some(a, start, stop, first, depth, k, min(some, depth - k))


def _pack_some(a: Any, column: Any, stop: Any, first: Any, depth: Any, k: Any, taken: Any) -> None:
    """Pack a part of the depth of the panels of a round; if B is transposed, all of it."""
    start, register, step = column, a[10], a[6]
    lanes = register // itemsize
    while column < stop:
        vectors = panel_vectors(a[1] - column, lanes)
        count = min(vectors * lanes, a[1] - column)
        panel = a[12] + (column - start) * depth * itemsize + k * vectors * register
        if a[14]:
            for v in range(vectors):
                source, rows = a[5] + (column + v * lanes) * step + first * itemsize, min(lanes, count - v * lanes)
                transpose(panel + v * register, vectors * register, source, step, rows, depth, real(0))
        else:
            source = a[5] + (first + k) * step + column * itemsize
            pack_rows(vectors, panel, source, step, taken, count, real(0))
        column += count


def _multiply_panel(
    a: Any, vectors: Any, count: Any, column: Any, panel: Any, row: Any, stop: Any, first: Any, depth: Any
) -> None:
    """Multiply rows of A by a panel; their number is a multiple of the lanes, unless they are the last."""
    register, held, size = a[10], a[13], vectors * a[10]
    lanes, waiting = register // itemsize, 0
    while row < stop:
        height = a[11]
        while height > min(stop - row, lanes - waiting):
            height //= 2
        target, step = a[7] + row * a[8] + column * itemsize, a[8]
        if a[9]:
            if waiting == 0:
                prefetch_rows(a[7] + column * a[8] + row * itemsize, a[8], count)
            target, step = held + waiting * size, size
        for k in range(0, depth, DEPTH):
            left, at, taken = a[3] + row * a[4] + (first + k) * itemsize, panel + k * size, min(DEPTH, depth - k)
            if a[18] and height == a[11] and vectors == VECTORS:
                far_tile(left, a[4], at, taken, target, step, count, first + k, real(0))
            else:
                product_tile(height, vectors, left, a[4], at, taken, target, step, count, first + k, real(0))
        row, waiting = row + height, waiting + height
        if waiting == lanes or row == stop:
            if a[9]:
                place = a[7] + column * a[8] + (row - waiting) * itemsize
                transpose(place, a[8], held, size, waiting, count, real(0))
            waiting = 0


def _multiply_rows(a: Any, number: Any, index: Any) -> None:
    """Multiply a block of rows by the panels of a round."""
    lanes = a[10] // itemsize
    start, stop, first, depth = _block(a, number)
    row, column = index * a[15], start
    while column < stop:
        vectors = panel_vectors(a[1] - column, lanes)
        count = min(vectors * lanes, a[1] - column)
        panel = a[12] + (column - start) * depth * itemsize
        _multiply_panel(a, vectors, count, column, panel, row, min(row + a[15], a[0]), first, depth)
        column += count


def _packed_product(a: Any) -> None:
    """C = A op(B), or its transpose.

    Words: rows and columns of the product, depth; A, the bytes from row to row; B, the bytes from row to row; C, the
    bytes from row to row, and whether the transpose is written; bytes of a register, maximum rows of a tile; scratch
    for panels and for some rows of the transpose; is B transposed; rows of a block, panels of one, and its depth, which
    is all of the depth if the transpose is written; whether A is in no near cache.
    """
    run_rounds(a)


packed_product = Kernel(
    _packed_product,
    name="packed_product",
    parts={
        "_block": _block,
        "_pack_some": _pack_some,
        "_multiply_panel": _multiply_panel,
        **loop_parts(_pack_right, _multiply_rows),
    },
)


def by_panels(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if its first operand is not transposed and it is worth it."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    size, register = dtype.itemsize, vector_bytes()
    if ta or any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True)):
        return None
    turned = bool(tb) and m < n
    if tb and registers() == 16:
        if k * VECTORS * register > PANEL_BYTES or min(m, n) > FEW_ROWS:
            return None
    elif tb:
        turned = turned and _has_near_panels(m, n, k, size)
    elif register != 64 or m * n * k <= SMALL or m * k * size > READ_BYTES:
        return None
    operands = ((m, a, lda), (n, b, ldb))
    (rows, read, apart), (columns, packed, step) = operands[::-1] if turned else operands
    found = (rows, columns, k, read, apart * size, packed, step * size, c, ldc * size, turned)
    return [packed_call(found, dtype, tb)]


def _has_near_panels(rows: int, columns: int, depth: int, size: int) -> bool:
    """Return whether panels of all the depth of `rows` stay in a cache while the other operand is read a few times."""
    wide = -(-rows * size // vector_bytes())
    panel = depth * min(wide, VECTORS) * vector_bytes()
    reads = -(-wide // (VECTORS * max(PANEL_BYTES // panel, 1)))
    return panel <= NEAR_BYTES and (columns * depth * size <= READ_BYTES or reads <= READS)


def packed_call(found: tuple[Argument, ...], dtype: np.dtype[Any], transposed: Argument) -> Call:
    """Return the call of `packed_product`, given its first ten words and whether B is transposed."""
    rows, columns, depth, turned = (found[place] for place in (0, 1, 2, 9))
    assert isinstance(rows, int) and isinstance(columns, int) and isinstance(depth, int)  # noqa: PT018
    size, register = dtype.itemsize, vector_bytes()
    block_depth = depth if turned else min(depth, BLOCK_DEPTH)
    panel = block_depth * VECTORS * register
    all_panels = -(-columns * size // (VECTORS * register))
    panels = min(max(PANEL_BYTES // panel, 1), all_panels)
    # More panels than one read the same rows: these stay in the second-level cache.
    lanes = register // size
    most = max(ROWS_BYTES // (block_depth * register), 1) * lanes if panels > 1 else rows
    held = math.prod((lanes, VECTORS, register))
    scratch = (Scratch(), Scratch(panels * panel))
    blocks = (rows_of_block(rows, most, lanes), panels, block_depth, int(rows * depth * size > NEAR_BYTES))
    words = (*found, register, block_rows()[0], *scratch, transposed, *blocks)
    iterations, rounds = -(-rows // blocks[0]), -(-all_panels // panels) * -(-depth // block_depth)
    return Call(packed_product, dtype, words, panels * panel + held, iterations=iterations, rounds=rounds)
