"""Products by a transposed matrix of few rows, those of layers with few outputs: sums along the rows as they lie.

BLAS packs nothing for these either, but reads the other operand from memory at 15 GB/s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.dots import COLUMNS, ROWS, dot_tile
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.shared_loop import round_parts, rows_of_block, run_round
from engine.execution.native.lowering import Argument, Call

FEW = 10
"""The most rows of the matrix. With more, registers of the other operand are read again for each five of them."""
LEAST = (32, 64)
"""Fewest rows of the other operand, and smallest depth."""
BLOCK = 128
"""Most rows of an iteration that threads share."""
NEAR_BYTES = 2**20
"""A larger operand is in no near cache: its rows are fetched ahead."""


def _some_rows(a: Any, index: Any) -> None:
    """Compute the results of a block of rows."""
    row, stop = index * a[10], min((index + 1) * a[10], a[0])
    while row < stop:
        count = ROWS if row + ROWS <= stop else 1
        for column in range(0, a[1], a[9]):
            left, right, target = a[3] + row * a[4], a[5] + column * a[6], a[7] + row * a[8] + column * itemsize
            width, ahead = min(a[9], a[1] - column), a[11] if column == 0 else 0
            dot_tile(count, width, left, a[4], right, a[6], a[2], target, a[8], ahead, real(0))
        row += count


def _dot_product(a: Any) -> None:
    """C = A B^T.

    Words: rows of A, rows of B, depth; A, B, C, each with the bytes from row to row; rows of B of a tile, rows of A of
    an iteration; whether A is in no near cache.
    """
    run_round(a)


dot_product = Kernel(_dot_product, name="dot_product", parts=round_parts(_some_rows))


def by_dots(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if B is transposed and has few rows."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    size = dtype.itemsize
    if ta or not tb or vector_bytes() != 64 or not 1 < n <= FEW or m < LEAST[0] or k < LEAST[1]:
        return None
    tile, block = -(-n // -(-n // COLUMNS)), rows_of_block(m, BLOCK, ROWS)
    found = (m, n, k, a, lda * size, b, ldb * size, c, ldc * size, tile, block, int(m * k * size > NEAR_BYTES))
    return [Call(dot_product, dtype, found, iterations=-(-m // block))]
