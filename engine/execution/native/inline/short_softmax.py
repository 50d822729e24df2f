"""Exponentials of short rows, which are transposed: registers hold numbers of many rows, and none is left over."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.pointers import frozen, view
from engine.execution.native.inline.rows import fill, larger
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import inline
from engine.execution.native.lowering import Argument, Scratch

TOGETHER = 64
"""Rows at a time."""
FEW = 4
"""Registers that hold a row which is no faster by itself, of whole registers."""
LONGEST = 512
"""Bytes of the longest of other rows: a block of them stays in the nearest cache."""


def transposes(length: int, itemsize: int) -> bool:
    """Tell whether rows are transposed: those that few registers hold, and those with a rest that fills none."""
    lanes = vector_bytes() // itemsize
    return length < FEW * lanes or (length <= LONGEST // itemsize and length % lanes > 0)


def scratch_of_rows(rows: int, length: int, itemsize: int) -> tuple[tuple[Argument, ...], int]:
    """Return words for kernels, and the bytes of scratch memory.

    The words: scratch memory for transposed rows, for their largest, and for their sums in float64; lanes of a
    register, 0 where there is one row or rows are not transposed.
    """
    lanes, block, tops = vector_bytes() // itemsize, length * TOGETHER * itemsize, TOGETHER * itemsize
    if rows == 1 or not transposes(length, itemsize):
        return (Scratch(), Scratch(), Scratch(), 0), 0
    return (Scratch(), Scratch(block), Scratch(block + tops), lanes), block + tops + TOGETHER * 8


@inline
def read_rows(block: Any, source: Any, step: Any, rows: Any, length: Any, lanes: Any, itemsize: Any, real: Any) -> None:
    """Copy rows that lie `step` bytes apart from `source` on to the columns of a block, of TOGETHER numbers a row."""
    for r in range(0, rows, lanes):
        place = block + r * itemsize
        transpose(place, TOGETHER * itemsize, source + r * step, step, min(lanes, rows - r), length, real(0))


@inline
def add_exponentials(
    block: Any,
    source: Any,
    step: Any,
    tops: Any,
    sums: Any,
    length: Any,
    lanes: Any,
    keeps_differences: Any,
    itemsize: Any,
    real: Any,
) -> None:
    """Set a block to exp(x - largest of the row) for rows of x, transposed; `tops` to the largest, `sums` to the sums.

    Rows lie `step` bytes apart from `source` on, as many as `tops` has numbers, at most TOGETHER; those of the block
    have TOGETHER numbers. The block gets x - largest where it `keeps_differences`.
    """
    rows, apart = tops.size, TOGETHER * itemsize
    read_rows(block, source, step, rows, length, lanes, itemsize, real)
    fill(tops, real(-np.inf))
    fill(sums, 0.0)
    for i in range(length):
        terms = view(block + i * apart, rows, real)
        for e in range(tops.size):
            tops[e] = larger(frozen(tops[e]), terms[e])
    for i in range(length):
        terms = view(block + i * apart, rows, real)
        for e in range(terms.size):
            below = terms[e] - tops[e]
            share = exp(below)
            sums[e] += np.float64(share)
            terms[e] = below if keeps_differences else share


@inline
def write_rows(
    target: Any, step: Any, block: Any, rows: Any, length: Any, lanes: Any, itemsize: Any, real: Any
) -> None:
    """Write the rows of a block back to where they lie `step` bytes apart from `target` on."""
    apart = TOGETHER * itemsize
    for r in range(0, rows, lanes):
        for i in range(0, length, lanes):
            place, source = target + r * step + i * itemsize, block + i * apart + r * itemsize
            transpose(place, step, source, apart, min(lanes, length - i), min(lanes, rows - r), real(0))
