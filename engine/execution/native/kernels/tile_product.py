"""Matrix products by tile registers (AMX), in blocks that stay in the caches, both operands packed as tiles.

The kernels of `split_product` and `half_product` are these blocks with packings of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.execution.native.inline.register_tiles import (
    BLOCK,
    EDGE,
    TILE_BYTES,
    configure_tiles,
    put_turned,
    release_tiles,
    step_bytes,
)
from engine.execution.native.inline.shared_loops import KEPT, LOOP, OWN
from engine.execution.native.inline.threads import load, raise_to, store
from engine.execution.native.inline.vectors import add_row, copy_row
from engine.execution.native.kernel import Kernel, inline, real
from engine.execution.native.kernels.shared_loop import loop_parts, run_rounds
from engine.execution.native.lowering import Argument, Call, Scratch

ROWS_BLOCK, COLUMNS_BLOCK = 64, 512
"""Most rows and columns of a block; of 1.5 KiB a row and column both operands stay in a second-level cache of 2 MiB."""
LEFT_LARGEST, RIGHT_LARGEST = KEPT, KEPT + 8
"""Bytes from the start of the loop's memory to the largest magnitudes of both operands."""
NUMBER, PACKED = 18, 19
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
                tile = target + (first // BLOCK * steps + k // BLOCK) * a[PACKED] + first % BLOCK // EDGE * TILE_BYTES
                place = source + k * step + first * a[NUMBER]
                largest = max(largest, pack_tile(1, paired, tile, place, step, taken, count, turned))
    else:
        for first in range(0, extent, EDGE):
            count = min(EDGE, extent - first)
            for k in range(0, depth, BLOCK):
                taken = min(BLOCK, depth - k)
                tile = target + (first // BLOCK * steps + k // BLOCK) * a[PACKED] + first % BLOCK // EDGE * TILE_BYTES
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


@inline
def _block(a: Any, number: Any) -> Any:
    """Return the first column and depth of a block of the right operand."""
    blocks = (a[4] + a[14] - 1) // a[14]
    return number // blocks * a[13], number % blocks * a[14]


def _pack_right(a: Any, number: Any) -> None:
    """Pack a block of the right operand, and note its largest magnitude."""
    tb, right, step = a[1], a[7], a[8]
    column, k = _block(a, number)
    source = right + (column * step + k * a[NUMBER] if tb else k * step + column * a[NUMBER])
    columns, depth = min(a[13], a[3] - column), min(a[14], a[4] - k)
    raise_to(a[LOOP] + RIGHT_LARGEST, pack_block(a, a[16], source, step, tb == 0, 1, columns, depth, a[17]))


def _multiply_rows(a: Any, number: Any, index: Any) -> None:
    """Pack a block of rows and multiply it by the packed block; note its largest magnitude."""
    ta, left, step, target, apart, turned = a[0], a[5], a[6], a[9], a[10], a[11]
    left_block, right_block, tiles = a[15], a[16], a[17]
    first_row = index * a[12]
    first_column, k = _block(a, number)
    rows, columns, depth = min(a[12], a[2] - first_row), min(a[13], a[3] - first_column), min(a[14], a[4] - k)
    steps = (depth + BLOCK - 1) // BLOCK
    source = left + (k * step + first_row * a[NUMBER] if ta else first_row * step + k * a[NUMBER])
    raise_to(a[LOOP] + LEFT_LARGEST, pack_block(a, left_block, source, step, ta != 0, 0, rows, depth, tiles))
    for c in range(0, columns, BLOCK):
        for r in range(0, rows, BLOCK):
            x = left_block + r // BLOCK * steps * a[PACKED]
            y = right_block + c // BLOCK * steps * a[PACKED]
            row, column = first_row + r, first_column + c
            place = target + (column * apart + row * 4 if turned else row * apart + column * 4)
            if turned or r + BLOCK > rows or c + BLOCK > columns:
                height, width = min(BLOCK, rows - r), min(BLOCK, columns - c)
                multiply_tiles(x, y, steps, tiles, 128, 0)
                _finish(place, apart, tiles, turned, height, width, k)
            else:
                multiply_tiles(x, y, steps, place, apart, k)


def tile_product(a: Any) -> None:
    """C = op(A) op(B), or its transpose.

    Words: are A and B transposed; rows and columns of the product, depth; A, B, C, each with the bytes from row to row;
    whether the transpose is written; rows, columns and depth of a block, multiples of 32; scratch for a block of A, for
    one of B and for four tiles; then the two named above.
    """
    loop, own, tiles = a[LOOP], a[OWN], a[17]
    if own:
        store(loop + LEFT_LARGEST, 0)
        store(loop + RIGHT_LARGEST, 0)
    configure_tiles(tiles)
    run_rounds(a)
    release_tiles()
    if own:
        check(a, load(loop + LEFT_LARGEST), load(loop + RIGHT_LARGEST))


PARTS_OF_ALL: Mapping[str, Callable[..., Any]] = {
    "pack_block": pack_block,
    **loop_parts(_pack_right, _multiply_rows),
}
"""Parts of the kernels, behind `pack_tile`, `multiply_tiles` and `check`, which differ."""


def tile_call(kernel: Kernel, words: Sequence[Argument], size: int, parts: int, depth: int) -> Call:
    """Return the call for a product, given the words of `product`.

    Args:
        kernel: a kernel of `tile_product`.
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
    packed = first + second + 4 * TILE_BYTES
    iterations, rounds = -(-m // blocks[0]), -(-n // blocks[1]) * -(-k // blocks[2])
    return Call(kernel, np.dtype(np.float32), made, packed, iterations=iterations, rounds=rounds)


def _even_block(extent: int, most: int) -> int:
    """Return how long blocks are, a multiple of 32, that are about equal, at most so long, and cover an extent."""
    even = -(-extent // -(-extent // most))
    return -(-even // BLOCK) * BLOCK
