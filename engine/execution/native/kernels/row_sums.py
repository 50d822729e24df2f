"""Rows added up by index: the gradient of a lookup in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.vectors import LINE, clear_row
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.kernels.tables import INDICES, index_at, row_lots, row_step
from engine.execution.native.lowering import Argument, Call, Scratch, Status, Work, lowers

DIGIT = 8
"""Bits of an index by which a pass of the sort goes."""
MOST = 2**31
"""Indices and rows of a table are counted by int32."""
TABLE, SQUARES = 3, 6
"""Which words are the table and where the sum of its squares is written."""
FIRST, WORDS = 10, 15
"""Where the words of the first list of rows begin, and how many each list has."""
SUMS_FIRST, SUMS_WORDS = 7, 12
"""The same of `add_to_sums`."""
DENSE, MOST_SUMS = 128, 2**19
"""The most numbers of a table, for each index and in all, for which it is called."""


@inline
def report(status: Any) -> None:
    """Say that an index is none of the table's, unless the step that looked it up has said so."""
    if status != 0:
        view(status, 1, np.int64)[0] = 1


@inline
def sort_indices(a: Any, at: Any) -> Any:
    """Sort the indices of the list whose words begin at `at`, equal ones in the order they have.

    A radix sort: its time does not depend on how many rows the table has. Returns which word of a list says where its
    sorted indices are; the next one says it of where each of them stood.
    """
    count, rows = a[at], a[2]
    counts = view(a[7], 2**DIGIT, np.int64)
    keys, order = view(a[at + 11], count, np.int32), view(a[at + 12], count, np.int32)
    next_keys, next_order = view(a[at + 13], count, np.int32), view(a[at + 14], count, np.int32)
    for i in range(count):
        index = index_at(a[at + 5], a[at + 6], i, a[at + 7], a[at + 8], a[at + 9])
        if index < -rows or index >= rows:
            report(a[at + 10])
            index = np.int64(0)
        keys[i], order[i] = index + rows if index < 0 else index, i
    shift, found = 0, 11
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
        shift, found = shift + DIGIT, 24 - found
    return found


@inline
def clear_rows(table: Any, step: Any, length: Any, first: Any, stop: Any, real: Any) -> None:
    """Set rows of a table to 0."""
    if step == length * view(table, 1, real).itemsize:
        fill(view(table + first * step, (stop - first) * length, real), real(0))
    else:
        for row in range(first, stop):
            clear_row(table + row * step, length, real(0))


@inline
def add_rows_of(a: Any, at: Any, order: Any, place: Any, end: Any, out: Any, first: Any, real: Any) -> None:
    """Add the sum of a list's rows of one index to a row of the table, or write it if it is the first."""
    x, step, together, apart = a[at + 1], a[at + 2], a[at + 3], a[at + 4]
    if end == place + 1:
        only = view(x + order[place] // together * apart + order[place] % together * step, out.size, real)
        for j in range(out.size):
            out[j] = only[j] if first else out[j] + only[j]
        return
    sums = view(a[8], out.size, np.float64)
    fill(sums, 0.0)
    for i in range(place, end):
        source = view(x + order[i] // together * apart + order[i] % together * step, out.size, real)
        for j in range(sums.size):
            sums[j] += source[j]
    for j in range(out.size):
        out[j] = real(sums[j]) if first else out[j] + real(sums[j])


@inline
def squares_of(row: Any) -> Any:
    """Return the sum of the squares of a row."""
    total = 0.0
    for j in range(row.size):
        total += np.float64(row[j]) * np.float64(row[j])
    return total


@kernel
def add_by_index(a: Any) -> None:
    """Add lists of rows to the rows of a table of zeros, one list after another.

    The sum of a list's rows of one index, in their order, is one of float64 and rounded at the end.

    Words: how many lists; numbers in a row; the table's rows; out, bytes from row to row; the row that stays 0, or -1;
    where to write the sum of squares, or 0; scratch for the counts of digits, for a sum of float64, and for how far
    each list is and which row of the table comes next in it. Of each list: how many rows; x, bytes from row to row; the
    number of consecutive rows with the same stride, and the bytes from the start of one such group to the next;
    indices, are they int64, and how they lie, as in `index_at`; where to say that an index is none of the table's, 0
    where that is known; scratch for the sorted indices and where they stood, and for both again.
    """
    lists, length, rows, table, step, padding, wants_squares = a[0], a[1], a[2], a[3], a[4], a[5], a[6] != 0
    places, upcoming, found = view(a[9], lists, np.int64), view(a[9] + 8 * lists, lists, np.int64), 0
    for each in range(lists):
        found = sort_indices(a, FIRST + each * WORDS)
        places[each], upcoming[each] = 0, view(a[FIRST + each * WORDS + found], 1, np.int32)[0]
    done, squares = np.int64(0), 0.0
    while done < rows:
        row = np.int64(rows)
        for each in range(lists):
            row = min(row, upcoming[each])
        clear_rows(table, step, length, done, row, real)
        if row < rows:
            out, first = view(table + row * step, length, real), True
            for each in range(lists):
                if upcoming[each] == row:
                    at, place = FIRST + each * WORDS, places[each]
                    count, end = a[at], place + 1
                    keys = view(a[at + found], count, np.int32)
                    while end < count and keys[end] == row:
                        end += 1
                    if row != padding:
                        add_rows_of(a, at, view(a[at + found + 1], count, np.int32), place, end, out, first, real)
                        first = False
                    places[each], upcoming[each] = end, np.int64(keys[end]) if end < count else rows
            if row == padding:
                fill(out, real(0))
            if wants_squares:
                squares += squares_of(out)
        done = row + 1
    if wants_squares:
        view(a[6], 1, real)[0] = real(squares)


@kernel
def add_to_sums(a: Any) -> None:
    """Do what `add_by_index` does with a sum of float64 for each number of the table, for one that is not large.

    Words: how many tables, each with lists of its own but with the same indices; how many lists; numbers in a row; the
    table's rows; out; the row that stays 0, or -1; scratch for the sums. Of each list: how many rows; x, and how they
    lie; the bytes from one table's list to that of the next; indices and what `add_by_index` has of them but scratch.
    """
    length, rows, padding = a[2], a[3], a[5]
    sums = view(a[6], rows * length, np.float64)
    for table in range(a[0]):
        out = view(a[4] + table * sums.size * itemsize, sums.size, real)
        for each in range(a[1]):
            at = SUMS_FIRST + each * SUMS_WORDS
            x, step, together, apart = a[at + 1] + table * a[at + 5], a[at + 2], a[at + 3], a[at + 4]
            fill(sums, 0.0)
            for lot in range(a[at] // a[at + 9]):
                for j in range(a[at + 9]):
                    index = index_at(a[at + 6] + lot * a[at + 10], a[at + 7], j, a[at + 8], a[at + 9], 0)
                    if index < -rows or index >= rows:
                        report(a[at + 11])
                        continue
                    row, i = index + rows if index < 0 else index, lot * a[at + 9] + j
                    place = i * step if i < together else i // together * apart + i % together * step
                    source, target = view(x + place, length, real), view(a[6] + row * length * 8, length, np.float64)
                    for e in range(target.size):
                        target[e] += source[e]
            for j in range(out.size):
                out[j] = real(sums[j]) if each == 0 else out[j] + real(sums[j])
        if padding >= 0:
            fill(view(a[4] + (table * rows + padding) * length * itemsize, length, real), real(0))


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of rows to be added to those of a table.

    Attributes:
        count: how many.
        x: where they are, and how they lie: the words of `row_lots`.
        index: the index of each: where these are, are they int64, how they lie, and where to say that one is none of
            the table's, 0 where that is known.
    """

    count: int
    x: tuple[Argument, ...]
    index: tuple[Argument, ...]


def indexed_rows(x: Array, index: Array, *, checked: bool) -> Rows | None:
    """Return the rows of `x`, one for each index; indices that are `checked` are known to be the table's.

    None where they lie unevenly.
    """
    lots, index_lots = row_lots(x, index), row_lots(index, index)
    if index.dtype not in INDICES or not x.size or lots is None or index_lots is None:
        return None
    words = (index, index.itemsize == 8, *index_lots, 0 if checked else Status())
    return Rows(index.size, (x, *lots), words)


def added_up(lists: Sequence[Rows], out: Array, padding: int | None = None, *, used: int = 0) -> list[Call] | None:
    """Return the calls that add lists of rows, of its dtype, to the rows of a table of zeros.

    A row of the table, `padding`, may stay 0. The first `used` bytes of scratch memory are taken.
    """
    rows, length = len(out), out.size // max(len(out), 1)
    step = row_step(out, rows) if out.size and out.dtype.char in "fd" else None
    count = sum(each.count for each in lists)
    if step is None or max(rows, count) >= MOST:
        return None
    if out.flags.c_contiguous and out.size <= min(MOST_SUMS, DENSE * count):
        return summed(1, lists, out, length, padding, used=used)
    sizes = [8 * 2**DIGIT, 8 * length, 16 * len(lists), *(4 * each.count for each in lists for _ in range(4))]
    *starts, scratch = accumulate((-(-size // LINE) * LINE for size in sizes), initial=-(-used // LINE) * LINE)
    free = map(Scratch, starts)
    words: list[Argument] = [len(lists), length, rows, out, step, -1 if padding is None else padding % rows, 0]
    words += islice(free, 3)
    for each in lists:
        words += [each.count, *each.x, *each.index, *islice(free, 4)]
    return [Call(add_by_index, out.dtype, tuple(words), scratch=scratch)]


def summed(
    tables: int, lists: Sequence[Rows], out: Array, length: int, padding: int | None = None, *, used: int = 0
) -> list[Call]:
    """Return the call that does the same for one or more tables, which lie one behind another in a contiguous `out`.

    The rows of a list for one table lie behind those for another.
    """
    rows, start = out.size // (tables * length), -(-used // LINE) * LINE
    words: list[Argument] = [tables, len(lists), length, rows, out, -1 if padding is None else padding % rows]
    words.append(Scratch(start))
    for each in lists:
        words += [each.count, *each.x, each.count * length * out.itemsize, *each.index]
    return [Call(add_to_sums, out.dtype, tuple(words), scratch=start + 8 * rows * length)]


@lowers("add_rows", "add_all_rows")
def _(work: Work) -> list[Call] | None:
    pairs, (out,) = zip(work.inputs[::2], work.inputs[1::2], strict=True), work.outputs
    found = [indexed_rows(x, index, checked=True) for x, index in pairs]
    lists = [each for each in found if each is not None]
    if len(lists) < len(found) or any(x.dtype != out.dtype for x in work.inputs[::2]):
        return None
    return added_up(lists, out, work.attrs["padding_idx"])
