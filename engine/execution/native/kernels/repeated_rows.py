"""Elementwise kernels with broadcast operands, for rows that fit a register: many rows are computed in one loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.repeated_rows import BLOCK, block_of_rows, repeat_rows
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.elementwise import (
    AXES,
    BINARY,
    BINARY_KERNELS,
    FIRST,
    OUT,
    SECOND,
    UNARY_KERNELS,
    apply,
)
from engine.execution.native.lowering import Argument, Call

FEWEST, FEWEST_ROWS = 512, 4
"""Numbers and rows for which another kernel is worth its loading."""


def copy_rows(a: Any) -> None:
    """Copy a broadcast operand."""
    rows, n = a[2], a[3]
    repeated = block_of_rows(real(0))
    for i in range(a[0]):
        for j in range(a[1]):
            for start in range(0, rows, BLOCK // n):
                count = min(BLOCK // n, rows - start)
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + start * a[OUT + 3]
                x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + start * a[FIRST + 3]
                repeat_rows(repeated, x, a[FIRST + 3], a[FIRST + 4], count, n, itemsize, real)
                xs, ys = view(repeated, count * n, real), view(out, count * n, real)
                for e in range(xs.size):
                    ys[e] = xs[e]


def binary_rows(a: Any) -> None:
    """Apply a function of two numbers. An operand that is overwritten by the result is copied to a buffer as well."""
    rows, n = a[2], a[3]
    x_step, y_step, x_apart, y_apart = a[FIRST + 3], a[SECOND + 3], a[FIRST + 4], a[SECOND + 4]
    repeated_x, repeated_y = block_of_rows(real(0)), block_of_rows(real(0))
    for i in range(a[0]):
        for j in range(a[1]):
            for start in range(0, rows, BLOCK // n):
                count = min(BLOCK // n, rows - start)
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + start * a[OUT + 3]
                x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + start * x_step
                y = a[SECOND] + i * a[SECOND + 1] + j * a[SECOND + 2] + start * y_step
                if x == out or x_apart == 0 or x_step != n * itemsize:
                    repeat_rows(repeated_x, x, x_step, x_apart, count, n, itemsize, real)
                    x = repeated_x
                if y == out or y_apart == 0 or y_step != n * itemsize:
                    repeat_rows(repeated_y, y, y_step, y_apart, count, n, itemsize, real)
                    y = repeated_y
                xs, ys, zs = view(x, count * n, real), view(y, count * n, real), view(out, count * n, real)
                for e in range(zs.size):
                    zs[e] = apply(xs[e], ys[e])


_OPS = ("add", "div", "maximum", "minimum", "mul", "sub")
_KERNELS: Mapping[Kernel, Kernel] = {
    UNARY_KERNELS["copy"]: Kernel(copy_rows, name="copy_repeated"),
    **{BINARY_KERNELS[op]: Kernel(binary_rows, name=f"{op}_repeated", parts={"apply": BINARY[op]}) for op in _OPS},
}
"""By the kernel for any rows."""


def with_repeated_rows(call: Call) -> Call:
    """Return a call by the kernel for short rows, if operands are broadcast and rows of the result are contiguous."""
    kernel, size = _KERNELS.get(call.kernel), call.dtype.itemsize
    if kernel is None or call.dtype not in kernel.dtypes or call.alone:
        return call
    words = call.arguments
    extents = [extent for extent in words[:AXES] if isinstance(extent, int)]
    rows, n = extents[-2:]
    if n * size > vector_bytes() or rows < FEWEST_ROWS or prod(extents) < FEWEST:
        return call
    steps = [_steps(words, place) for place in range(OUT, len(words), AXES + 1) if isinstance(words[place], np.ndarray)]
    whole = (n * size, size)
    if steps[0] != whole or any(step not in (0, size) for _, step in steps) or all(each == whole for each in steps):
        return call
    return replace(call, kernel=kernel)


def _steps(words: tuple[Argument, ...], place: int) -> tuple[Argument, Argument]:
    """Return the bytes from row to row and from number to number of the operand whose words begin at a place."""
    return words[place + AXES - 1], words[place + AXES]
