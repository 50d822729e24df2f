"""Products by a transposed matrix, such as those of linear layers: the operand with fewer rows is packed transposed.

The other one is read where it lies. BLAS transposes and packs both, which costs it a fifth to a half of the time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.blocks import VECTORS, block_rows
from engine.execution.native.inline.matrix_tiles import product_tile, transpose
from engine.execution.native.inline.vectors import registers, vector_bytes
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.lowering import Argument, Call, Scratch

DEPTH = 256
"""Number of products that are summed in registers before their sum is added to the result."""
PANEL_BYTES = 2**19
"""Largest panel: it stays in the second-level cache while it is multiplied by all rows."""
READ_BYTES, FEW_ROWS = 2**22, 64
"""An operand of more bytes is read by BLAS, unless the other one has few rows: each panel reads it once.

With 16 registers, tiles are so small that more rows are no slower by BLAS (0.91 to 1.04 of its time on AVX2).
"""
LEAST = (8, 32, 32)
"""Rows, columns and depth of the smallest product; BLAS does not pack smaller ones either."""


@kernel
def packed_product(a: Any) -> None:
    """C = A B^T, or its transpose.

    Words: rows of A, rows of B, depth; A, the bytes from row to row; B, the bytes from row to row; C, the bytes from
    row to row, and whether the transpose is written; bytes of a register, maximum rows of a tile; scratch for a panel
    and for some rows of the transpose.
    """
    rows, columns, depth = a[0], a[1], a[2]
    register, lanes = a[10], a[10] // itemsize
    panel, held = a[12], a[13]
    start = 0
    while start < columns:
        left = (columns - start + lanes - 1) // lanes
        vectors = 2 if left == 4 else min(left, 3)
        count = min(vectors * lanes, columns - start)
        for v in range(vectors):
            source, taken = a[5] + (start + v * lanes) * a[6], min(lanes, count - v * lanes)
            transpose(panel + v * register, vectors * register, source, a[6], taken, depth, real(0))
        row, waiting = 0, 0
        while row < rows:
            height = a[11]
            while height > min(rows - row, lanes - waiting):
                height //= 2
            target, step = a[7] + row * a[8] + start * itemsize, a[8]
            if a[9]:
                target, step = held + waiting * vectors * register, vectors * register
            for k in range(0, depth, DEPTH):
                product_tile(
                    height, vectors, a[3] + row * a[4] + k * itemsize, a[4], panel + k * vectors * register,
                    min(DEPTH, depth - k), target, step, count, k, real(0),
                )  # fmt: skip
            row, waiting = row + height, waiting + height
            if waiting == lanes or row == rows:
                if a[9]:
                    place = a[7] + start * a[8] + (row - waiting) * itemsize
                    transpose(place, a[8], held, vectors * register, waiting, count, real(0))
                waiting = 0
        start += count


def by_transposed(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if only its second operand is transposed and it is worth it."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    size, register = dtype.itemsize, vector_bytes()
    panel = k * VECTORS * register
    if ta or not tb or any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True)):
        return None
    large = registers() == 16 or max(m, n) * k * size > READ_BYTES
    if panel > PANEL_BYTES or (min(m, n) > FEW_ROWS and large):
        return None
    operands = ((m, a, lda), (n, b, ldb))
    (rows, read, apart), (columns, transposed, step) = operands if m >= n else operands[::-1]
    found = (rows, columns, k, read, apart * size, transposed, step * size, c, ldc * size, m < n)
    held = math.prod((register // size, VECTORS, register))
    return [Call(packed_product, dtype, (*found, register, block_rows()[0], Scratch(), Scratch(panel)), panel + held)]
