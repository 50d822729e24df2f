"""Products whose left operand is read where it lies: the right one is packed, a panel of all its depth at a time.

A tile of the result stays in the first-level cache until it is complete. By a transposed matrix, as in linear layers,
the operand with fewer rows is packed. BLAS packs both operands, which costs it a tenth to a half of the time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.blocks import VECTORS, block_rows
from engine.execution.native.inline.matrix_tiles import product_tile, transpose
from engine.execution.native.inline.packed_tiles import pack_rows
from engine.execution.native.inline.vectors import registers, vector_bytes
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.kernels.blocked_product import SMALL
from engine.execution.native.lowering import Argument, Call, Scratch

DEPTH = 256
"""Number of products that are summed in registers before their sum is added to the result."""
PANEL_BYTES = 2**19
"""Largest panel: it stays in the second-level cache while it is multiplied by all rows."""
PLAIN_PANEL_BYTES = 2**21
"""Largest panel of a matrix that is not transposed: BLAS and products by blocks are slower by a sixth even here."""
READ_BYTES, FEW_ROWS = 2**22, 64
"""An operand of more bytes is read by BLAS, unless the other one has few rows: each panel reads it once.

With 16 registers, tiles are so small that more rows are no slower by BLAS (0.91 to 1.04 of its time on AVX2).
"""
LEAST = (8, 32, 32)
"""Rows, columns and depth of the smallest product; BLAS does not pack smaller ones either."""


@kernel
def packed_product(a: Any) -> None:
    """C = A op(B), or its transpose.

    Words: rows and columns of the product, depth; A, the bytes from row to row; B, the bytes from row to row; C, the
    bytes from row to row, and whether the transpose is written; bytes of a register, maximum rows of a tile; scratch
    for a panel and for some rows of the transpose; is B transposed.
    """
    rows, columns, depth = a[0], a[1], a[2]
    register, lanes = a[10], a[10] // itemsize
    panel, held = a[12], a[13]
    start = 0
    while start < columns:
        left = (columns - start + lanes - 1) // lanes
        vectors = 2 if left == 4 else min(left, 3)
        count = min(vectors * lanes, columns - start)
        if a[14]:
            for v in range(vectors):
                source, taken = a[5] + (start + v * lanes) * a[6], min(lanes, count - v * lanes)
                transpose(panel + v * register, vectors * register, source, a[6], taken, depth, real(0))
        else:
            pack_rows(vectors, panel, a[5] + start * itemsize, a[6], depth, count, real(0))
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


def by_panels(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if its first operand is not transposed and it is worth it."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    size, register = dtype.itemsize, vector_bytes()
    panel = k * VECTORS * register
    if ta or any(extent < least for extent, least in zip((m, n, k), LEAST, strict=True)):
        return None
    turned = bool(tb) and m < n
    if tb:
        large = registers() == 16 or max(m, n) * k * size > READ_BYTES
        if panel > PANEL_BYTES or (min(m, n) > FEW_ROWS and large):
            return None
    elif register != 64 or m * n * k <= SMALL or m * k * size > READ_BYTES or panel > PLAIN_PANEL_BYTES:
        return None
    operands = ((m, a, lda), (n, b, ldb))
    (rows, read, apart), (columns, packed, step) = operands[::-1] if turned else operands
    found = (rows, columns, k, read, apart * size, packed, step * size, c, ldc * size, turned)
    held = math.prod((register // size, VECTORS, register))
    scratch = (Scratch(), Scratch(panel))
    return [Call(packed_product, dtype, (*found, register, block_rows()[0], *scratch, tb), panel + held)]
