"""Products of a few rows by a large matrix, which is read once, in the order in which it lies.

BLAS packs such a matrix, or is given pieces of its columns: that takes 1.2 to 6.5 times as long, since it is in no near
cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.vectors import LINE
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.matrix_vector import add_eight
from engine.execution.native.lowering import Argument, Call, Scratch

DEPTH = 256
"""Rows of the matrix that are summed in scratch memory before their sum is added to the result."""
SUMS_BYTES = 2**14
"""The sums of a block of columns; with eight rows of the matrix they stay in a first-level cache."""
ROWS = 8
"""The most rows."""
NEAR_BYTES, SHORTEST = 2**23, 512
"""The largest matrix that a near cache may hold, and the fewest rows and columns of a larger one."""


def _add_some(a: Any, row: Any, start: Any, width: Any, k: Any, stop: Any) -> None:
    """Add up to eight rows of B, from `k` to `stop`, times the factors in a row of A, to the sums of that row."""
    sums = view(a[10] + row * a[9] * itemsize, width, real)
    rows, factors = a[5] + start * itemsize, a[3] + row * a[4]
    if stop - k == 8:
        add_eight(sums, rows + k * a[6], a[6], factors + k * itemsize, itemsize)
    else:
        for place in range(k, stop):
            added, factor = view(rows + place * a[6], width, real), view(factors + place * itemsize, 1, real)[0]
            for c in range(sums.size):
                sums[c] += factor * added[c]


def _thin_product(a: Any) -> None:
    """C = A B.

    Words: rows and columns of the product, depth; A, the bytes from row to row; B, the bytes from row to row; C, the
    bytes from row to row; columns of a block; scratch for its sums.
    """
    for start in range(0, a[1], a[9]):
        width = min(a[9], a[1] - start)
        for first in range(0, a[2], DEPTH):
            stop = min(first + DEPTH, a[2])
            fill(view(a[10], a[0] * a[9], real), real(0))
            for k in range(first, stop, 8):
                for row in range(a[0]):
                    _add_some(a, row, start, width, k, min(k + 8, stop))
            for row in range(a[0]):
                out = view(a[7] + row * a[8] + start * itemsize, width, real)
                sums = view(a[10] + row * a[9] * itemsize, width, real)
                for c in range(out.size):
                    out[c] = sums[c] if first == 0 else out[c] + sums[c]


thin_product = Kernel(
    _thin_product,
    name="thin_product",
    parts={"add_eight": add_eight, "_add_some": _add_some},
)


def is_far(rows: int, columns: int, size: int) -> bool:
    """Return whether a matrix is to be read in the order in which it lies."""
    return min(rows, columns) >= SHORTEST and rows * columns * size > NEAR_BYTES


def by_rows(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if it is of a few rows by a far matrix, not transposed."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    assert isinstance(m, int) and isinstance(n, int) and isinstance(k, int)  # noqa: PT018
    assert isinstance(lda, int) and isinstance(ldb, int) and isinstance(ldc, int)  # noqa: PT018
    size = dtype.itemsize
    if ta or tb or m > ROWS or not is_far(k, n, size):
        return None
    columns = SUMS_BYTES // (m * LINE) * LINE // size
    found = (m, n, k, a, lda * size, b, ldb * size, c, ldc * size, columns, Scratch())
    return [Call(thin_product, dtype, found, m * columns * size)]
