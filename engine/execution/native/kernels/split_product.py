"""Products of float32 by tile registers (AMX), in blocks that stay in the caches, both operands packed in parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.products import gemm
from engine.execution.native.inline.split_tiles import (
    BLOCK,
    EDGE,
    LARGEST,
    STEP_BYTES,
    TILE_BYTES,
    configure_tiles,
    has_tiles,
    multiply_tiles,
    put_turned,
    release_tiles,
    split_tile,
)
from engine.execution.native.inline.vectors import add_row, copy_row
from engine.execution.native.kernel import inline, kernel_of, real
from engine.execution.native.kernels.blocked_product import SMALL
from engine.execution.native.lowering import Argument, Call, Scratch

ROWS_BLOCK, COLUMNS_BLOCK, DEPTH = 128, 512, 128
"""Rows, columns and depth of a block, of 6 bytes a number: those of both operands stay in the second-level cache."""
LEAST = (64, 64, 32)
"""Fewest rows, columns and depth; packing takes as long as multiplying where there are fewer."""
LARGEST_WASTE = 1.25
"""Largest ratio of what whole tiles compute to what there is."""


@inline
def _pack(target: Any, source: Any, step: Any, down: Any, paired: Any, extent: Any, depth: Any, turned: Any) -> Any:
    """Pack a block of an operand; return the bits of its largest magnitude.

    The block has `extent` rows of the left operand, or columns of the right one if `paired`, and `depth`. If `down`,
    the depth runs from row to row of the source, which lie `step` bytes apart. `turned` is scratch for a tile.
    """
    largest = 0
    steps = (depth + BLOCK - 1) // BLOCK
    # Along the rows of the source, so that what follows in memory is fetched ahead.
    if down:
        for k in range(0, depth, BLOCK):
            taken = min(BLOCK, depth - k)
            for first in range(0, extent, EDGE):
                count = min(EDGE, extent - first)
                tile = target + (first // BLOCK * steps + k // BLOCK) * STEP_BYTES + first % BLOCK // EDGE * TILE_BYTES
                place = source + k * step + first * 4
                if paired:
                    largest = max(largest, split_tile(1, tile, place, step, taken, count))
                else:
                    transpose(turned, 128, place, step, min(taken, EDGE), count, real(0))
                    if taken > EDGE:
                        transpose(turned + 64, 128, place + EDGE * step, step, taken - EDGE, count, real(0))
                    largest = max(largest, split_tile(0, tile, turned, 128, count, taken))
    else:
        for first in range(0, extent, EDGE):
            count = min(EDGE, extent - first)
            for k in range(0, depth, BLOCK):
                taken = min(BLOCK, depth - k)
                tile = target + (first // BLOCK * steps + k // BLOCK) * STEP_BYTES + first % BLOCK // EDGE * TILE_BYTES
                place = source + first * step + k * 4
                if paired:
                    transpose(turned, 64, place, step, count, taken, real(0))
                    largest = max(largest, split_tile(1, tile, turned, 64, taken, count))
                else:
                    largest = max(largest, split_tile(0, tile, place, step, count, taken))
    return largest


@inline
def _may_overflow(left: Any, right: Any, depth: Any) -> Any:
    """Return whether a sum of products may be infinite, or of parts that are, by the bits of the largest magnitudes."""
    if left > LARGEST or right > LARGEST:
        return True
    # A number with the exponent e, which counts from -127, is less than 2**(e - 126).
    power = (left >> 23) + (right >> 23) - 252
    while depth > 0:
        power += 1
        depth >>= 1
    return power > 127


@inline
def _finish(target: Any, step: Any, tiles: Any, turned: Any, rows: Any, columns: Any, resume: Any) -> None:
    """Put four tiles of a result in their place, of which it has `rows` and `columns`, or their transpose."""
    if turned:
        for r in range(0, rows, EDGE):
            for c in range(0, columns, EDGE):
                place, source = target + c * step + r * 4, tiles + r * 128 + c * 4
                put_turned(place, step, source, min(EDGE, rows - r), min(EDGE, columns - c), resume)
    else:
        for r in range(rows):
            if resume:
                add_row(target + r * step, tiles + r * 128, columns, real(0))
            else:
                copy_row(target + r * step, tiles + r * 128, columns, real(0))


@inline
def _multiply_plainly(
    ta: Any,
    tb: Any,
    rows: Any,
    columns: Any,
    depth: Any,
    left: Any,
    left_step: Any,
    right: Any,
    right_step: Any,
    target: Any,
    step: Any,
    turned: Any,
) -> None:
    """Multiply by BLAS: parts of large numbers would be infinite with either sign, whose sum is not a number."""
    if turned:
        gemm(
            tb == 0, ta == 0, columns, rows, depth, real(1), right, right_step // 4, left, left_step // 4, real(0),
            target, step // 4,
        )  # fmt: skip
    else:
        gemm(
            ta, tb, rows, columns, depth, real(1), left, left_step // 4, right, right_step // 4, real(0), target,
            step // 4,
        )  # fmt: skip


@kernel_of(np.float32)
def split_product(a: Any) -> None:
    """C = op(A) op(B), or its transpose.

    Words: are A and B transposed; rows and columns of the product, depth; A, B, C, each with the bytes from row to row;
    whether the transpose is written; rows, columns and depth of a block, multiples of 32; scratch for a block of A, for
    one of B and for four tiles.
    """
    ta, tb, rows, columns, depth = a[0], a[1], a[2], a[3], a[4]
    left, left_step, right, right_step, target, step, turned = a[5], a[6], a[7], a[8], a[9], a[10], a[11]
    left_block, right_block, tiles = a[15], a[16], a[17]
    left_largest, right_largest = 0, 0
    configure_tiles(tiles)
    for first_column in range(0, columns, a[13]):
        block_columns = min(a[13], columns - first_column)
        for k in range(0, depth, a[14]):
            block_depth = min(a[14], depth - k)
            steps = (block_depth + BLOCK - 1) // BLOCK
            source = right + (first_column * right_step + k * 4 if tb else k * right_step + first_column * 4)
            found = _pack(right_block, source, right_step, tb == 0, 1, block_columns, block_depth, tiles)
            right_largest = max(right_largest, found)
            for first_row in range(0, rows, a[12]):
                block_rows = min(a[12], rows - first_row)
                source = left + (k * left_step + first_row * 4 if ta else first_row * left_step + k * 4)
                found = _pack(left_block, source, left_step, ta != 0, 0, block_rows, block_depth, tiles)
                left_largest = max(left_largest, found)
                for c in range(0, block_columns, BLOCK):
                    for r in range(0, block_rows, BLOCK):
                        x = left_block + r // BLOCK * steps * STEP_BYTES
                        y = right_block + c // BLOCK * steps * STEP_BYTES
                        row, column = first_row + r, first_column + c
                        place = target + (column * step + row * 4 if turned else row * step + column * 4)
                        if turned or r + BLOCK > block_rows or c + BLOCK > block_columns:
                            height, width = min(BLOCK, block_rows - r), min(BLOCK, block_columns - c)
                            multiply_tiles(x, y, steps, tiles, 128, 0)
                            _finish(place, step, tiles, turned, height, width, k)
                        else:
                            multiply_tiles(x, y, steps, place, step, k)
    release_tiles()
    if _may_overflow(left_largest, right_largest, depth):
        _multiply_plainly(ta, tb, rows, columns, depth, left, left_step, right, right_step, target, step, turned)


def by_parts(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if this machine has tile registers and it is worth it."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    whole = math.prod(-(-extent // BLOCK) * BLOCK for extent in (m, n, k))
    few = any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True)) or m * n * k <= SMALL
    if dtype != np.float32 or few or whole > LARGEST_WASTE * m * n * k or not has_tiles():
        return None
    left, right = (a, 4 * lda), (b, 4 * ldb)
    turned = not ta and tb and m < n  # the operand with fewer rows is transposed
    if turned:
        m, n, left, right = n, m, right, left
    limits = ((m, ROWS_BLOCK), (n, COLUMNS_BLOCK), (k, DEPTH))
    rows, columns, depth = (_even_block(extent, most) for extent, most in limits)
    first, second = (extent * depth // BLOCK**2 * STEP_BYTES for extent in (rows, columns))
    words = (ta, tb, m, n, k, *left, *right, c, 4 * ldc, turned, rows, columns, depth)
    scratch = (Scratch(), Scratch(first), Scratch(first + second))
    return [Call(split_product, dtype, (*words, *scratch), first + second + 4 * TILE_BYTES)]


def _even_block(extent: int, most: int) -> int:
    """Return how long blocks are, a multiple of 32, that are about equal, at most so long, and cover an extent."""
    even = -(-extent // -(-extent // most))
    return -(-even // BLOCK) * BLOCK
