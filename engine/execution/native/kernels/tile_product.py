"""Matrix products by tile registers (AMX), in blocks that stay in the caches, both operands packed as tiles.

The kernels of `split_product` and `half_product` are these blocks with packings of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.execution.native.inline.register_tiles import (
    BLOCK,
    EDGE,
    TILE_BYTES,
    configure_tiles,
    put_turned,
    release_tiles,
    step_bytes,
)
from engine.execution.native.inline.vectors import add_row, copy_row
from engine.execution.native.kernel import inline, real
from engine.execution.native.lowering import Argument, Scratch

ROWS_BLOCK, COLUMNS_BLOCK = 64, 512
"""Most rows and columns of a block; of 1.5 KiB a row and column both operands stay in a second-level cache of 2 MiB."""
NUMBER, STEP = 18, 19
"""Words: bytes of a number, and of what is packed of 32 rows or columns and 32 of the depth."""


def pack_tile(*_: Any) -> Any:
    """Stand for the packing of a tile: see `_pack`; it returns the bits of its largest magnitude, or 0."""
    raise NotImplementedError


def multiply_tiles(*_: Any) -> None:
    """Stand for the product of packed operands: see `multiplying`."""
    raise NotImplementedError


def check(*_: Any) -> None:
    """Stand for what is done at the end, given the words and the largest magnitudes of both operands."""
    raise NotImplementedError


def pack_block(
    a: Any, target: Any, source: Any, step: Any, down: Any, paired: Any, extent: Any, depth: Any, turned: Any
) -> Any:
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
                tile = target + (first // BLOCK * steps + k // BLOCK) * a[STEP] + first % BLOCK // EDGE * TILE_BYTES
                place = source + k * step + first * a[NUMBER]
                largest = max(largest, pack_tile(1, paired, tile, place, step, taken, count, turned))
    else:
        for first in range(0, extent, EDGE):
            count = min(EDGE, extent - first)
            for k in range(0, depth, BLOCK):
                taken = min(BLOCK, depth - k)
                tile = target + (first // BLOCK * steps + k // BLOCK) * a[STEP] + first % BLOCK // EDGE * TILE_BYTES
                place = source + first * step + k * a[NUMBER]
                largest = max(largest, pack_tile(0, paired, tile, place, step, count, taken, turned))
    return largest


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


def tile_product(a: Any) -> None:
    """C = op(A) op(B), or its transpose.

    Words: are A and B transposed; rows and columns of the product, depth; A, B, C, each with the bytes from row to row;
    whether the transpose is written; rows, columns and depth of a block, multiples of 32; scratch for a block of A, for
    one of B and for four tiles; then the two named above.
    """
    ta, tb, rows, columns, depth = a[0], a[1], a[2], a[3], a[4]
    left, left_step, right, right_step, target, step, turned = a[5], a[6], a[7], a[8], a[9], a[10], a[11]
    left_block, right_block, tiles, size = a[15], a[16], a[17], a[NUMBER]
    left_largest, right_largest = 0, 0
    configure_tiles(tiles)
    for first_column in range(0, columns, a[13]):
        block_columns = min(a[13], columns - first_column)
        for k in range(0, depth, a[14]):
            block_depth = min(a[14], depth - k)
            steps = (block_depth + BLOCK - 1) // BLOCK
            source = right + (first_column * right_step + k * size if tb else k * right_step + first_column * size)
            found = pack_block(a, right_block, source, right_step, tb == 0, 1, block_columns, block_depth, tiles)
            right_largest = max(right_largest, found)
            for first_row in range(0, rows, a[12]):
                block_rows = min(a[12], rows - first_row)
                source = left + (k * left_step + first_row * size if ta else first_row * left_step + k * size)
                found = pack_block(a, left_block, source, left_step, ta != 0, 0, block_rows, block_depth, tiles)
                left_largest = max(left_largest, found)
                for c in range(0, block_columns, BLOCK):
                    for r in range(0, block_rows, BLOCK):
                        x = left_block + r // BLOCK * steps * a[STEP]
                        y = right_block + c // BLOCK * steps * a[STEP]
                        row, column = first_row + r, first_column + c
                        place = target + (column * step + row * 4 if turned else row * step + column * 4)
                        if turned or r + BLOCK > block_rows or c + BLOCK > block_columns:
                            height, width = min(BLOCK, block_rows - r), min(BLOCK, block_columns - c)
                            multiply_tiles(x, y, steps, tiles, 128, 0)
                            _finish(place, step, tiles, turned, height, width, k)
                        else:
                            multiply_tiles(x, y, steps, place, step, k)
    release_tiles()
    check(a, left_largest, right_largest)


def tile_words(words: Sequence[Argument], size: int, parts: int, depth: int) -> tuple[tuple[Argument, ...], int]:
    """Return the words of a tile product and its scratch memory in bytes, given the words of `product`.

    Args:
        words: those of `product`.
        size: bytes of a number.
        parts: how many are packed of each number.
        depth: the most of a block; twice as much where the transpose is written, once for each block of the depth.
    """
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    left, right = (a, size * lda), (b, size * ldb)
    turned = not ta and bool(tb) and m < n  # the operand with fewer rows is transposed
    if turned:
        m, n, left, right = n, m, right, left
    deeper = 2 if turned else 1
    limits = ((m, ROWS_BLOCK), (n, COLUMNS_BLOCK // deeper), (k, depth * deeper))
    blocks = [_even_block(extent, most) for extent, most in limits]
    first, second = (extent * blocks[2] // BLOCK**2 * step_bytes(parts) for extent in blocks[:2])
    scratch = (Scratch(), Scratch(first), Scratch(first + second))
    made = (ta, tb, m, n, k, *left, *right, c, 4 * ldc, turned, *blocks, *scratch, size, step_bytes(parts))
    return made, first + second + 4 * TILE_BYTES


def _even_block(extent: int, most: int) -> int:
    """Return how long blocks are, a multiple of 32, that are about equal, at most so long, and cover an extent."""
    even = -(-extent // -(-extent // most))
    return -(-even // BLOCK) * BLOCK
