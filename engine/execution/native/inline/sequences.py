"""What kernels of recurrent layers share: rows of any layout, and products with weights that stay packed for all steps.

Addresses and steps are in bytes; `real` is the dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.products import gemm
from engine.execution.native.kernel import inline

COLUMNS = 64
"""Columns of the weights that lie together: products that narrow run fastest in OpenBLAS."""
UNPACKED = 1_000_000
"""Up to this many multiplications OpenBLAS does not copy its operands first."""
MOST_ROWS = 64
"""Rows that go through all steps together, at most: what they hold stays in a cache."""


def rows_at_a_time(rows: int, inner: int) -> int:
    """Return how many rows of the batch go through all steps together; `inner` is what their products sum over."""
    most = min(max(UNPACKED // (COLUMNS * inner), 4), MOST_ROWS)
    return -(-rows // -(-rows // most))


@inline
def pack(weight: Any, down: Any, along: Any, inner: Any, columns: Any, to: Any, real: Any) -> None:
    """Write a matrix of `inner` rows, whose elements lie `down` and `along` apart, in blocks of its columns."""
    itemsize = view(to, 1, real).itemsize
    for start in range(0, columns, COLUMNS):
        width = min(COLUMNS, columns - start)
        for i in range(inner):
            copy_row(weight + i * down + start * along, along, width, to + (start * inner + i * width) * itemsize, real)


@inline
def add_product(
    rows: Any, inner: Any, columns: Any, a: Any, step: Any, packed: Any, c: Any, step_c: Any, real: Any
) -> None:
    """C <- C + A B for a packed matrix B; the rows of A are `step` bytes apart, those of C `step_c`."""
    itemsize = view(packed, 1, real).itemsize
    for start in range(0, columns, COLUMNS):
        width = min(COLUMNS, columns - start)
        gemm(
            False, False, rows, width, inner, real(1), a, step // itemsize, packed + start * inner * itemsize, width,
            real(1), c + start * itemsize, step_c // itemsize,
        )  # fmt: skip


@inline
def row_at(address: Any, step: Any, extent: Any, to: Any, real: Any) -> Any:
    """Return the address of a row without gaps: the one at `address`, or its copy `to` where elements lie apart."""
    if step == view(to, 1, real).itemsize:
        return address
    copy_row(address, step, extent, to, real)
    return to


@inline
def copy_row(address: Any, step: Any, extent: Any, to: Any, real: Any) -> None:
    """Copy a row whose elements lie `step` bytes apart."""
    row = view(to, extent, real)
    if step == row.itemsize:
        source = view(address, extent, real)
        for j in range(row.size):
            row[j] = source[j]
    else:
        for j in range(row.size):
            row[j] = view(address + j * step, 1, real)[0]


@inline
def clear(address: Any, extent: Any, real: Any) -> None:
    """Set a row to 0."""
    row = view(address, extent, real)
    for j in range(row.size):
        row[j] = real(0)


@inline
def add_row(x: Any, y: Any) -> None:
    """Add a row to a row."""
    for j in range(x.size):
        x[j] += y[j]


@inline
def within(lengths: Any, step: Any, rows: Any, steps: Any) -> Any:
    """Tell whether no row has fewer than 0 or more than all steps."""
    for row in range(rows):
        length = view(lengths + row * step, 1, np.int64)[0]
        if length < 0 or length > steps:
            return False
    return True
