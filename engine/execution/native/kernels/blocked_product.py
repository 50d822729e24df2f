"""Products by blocks that stay in the caches, both operands packed (Goto and van de Geijn 2008).

They are those for the gradients of weights, whose left operand is transposed. On a Zen 4 core they take 0.7 to 0.97 of
the time of BLAS, least where few rows of a batch make a large gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.blocks import VECTORS
from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.packed_tiles import ROWS, pack_rows, packed_tile
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import Kernel, inline, itemsize, real
from engine.execution.native.kernels.shared_loop import loop_parts, rows_of_block, run_rounds
from engine.execution.native.lowering import Argument, Call, Scratch

ROWS_BLOCK, PANELS, DEPTH = 256, 11, 128
"""Rows, panels of columns and depth of a block: a panel stays in the first-level cache, blocks in the second-level one.

A panel takes 24 KiB, and what the tiles of 16 rows read of the left operand 8 KiB.
"""
LEAST = (32, 32, 8)
"""Fewest rows, columns and depth."""
SMALL = 10**6
"""Products of no more multiplications are left to BLAS, which packs nothing for them: 0.65 to 0.9 of the time."""
RESULT_BYTES, DEEPEST = 2**21, 256
"""A larger result is of one block of depth, or left to BLAS: it is in no near cache when the next one is added."""
AT_A_TIME = 16
"""Rows that are packed along all panels: the next line of each is fetched ahead, and their pages stay in the TLB."""


@inline
def panel_vectors(columns: Any, lanes: Any) -> Any:
    """Return how many registers of columns go into the next panel: 4 as two of 2, which take less time than 3 and 1."""
    left = (columns + lanes - 1) // lanes
    return 2 if left == 4 else min(left, VECTORS)


@inline
def _block(a: Any, number: Any) -> Any:
    """Return the first column and depth of a block of B, and its extents."""
    blocks = (a[3] + a[12] - 1) // a[12]
    column, k = number // blocks * a[11], number % blocks * a[12]
    return column, k, min(a[11], a[2] - column), min(a[12], a[3] - k)


def _pack_right(a: Any, number: Any) -> None:
    """Pack a block of B, panel by panel."""
    right, step, right_block, register, size = a[6], a[7], a[14], a[15], a[16]
    lanes = register // itemsize
    first_column, k, columns, depth = _block(a, number)
    for start in range(0, depth, AT_A_TIME):
        taken = min(AT_A_TIME, depth - start)
        source = right + (k + start) * step + first_column * size
        c = 0
        while c < columns:
            vectors = panel_vectors(columns - c, lanes)
            count = min(vectors * lanes, columns - c)
            panel = right_block + c * depth * itemsize + start * vectors * register
            pack_rows(vectors, panel, source + c * size, step, taken, count, real(0))
            c += count


def _pack_left(a: Any, row: Any, rows: Any, k: Any, depth: Any) -> None:
    """Pack some rows of op(A)."""
    left, step, left_block, register, size = a[4], a[5], a[13], a[15], a[16]
    lanes = register // itemsize
    if a[0]:
        for start in range(0, depth, AT_A_TIME):
            taken = min(AT_A_TIME, depth - start)
            source = left + (k + start) * step + row * size
            for r in range(0, rows, lanes):
                packed = left_block + r * depth * itemsize + start * register
                pack_rows(1, packed, source + r * size, step, taken, min(lanes, rows - r), real(0))
    else:
        for r in range(0, rows, lanes):
            source = left + (row + r) * step + k * itemsize
            transpose(
                left_block + r * depth * itemsize, register, source, step, min(lanes, rows - r), depth, real(0)
            )  # fmt: skip


def _multiply_rows(a: Any, number: Any, index: Any) -> None:
    """Pack a block of rows and multiply it by the packed block of B."""
    target, step, left_block, right_block, lanes = a[8], a[9], a[13], a[14], a[15] // itemsize
    row = index * a[10]
    rows = min(a[10], a[1] - row)
    first_column, k, columns, depth = _block(a, number)
    _pack_left(a, row, rows, k, depth)
    c = 0
    while c < columns:
        vectors = panel_vectors(columns - c, lanes)
        count = min(vectors * lanes, columns - c)
        panel = right_block + c * depth * itemsize
        for r in range(0, rows, ROWS):
            packed = left_block + (r // lanes) * lanes * depth * itemsize + r % lanes * itemsize
            place = target + (row + r) * step + (first_column + c) * itemsize
            packed_tile(vectors, packed, panel, depth, place, step, rows - r, count, k, real(0))
        c += count


def _blocked_product(a: Any) -> None:
    """C = op(A) B.

    Words: is A transposed; rows and columns of C, depth; A, B, C, each with the bytes from row to row; rows,
    columns and depth of a block; scratch for a block of A and for one of B; bytes of a register, and of a number of the
    rows of A and B that are packed as they lie.
    """
    run_rounds(a)


blocked_product = Kernel(
    _blocked_product,
    name="blocked_product",
    parts={"_pack_left": _pack_left, **loop_parts(_pack_right, _multiply_rows)},
)


def by_blocks(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if this machine has AVX-512 and it is worth it."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    size, register = dtype.itemsize, vector_bytes()
    few = any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True)) or m * n * k <= SMALL
    if register != 64 or tb or few:
        return None
    lanes = register // size
    depth = _even_block(k, DEPTH * 4 // size)
    if depth < k and m * n * size > RESULT_BYTES:
        if k > DEEPEST * 4 // size:
            return None
        depth = k
    rows, columns = block_extents(m, n, lanes)
    left, right = (-(-extent // lanes) * register * depth for extent in (rows, columns))
    steps = (a, lda * size, b, ldb * size, c, ldc * size)
    blocks = (rows, columns, depth, Scratch(), Scratch(left), register, size)
    return [blocked_call(dtype, (ta, m, n, k), steps, blocks, left + right)]


def blocked_call(
    dtype: np.dtype[Any],
    extents: tuple[Argument, int, int, int],
    steps: tuple[Argument, ...],
    blocks: tuple[int, int, int, *tuple[Argument, ...]],
    scratch: int,
) -> Call:
    """Return the call of `blocked_product`, given its words and scratch memory."""
    _, m, n, k = extents
    iterations, rounds = -(-m // blocks[0]), -(-n // blocks[1]) * -(-k // blocks[2])
    words = (*extents, *steps, *blocks)
    return Call(blocked_product, dtype, words, scratch, iterations=iterations, rounds=rounds)


def block_extents(rows: int, columns: int, lanes: int) -> tuple[int, int]:
    """Return rows and columns of a block: whole panels, since each block of columns packs the left operand again."""
    width = VECTORS * lanes
    blocked = rows_of_block(rows, ROWS_BLOCK, lanes)
    return blocked, min(columns, -(-_even_block(columns, PANELS * width) // width) * width)


def _even_block(extent: int, most: int) -> int:
    """Return how long blocks are that are about equal, at most so long, and cover an extent."""
    return -(-extent // -(-extent // most))
