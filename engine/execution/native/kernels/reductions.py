"""Sums over axes: of rows by vector registers, of columns by blocks of rows; blocks are added up in float64."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axes
from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.short_softmax import TOGETHER, read_rows
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import FLOATS, Kernel, itemsize, kernel, real
from engine.execution.native.kernels.counting import total_calls
from engine.execution.native.lowering import Call, Scratch, Work, lowers

PIECE = 2048
"""Elements of a row that are added up in its own dtype, in as many lanes as the registers have."""
ROWS = 64
"""Rows of a block that are added up in their own dtype."""
WIDTH, REGISTER = 128, 16
"""Most columns that are made of several rows, and the numbers of which they are a multiple if they can be."""
FEWEST = 4
"""Fewest such columns that are added up."""


def term(x: Any) -> Any:
    """Stand for what is summed of an element."""
    raise NotImplementedError


def row_sums(a: Any) -> None:
    """Sum over an axis of contiguous elements and one around it.

    Words: how many sums; extents of the outer and the inner axis; out; x, the bytes from one sum's elements to the
    next's, and along the outer axis.
    """
    sums, outer, inner = a[0], a[1], a[2]
    out = view(a[3], sums, real)
    for s in range(out.size):
        total = 0.0
        for r in range(outer):
            row = a[4] + s * a[5] + r * a[6]
            for start in range(0, inner, PIECE):
                piece = view(row + start * itemsize, min(PIECE, inner - start), real)
                part = real(0)
                for i in range(piece.size):
                    part += term(piece[i])
                total += np.float64(part)
        out[s] = real(total)


@kernel
def short_row_sums(a: Any) -> None:
    """Sum rows that fill no register, in float64; registers hold numbers of many rows, which are transposed for it.

    Words: rows, their length; out; x, the bytes from row to row; scratch for transposed rows, and for sums in float64;
    lanes of a register.
    """
    length, lanes = a[1], a[7]
    for first in range(0, a[0], TOGETHER):
        rows = min(TOGETHER, a[0] - first)
        out, totals = view(a[2] + first * itemsize, rows, real), view(a[6], rows, np.float64)
        read_rows(a[5], a[3] + first * a[4], a[4], rows, length, lanes, itemsize, real)
        fill(totals, 0.0)
        for i in range(length):
            terms = view(a[5] + i * TOGETHER * itemsize, rows, real)
            for e in range(totals.size):
                totals[e] += np.float64(terms[e])
        for e in range(out.size):
            out[e] = real(totals[e])


@kernel
def column_sums(a: Any) -> None:
    """Sum over an axis around contiguous elements.

    Words: how many lots of columns; rows; columns; out; x, the bytes from one lot to the next, and from row to row;
    scratch for a sum of every column in its own dtype and one in float64; how many rows are in a group with one
    stride, and the bytes from group to group; columns of the result, which divide those of x; and the number of
    remaining rows, each as long as the result.
    """
    lots, rows, columns, together, kept, rest = a[0], a[1], a[2], a[9], a[11], a[12]
    block = view(a[7], columns, real)
    totals = view(a[8], columns, np.float64)
    for lot in range(lots):
        out = view(a[3] + lot * kept * itemsize, kept, real)
        first = a[4] + lot * a[5]
        for i in range(totals.size):
            totals[i] = 0.0
        for start in range(0, rows, ROWS):
            for i in range(block.size):
                block[i] = real(0)
            for r in range(start, min(start + ROWS, rows)):
                row = view(first + (r // together) * a[10] + (r % together) * a[6], columns, real)
                for i in range(row.size):
                    block[i] += row[i]
            for i in range(totals.size):
                totals[i] += np.float64(block[i])
        for start in range(kept, columns, kept):
            for i in range(kept):
                totals[i] += totals[start + i]
        for r in range(rest):
            row = view(first + rows * a[6] + r * kept * itemsize, kept, real)
            for i in range(row.size):
                totals[i] += np.float64(row[i])
        for i in range(out.size):
            out[i] = real(totals[i])


sums = Kernel(row_sums, name="sums", parts={"term": lambda x: x})
square_sums = Kernel(row_sums, name="square_sums", parts={"term": lambda x: x * x})


@kernel
def divide(a: Any) -> None:
    """Divide by a number. Words: elements; x, which is written over; the number."""
    x = view(a[1], a[0], real)
    number = real(a[2])
    for i in range(x.size):
        x[i] /= number


@lowers("mean")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    calls = sum_calls(x, out, normalize_axes(work.attrs["axis"], x.ndim))
    return None if calls is None else [*calls, Call(divide, x.dtype, (out.size, out, x.size // out.size))]


@lowers("sum")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    axes = normalize_axes(work.attrs["axis"], x.ndim)
    return total_calls(x, out, axes) or sum_calls(x, out, axes)


@lowers("sum_to")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    extra = x.ndim - out.ndim
    stretched = (extra + axis for axis, extent in enumerate(out.shape) if extent == 1 and x.shape[extra + axis] != 1)
    axes = (*range(extra), *stretched)
    return total_calls(x, out, axes) or sum_calls(x, out, axes)


@lowers("sum_of_squares")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    runs = _runs(x, range(x.ndim))
    if x.dtype not in FLOATS or not x.size or runs is None or len(runs) > 2:
        return None
    (_, outer, step), (_, inner, _) = ((True, 1, 0), *runs)[-2:]
    return [Call(square_sums, x.dtype, (1, outer, inner, out, x, 0, step))]


def sum_calls(x: Array, out: Array, axes: Sequence[int]) -> list[Call] | None:
    """Return the calls that sum `x` over `axes` into the row-major `out`."""
    if x.dtype not in FLOATS or out.dtype != x.dtype or not x.size or not out.flags.c_contiguous:
        return None
    runs = _runs(x, axes)
    if runs is None:
        return None
    summed = [reduced for reduced, _, _ in runs]
    if summed in ([True], [False, True], [True, False, True], [False]):
        return [_rows(x, out, runs)]
    if summed in ([True, False], [False, True, False], [True, True, False]):
        return [_columns(x, out, runs)]
    return None


def _runs(x: Array, axes: Collection[int]) -> list[tuple[bool, int, int]] | None:
    """Join axes that lie evenly and are all summed or all kept: (summed, extent, stride); the last is contiguous."""
    runs: list[tuple[bool, int, int]] = []
    for axis, (extent, stride) in enumerate(zip(x.shape, x.strides, strict=True)):
        if extent == 1:
            continue
        reduced = axis in axes
        if runs and runs[-1][0] == reduced and runs[-1][2] == stride * extent:
            runs[-1] = (reduced, runs[-1][1] * extent, stride)
        else:
            runs.append((reduced, extent, stride))
    if not runs:
        return [(True, 1, x.itemsize)]
    return runs if runs[-1][2] == x.itemsize else None


def _rows(x: Array, out: Array, runs: list[tuple[bool, int, int]]) -> Call:
    # From the left: summed, kept, summed; what is missing has extent 1.
    outer = runs[0] if len(runs) == 3 else (True, 1, 0)
    kept = next((run for run in runs if not run[0]), (False, 1, 0))
    inner = runs[-1] if runs[-1][0] else (True, 1, 0)
    lanes = vector_bytes() // x.itemsize
    if outer[1] == 1 and kept[1] >= lanes > inner[1]:
        block = inner[1] * TOGETHER * x.itemsize
        words = (kept[1], inner[1], out, x, kept[2], Scratch(), Scratch(block), lanes)
        return Call(short_row_sums, x.dtype, words, scratch=block + TOGETHER * 8)
    return Call(sums, x.dtype, (kept[1], outer[1], inner[1], out, x, kept[2], outer[2]))


def _columns(x: Array, out: Array, runs: list[tuple[bool, int, int]]) -> Call:
    lots = runs[0] if len(runs) == 3 and not runs[0][0] else (False, 1, 0)
    outer = runs[0] if len(runs) == 3 and runs[0][0] else (True, 1, 0)
    rows, columns = runs[-2], runs[-1]
    joined = _rows_as_one(rows, columns, x.itemsize) if outer[1] == 1 else 1
    count, rest = divmod(rows[1], joined)
    width = columns[1] * joined
    own = -(-width * x.itemsize // 64) * 64
    scratch = (Scratch(), Scratch(own))
    apart = (count, outer[2], columns[1], rest)
    words = (lots[1], outer[1] * count, width, out, x, lots[2], rows[2] * joined, *scratch, *apart)
    return Call(column_sums, x.dtype, words, scratch=own + width * 8)


def _rows_as_one(rows: tuple[bool, int, int], columns: tuple[bool, int, int], itemsize: int) -> int:
    """Return how many rows, which lie behind one another, are added up as one: short ones fill no register."""
    most = min(WIDTH // columns[1], rows[1] // FEWEST)
    if most < 2 or rows[2] != columns[1] * itemsize:
        return 1
    return next((count for count in range(most, 1, -1) if count * columns[1] % REGISTER == 0), most)
