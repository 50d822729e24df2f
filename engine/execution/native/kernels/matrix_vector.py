"""Products of a matrix and a vector: each number of the matrix is read once, which is all there is to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import dot, fill
from engine.execution.native.inline.short_rows import AHEAD, WIDTHS, short_column_products, short_row_products
from engine.execution.native.inline.vectors import LINE, fetch_lines, vector_bytes
from engine.execution.native.kernel import Kernel, itemsize, kernel, real
from engine.execution.native.lowering import Argument, Call, Scratch

SHORTEST = 64
"""Numbers of a row that no registers hold, from which on it is worth a loop of its own; BLAS has one for all rows."""
FETCHED = 16
"""Most cache lines of a row that is fetched ahead; of longer rows the processor fetches the following lines itself."""
BLOCK = 128
"""Rows that are added up in their own dtype; blocks are in float64."""


@kernel
def row_products(a: Any) -> None:
    """y = A x.

    Words: rows and columns; A, the bytes from row to row; x and its stride; y and its; scratch for x that lies apart.
    """
    columns, step, place = a[1], a[5], a[4]
    if step != itemsize:
        place = a[8]
        copied = view(place, columns, real)
        for c in range(columns):
            copied[c] = view(a[4] + c * step, 1, real)[0]
    x = view(place, columns, real)
    lines = (columns * itemsize + LINE - 1) // LINE
    for r in range(a[0]):
        if lines <= FETCHED:
            fetch_lines(a[2] + r * a[3] + AHEAD, lines)
        view(a[6] + r * a[7], 1, real)[0] = real(dot(view(a[2] + r * a[3], columns, real), x))


def add_eight(sums: Any, rows: Any, step: Any, factors: Any, apart: Any) -> None:
    """Add eight rows, `step` bytes apart, times their factors, `apart` bytes apart, to sums."""
    a0, a1 = view(rows, sums.size, real), view(rows + step, sums.size, real)
    a2, a3 = view(rows + 2 * step, sums.size, real), view(rows + 3 * step, sums.size, real)
    a4, a5 = view(rows + 4 * step, sums.size, real), view(rows + 5 * step, sums.size, real)
    a6, a7 = view(rows + 6 * step, sums.size, real), view(rows + 7 * step, sums.size, real)
    x0, x1 = view(factors, 1, real)[0], view(factors + apart, 1, real)[0]
    x2, x3 = view(factors + 2 * apart, 1, real)[0], view(factors + 3 * apart, 1, real)[0]
    x4, x5 = view(factors + 4 * apart, 1, real)[0], view(factors + 5 * apart, 1, real)[0]
    x6, x7 = view(factors + 6 * apart, 1, real)[0], view(factors + 7 * apart, 1, real)[0]
    for c in range(sums.size):
        upper = (x0 * a0[c] + x1 * a1[c]) + (x2 * a2[c] + x3 * a3[c])
        lower = (x4 * a4[c] + x5 * a5[c]) + (x6 * a6[c] + x7 * a7[c])
        sums[c] += upper + lower


def _column_products(a: Any) -> None:
    """y = A^T x.

    Words: rows and columns of A; A, the bytes from row to row; x and its stride; y and its; scratch for the sum of a
    block of rows, if y lies apart, and for that of the blocks if there are several.
    """
    rows, columns = a[0], a[1]
    is_apart = a[7] != itemsize
    sums, totals = view(a[8] if is_apart else a[6], columns, real), view(a[9], columns, np.float64)
    if rows > BLOCK:
        fill(totals, 0.0)
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        fill(sums, real(0))
        r = start
        while r + 8 <= stop:
            add_eight(sums, a[2] + r * a[3], a[3], a[4] + r * a[5], a[5])
            r += 8
        while r < stop:
            row, factor = view(a[2] + r * a[3], columns, real), view(a[4] + r * a[5], 1, real)[0]
            for c in range(sums.size):
                sums[c] += factor * row[c]
            r += 1
        if rows > BLOCK:
            for c in range(totals.size):
                totals[c] += np.float64(sums[c])
    if rows > BLOCK:
        for c in range(columns):
            sums[c] = real(totals[c])
    if is_apart:
        for c in range(columns):
            view(a[6] + c * a[7], 1, real)[0] = sums[c]


column_products = Kernel(
    _column_products,
    name="column_products",
    parts={"add_eight": add_eight},
)


@kernel
def short_rows(a: Any) -> None:
    """y = A x, where a row of A is a few registers; words as of `row_products`."""
    columns, step = a[1], a[5]
    x = view(a[8], columns, real)
    for c in range(columns):
        x[c] = view(a[4] + c * step, 1, real)[0]
    short_row_products(a[2], a[3], a[0], columns, a[8], a[6], a[7], real(0))


@kernel
def short_columns(a: Any) -> None:
    """y = A^T x, where a row of A is a few registers; words as of `column_products`."""
    rows, columns = a[0], a[1]
    sums, totals = view(a[8], columns, real), view(a[9], columns, np.float64)
    fill(totals, 0.0)
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        short_column_products(a[2] + start * a[3], a[3], count, columns, a[4] + start * a[5], a[5], a[8], real(0))
        for c in range(totals.size):
            totals[c] += np.float64(sums[c])
    for c in range(columns):
        view(a[6] + c * a[7], 1, real)[0] = real(totals[c])


def by_vector(words: tuple[Argument, ...], dtype: np.dtype[Any]) -> list[Call] | None:
    """Return the call for a product, given its words, if it has one row or column and is worth it."""
    ta, tb, m, n, k, a, lda, b, ldb, c, ldc = words[:11]
    size = dtype.itemsize
    if n == 1:
        matrix, leading, across, vector, step, out_step, rows = a, lda, ta, b, 1 if tb else ldb, ldc, m
    elif m == 1:
        # The transpose of the product: B^T a.
        matrix, leading, across, vector, step, out_step, rows = b, ldb, not tb, a, lda if ta else 1, 1, n
    else:
        return None
    assert isinstance(rows, int) and isinstance(k, int) and isinstance(leading, int)  # noqa: PT018
    assert isinstance(step, int) and isinstance(out_step, int)  # noqa: PT018
    stored = (k, rows) if across else (rows, k)
    short = stored[1] * size <= WIDTHS[-1] * vector_bytes()
    if not short and stored[1] < SHORTEST:
        return None
    own = -(-stored[1] * size // LINE) * LINE
    found = (*stored, matrix, leading * size, vector, step * size, c, out_step * size, Scratch())
    if across:
        return [Call(short_columns if short else column_products, dtype, (*found, Scratch(own)), own + stored[1] * 8)]
    return [Call(short_rows if short else row_products, dtype, found, own)]
