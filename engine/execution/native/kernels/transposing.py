"""Copies of planes whose rows become columns, by vector registers: single numbers would be a register apart."""

from __future__ import annotations

from typing import Any

from engine.core.value import Array
from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.pointers import size_of
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import BITS, FLOATS, Kernel, inline, real, stored
from engine.execution.native.kernels.elementwise import AXES, FIRST, OUT, axis_of_neighbours, operands
from engine.execution.native.lowering import Call, Work


def transposed_copy(a: Any) -> None:
    """Copy planes whose columns are neighbours to where rows are.

    Words: planes along two axes, rows, columns; numbers in a vector register; out, the bytes along the first three of
    these axes; x, the bytes along the first two and the last.
    """
    copy_planes(a, size_of(real), (real(0), stored(0)))


def transposed_rounding(a: Any) -> None:
    """Round planes whose columns are neighbours to bfloat16, written where rows are; words as of `transposed_copy`."""
    copy_planes(a, size_of(stored), (stored(0), real(0)))


@inline
def copy_planes(a: Any, size: Any, pair: Any) -> None:
    """Copy planes to numbers of `size` bytes; `pair` has a zero of what is written and one of what is read."""
    rows, columns, lanes = a[2], a[3], a[4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[5] + i * a[6] + j * a[7]
            x = a[9] + i * a[10] + j * a[11]
            for c in range(0, columns, lanes):
                count = min(lanes, columns - c)
                transpose(out + c * size, a[8], x + c * a[12], a[12], count, rows, pair)


COPY = Kernel(transposed_copy)
WIDENING = Kernel(transposed_copy, FLOATS[:1], name="transposed_widening", stored=BITS)
ROUNDING = Kernel(transposed_rounding, FLOATS[:1], stored=BITS)


def transposing(x: Array, out: Array) -> list[Call] | None:
    """Return the call that copies float32 or float64 to an array of its shape in which other numbers are neighbours.

    Either array may be one of the bits of bfloat16, the other of float32. None where the numbers that are neighbours
    are the same, or an axis is short.
    """
    words = operands(Work([x], [out], {}))
    row = None if words is None else axis_of_neighbours(words, FIRST)
    if words is None or row is None or words[OUT + AXES] != out.itemsize:
        return None
    planes = [axis for axis in range(AXES - 1) if axis != row]
    extents, steps, read = words[:AXES], words[OUT + 1 : FIRST], words[FIRST + 1 :]
    written = (out, *(steps[axis] for axis in (*planes, row)))
    taken = (x, *(read[axis] for axis in (*planes, AXES - 1)))
    code = COPY if x.dtype == out.dtype else WIDENING if x.dtype == BITS else ROUNDING
    dtype = x.dtype if code is COPY else FLOATS[0]
    lanes = vector_bytes() // dtype.itemsize
    return [Call(code, dtype, (*(extents[axis] for axis in (*planes, row, AXES - 1)), lanes, *written, *taken))]
