"""What surrounds a step when many run in one call: rows of a batch in, numbers that differ by step in and out.

A batch of consecutive rows needs no copy where the addresses of its operands can be set instead (`bind_rows`).

Each of these kernels counts its own calls in the first word of its block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.threads import store
from engine.execution.native.inline.vectors import LINE, fetch_lines
from engine.execution.native.kernel import inline, kernel_of


@inline
def follow_one_another(rows: Any) -> Any:
    """Return whether each number is that of the row after the one before."""
    astray = 0
    for i in range(rows.size):
        astray |= rows[i] - rows[0] - i
    return astray == 0


@kernel_of(np.int64)
def bind_rows(a: Any) -> None:
    """Set addresses to those of a batch in its source where its rows follow one another, else in the buffer.

    Words: calls so far; rows of a batch; bytes of a row; source; buffer; numbers of the rows, int64, of one batch after
    the other; how many addresses; of each: where it stands, bytes from the start of the batch.
    """
    rows = view(a[5] + 8 * a[0] * a[1], a[1], np.int64)
    a[0] += 1
    start = a[3] + rows[0] * a[2] if follow_one_another(rows) else a[4]
    for i in range(a[6]):
        view(a[7 + 2 * i], 1, np.int64)[0] = start + a[8 + 2 * i]


@inline
def fetch_ahead(a: Any, rows: Any, following: Any, place: Any) -> None:
    """Fetch the row that is copied some rows later, unless that is none: memory takes as long as many copies."""
    if a[11] == 0:
        return
    later = place + a[11]
    row = rows[later] if later < rows.size else following[later - rows.size]
    start = a[5] + row * a[6]
    fetch_lines(start, (start % LINE + a[4] + LINE - 1) // LINE)


@kernel_of(np.int64)
def gather_rows(a: Any) -> None:
    """Copy the rows of a batch, or of a shard's part of one: as one block where they follow one another.

    Words: calls so far; rows of a batch; how many of them come before the part, and are in it; bytes of a row; source,
    the bytes from one row to the next; target; numbers of the rows, int64, of one batch after the other; whether a
    batch whose rows follow one another is bound, and not copied; how many batches there are; how many rows before it is
    copied a row is fetched, at most as many as there are in the part, or 0 where all are in caches.
    """
    first, count, size = a[2], a[3], a[4]
    batch = view(a[8] + 8 * a[0] * a[1], a[1], np.int64)
    rows = view(a[8] + 8 * (a[0] * a[1] + first), count, np.int64)
    a[0] += 1
    # What is fetched behind the part is of the next batch's; the last batch has none.
    following = view(a[8] + 8 * (a[0] * a[1] + first), count, np.int64) if a[0] < a[10] else rows
    if a[9] != 0 and follow_one_another(batch):
        return
    if follow_one_another(rows) and a[6] == size and (count * size) % 8 == 0 and count > 0:
        block, whole = view(a[5] + rows[0] * size, count * size // 8, np.int64), view(a[7], count * size // 8, np.int64)
        for j in range(whole.size):
            whole[j] = block[j]
    elif size % 8 == 0:
        for i in range(rows.size):
            fetch_ahead(a, rows, following, i)
            source, target = (
                view(a[5] + rows[i] * a[6], size // 8, np.int64),
                view(a[7] + i * size, size // 8, np.int64),
            )
            for j in range(target.size):
                target[j] = source[j]
    elif size % 4 == 0:
        for i in range(rows.size):
            fetch_ahead(a, rows, following, i)
            short, to = view(a[5] + rows[i] * a[6], size // 4, np.int32), view(a[7] + i * size, size // 4, np.int32)
            for j in range(to.size):
                to[j] = short[j]
    else:
        for i in range(rows.size):
            fetch_ahead(a, rows, following, i)
            octets, place = view(a[5] + rows[i] * a[6], size, np.uint8), view(a[7] + i * size, size, np.uint8)
            for j in range(place.size):
                place[j] = octets[j]


@kernel_of(np.int64)
def feed(a: Any) -> None:
    """Copy words from tables of what each step is given. Words: calls so far; tables; of each: target, table, words."""
    for i in range(a[1]):
        words = a[4 + 3 * i]
        target, table = view(a[2 + 3 * i], words, np.int64), view(a[3 + 3 * i] + 8 * words * a[0], words, np.int64)
        for j in range(target.size):
            target[j] = table[j]
    a[0] += 1


@kernel_of(np.int64)
def log(a: Any) -> None:
    """Copy bytes to tables of what each step gives. Words: calls so far; tables; of each: source, table, bytes."""
    for i in range(a[1]):
        size = a[4 + 3 * i]
        source, table = view(a[2 + 3 * i], size, np.uint8), view(a[3 + 3 * i] + size * a[0], size, np.uint8)
        for j in range(table.size):
            table[j] = source[j]
    a[0] += 1


@kernel_of(np.int64)
def halt_unless(a: Any) -> None:
    """Tell the machine to stop after this step unless something is true. Words: the truth value; where to say so."""
    if view(a[0], 1, np.uint8)[0] == 0:
        store(a[1], 1)
