"""Copies of planes whose rows become columns, by vector registers: single numbers would be a register apart."""

from __future__ import annotations

from typing import Any

from engine.core.value import Array
from engine.execution.native.inline.matrix_tiles import transpose
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import itemsize, kernel, real
from engine.execution.native.kernels.elementwise import AXES, FIRST, OUT, axis_of_neighbours, operands
from engine.execution.native.lowering import Call, Work


@kernel
def transposed_copy(a: Any) -> None:
    """Copy planes whose columns are neighbours to where rows are.

    Words: planes along two axes, rows, columns; numbers in a vector register; out, the bytes along the first three of
    these axes; x, the bytes along the first two and the last.
    """
    rows, columns, lanes = a[2], a[3], a[4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[5] + i * a[6] + j * a[7]
            x = a[9] + i * a[10] + j * a[11]
            for c in range(0, columns, lanes):
                count = min(lanes, columns - c)
                transpose(out + c * itemsize, a[8], x + c * a[12], a[12], count, rows, real(0))


def transposing(x: Array, out: Array) -> list[Call] | None:
    """Return the call that copies float32 or float64 to an array of its shape in which other numbers are neighbours.

    None where these are the same, or an axis is short.
    """
    words = operands(Work([x], [out], {}))
    row = None if words is None else axis_of_neighbours(words, FIRST)
    if words is None or row is None or words[OUT + AXES] != out.itemsize:
        return None
    planes = [axis for axis in range(AXES - 1) if axis != row]
    extents, steps, read = words[:AXES], words[OUT + 1 : FIRST], words[FIRST + 1 :]
    written = (out, *(steps[axis] for axis in (*planes, row)))
    taken = (x, *(read[axis] for axis in (*planes, AXES - 1)))
    lanes = vector_bytes() // x.itemsize
    return [
        Call(transposed_copy, x.dtype, (*(extents[axis] for axis in (*planes, row, AXES - 1)), lanes, *written, *taken))
    ]
