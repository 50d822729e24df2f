"""Rows of a table whose norms are limited where they are looked up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.tables import INDICES, index_at, row_lots
from engine.execution.native.lowering import Call, Scratch, Status, Work, alike, lowers
from engine.ops.index.embedding import GUARD

ORDERS = {1.0: 1, 2.0: 2, math.inf: 0}
"""The norms that kernels compute: sums of magnitudes, roots of sums of squares, largest magnitudes."""


@kernel
def limit_rows(a: Any) -> None:
    """Words: how many; numbers in a row; rows of the table; table; indices, are they int64; which norm; the largest
    that a row may have; where to say that an index is none of the table's; how the indices lie, as in `index_at`;
    scratch for whether a row was looked at.
    """
    length, rows, most = a[1], a[2], real(float_of(a[7]))
    seen = view(a[12], rows, np.uint8)
    fill(seen, np.uint8(0))
    for i in range(a[0]):
        index = index_at(a[4], a[5], i, a[9], a[10], a[11])
        if index < -rows or index >= rows:
            view(a[8], 1, np.int64)[0] = 1
            continue
        index = index + rows if index < 0 else index
        if seen[index]:
            continue
        seen[index] = 1
        row = view(a[3] + index * length * itemsize, length, real)
        norm = 0.0
        for j in range(row.size):
            size = np.float64(abs(row[j]))
            if a[6] == 0:
                norm = size if size > norm or size != size else norm
            else:
                norm += size * size if a[6] == 2 else size
        whole = real(np.sqrt(norm) if a[6] == 2 else norm)
        if whole > most:
            factor = most / (whole + real(GUARD))
            for j in range(row.size):
                row[j] *= factor


@lowers("limit_rows")
def _(work: Work) -> list[Call] | None:
    (table, index), (out,) = work.inputs, work.outputs
    lots, order = row_lots(index, index), ORDERS.get(work.attrs["norm_type"])
    if index.dtype not in INDICES or lots is None or order is None or not (out.size and alike(out)):
        return None
    most, rows = float(work.attrs["max_norm"]), len(out)
    words = (
        index.size, out.size // rows, rows, out, index, index.itemsize == 8, order, most, Status(), *lots, Scratch()
    )  # fmt: skip
    return joined_calls(copied(table, out), [Call(limit_rows, out.dtype, words, rows)])
