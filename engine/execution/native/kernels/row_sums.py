"""Rows added up by index: the gradient of a lookup in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.vectors import clear_row
from engine.execution.native.kernel import inline, kernel, real
from engine.execution.native.kernels.tables import INDICES, index_at, row_lots, row_step
from engine.execution.native.lowering import Call, Scratch, Status, Work, lowers

DIGIT = 8
"""Bits of an index by which a pass of the sort goes."""
MOST = 2**31
"""Indices and rows of a table are counted by int32."""
LINE = 64


@inline
def sorted_indices(a: Any) -> Any:
    """Return the indices in ascending order, equal ones in the order they have, and where each of them stood.

    A radix sort: its time does not depend on how many rows the table has.
    """
    count, rows = a[0], a[2]
    keys, order, counts = view(a[10], count, np.int32), view(a[11], count, np.int32), view(a[9], 2**DIGIT, np.int64)
    next_keys, next_order = view(a[12], count, np.int32), view(a[13], count, np.int32)
    for i in range(count):
        index = index_at(a[5], a[6], i, a[17], a[18], a[19])
        if a[20] != 0 and (index < -rows or index >= rows):
            view(a[20], 1, np.int64)[0] = 1
        keys[i], order[i] = index % rows, i
    shift = 0
    while (rows - 1) >> shift > 0:
        fill(counts, 0)
        for i in range(count):
            counts[(keys[i] >> shift) & (2**DIGIT - 1)] += 1
        start = 0
        for digit in range(counts.size):
            start, counts[digit] = start + counts[digit], start
        for i in range(count):
            digit = (keys[i] >> shift) & (2**DIGIT - 1)
            place = counts[digit]
            counts[digit] = place + 1
            next_keys[place], next_order[place] = keys[i], order[i]
        keys, next_keys = next_keys, keys
        order, next_order = next_order, order
        shift += DIGIT
    return keys, order


@inline
def clear_rows(table: Any, step: Any, length: Any, first: Any, stop: Any, real: Any) -> None:
    """Set rows of a table to 0."""
    if step == length * view(table, 1, real).itemsize:
        fill(view(table + first * step, (stop - first) * length, real), real(0))
    else:
        for row in range(first, stop):
            clear_row(table + row * step, length, real(0))


@kernel
def add_by_index(a: Any) -> None:
    """Add rows to those of a table of zeros, in their order; sums are in float64 and rounded at the end.

    Words: how many; numbers in a row; the table's rows; x, bytes from row to row; indices, are they int64; out, bytes
    from row to row; scratch for the counts of digits, for the sorted indices and where they stood, for both again, and
    for a sum of float64; the number of consecutive rows of x with the same stride, and the bytes from the start of one
    such group to the next; how the indices lie, as in `index_at`; where to say that an index is none of the table's, 0
    where that is known; the row that stays 0, or -1.
    """
    count, length, rows, table, step, together, apart = a[0], a[1], a[2], a[7], a[8], a[15], a[16]
    sums = view(a[14], length, np.float64)
    keys, order = sorted_indices(a)
    done, place = np.int64(0), 0
    while place < count:
        row, end = np.int64(keys[place]), place + 1
        while end < count and keys[end] == row:
            end += 1
        clear_rows(table, step, length, done, row, real)
        out = view(table + row * step, length, real)
        if row == a[21]:
            fill(out, real(0))
        elif end == place + 1:
            only = view(a[3] + order[place] // together * apart + order[place] % together * a[4], length, real)
            for j in range(out.size):
                out[j] = only[j]
        else:
            fill(sums, 0.0)
            for i in range(place, end):
                source = view(a[3] + order[i] // together * apart + order[i] % together * a[4], length, real)
                for j in range(sums.size):
                    sums[j] += source[j]
            for j in range(out.size):
                out[j] = real(sums[j])
        done, place = row + 1, end
    clear_rows(table, step, length, done, rows, real)


def added_up(x: Array, index: Array, out: Array, padding: int | None, *, checked: bool) -> list[Call] | None:
    """Return the calls that add rows, one for each index, to those of a table of zeros.

    A row of the table, `padding`, may stay 0. Indices that are `checked` are known to be the table's.
    """
    if index.dtype not in INDICES or x.dtype != out.dtype or out.dtype.char not in "fd" or not (out.size and x.size):
        return None
    count, rows, length = index.size, len(out), out.size // len(out)
    lots, index_lots, step = row_lots(x, index), row_lots(index, index), row_step(out, rows)
    if lots is None or index_lots is None or step is None or max(count, rows) >= MOST:
        return None
    sizes = [8 * 2**DIGIT, *[4 * count] * 4, 8 * length]
    places = [sum(-(-size // LINE) * LINE for size in sizes[:at]) for at in range(len(sizes) + 1)]
    words = (
        count, length, rows, x, lots[0], index, index.itemsize == 8, out, step, *map(Scratch, places[:-1]), *lots[1:],
        *index_lots, 0 if checked else Status(), -1 if padding is None else padding % rows,
    )  # fmt: skip
    return [Call(add_by_index, out.dtype, words, scratch=places[-1])]


@lowers("add_rows")
def _(work: Work) -> list[Call] | None:
    (x, index), (out,) = work.inputs, work.outputs
    return added_up(x, index, out, work.attrs["padding_idx"], checked=True)


@lowers("index_scatter")
def _(work: Work) -> list[Call] | None:
    (x, *indices), (out,) = work.inputs, work.outputs
    if tuple(work.attrs["axes"]) not in ((0,), (-out.ndim,)):
        return None
    return added_up(x, indices[0], out, None, checked=False)
