"""Rows with a 1 at the place of an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import itemsize, kernel_of, real
from engine.execution.native.kernels.filling import BITS, bits_of
from engine.execution.native.kernels.tables import INDICES, index_at, row_lots
from engine.execution.native.lowering import Call, Status, Work, lowers


@kernel_of(np.uint8, np.uint16, np.uint32, np.uint64)
def one_hot(a: Any) -> None:
    """Words: how many; classes; indices, are they int64, how they lie; out; the bits of 1; where to say that an index
    is no class.
    """
    classes = a[1]
    for i in range(a[0]):
        row = view(a[7] + i * classes * itemsize, classes, real)
        fill(row, real(0))
        index = index_at(a[2], a[3], i, a[4], a[5], a[6])
        if index < -classes or index >= classes:
            view(a[9], 1, np.int64)[0] = 1
        else:
            row[index + classes if index < 0 else index] = real(a[8])


@lowers("one_hot")
def _(work: Work) -> list[Call] | None:
    (index,), (out,) = work.inputs, work.outputs
    lots = row_lots(index, index)
    if index.dtype not in INDICES or lots is None or not out.size or not out.flags.c_contiguous:
        return None
    if out.itemsize not in BITS or out.dtype.kind == "c":
        return None
    words = (index.size, out.shape[-1], index, index.itemsize == 8, *lots, out, bits_of(1, out), Status())
    return [Call(one_hot, BITS[out.itemsize], words)]
