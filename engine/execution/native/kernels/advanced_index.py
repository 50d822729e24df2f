"""Elements read, written and added up at several indices at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import Kernel
from engine.execution.native.kernels.arrangement import as_bits, copied, joined_calls
from engine.execution.native.kernels.placing import set_rows
from engine.execution.native.kernels.row_sums import MOST_SUMS, Rows, added_up, summed
from engine.execution.native.kernels.tables import INDICES, index_at, lookup, moves, row_lots
from engine.execution.native.lowering import Argument, Call, Scratch, Status, Work, alike, lowers

FIRST, WORDS = 4, 6
"""Where the words of the first array of indices begin, and how many each array has."""
MOST_CALLS = 64
"""Tables for which there may be a call each."""


def flatten_indices(a: Any) -> None:
    """Write the place among the elements of several axes that an index for each of these names.

    Words: axes; how many places; out; where to say that an index is none of its axis. Of each axis: indices, are they
    int64, how they lie, as in `index_at`; its extent.
    """
    places = view(a[2], a[1], np.int64)
    for i in range(places.size):
        place = np.int64(0)
        for each in range(a[0]):
            at = FIRST + each * WORDS
            extent, index = a[at + 5], index_at(a[at], a[at + 1], i, a[at + 2], a[at + 3], a[at + 4])
            if index < -extent or index >= extent:
                view(a[3], 1, np.int64)[0] = 1
                index = np.int64(0)
            place = place * extent + (index + extent if index < 0 else index)
        places[i] = place


flat_places = Kernel(flatten_indices, (INT64,), name="flat_places")


@dataclass(frozen=True, slots=True)
class _Indexed:
    """Axes beside one another, with an index for each, as one axis with one index.

    Attributes:
        calls: what finds the indices.
        before: how many elements the axes in front have.
        extent: of the axes.
        behind: of those behind.
        count: how many indices there are.
        words: where they are, are they int64, how they lie, and where to say that one is wrong.
        used: bytes of scratch memory that they are in.
    """

    calls: list[Call]
    before: int
    extent: int
    behind: int
    count: int
    words: tuple[Argument, ...]
    used: int

    def copying(self, given: Array, out: Array) -> tuple[Argument, ...]:
        """Return the words of a kernel that copies rows of `given` to `out`, of which one is indexed."""
        index, wide, *lots, status = self.words
        return (self.count, self.behind, self.extent, given, index, wide, out, status, *lots, self.before)


def _indexed(shape: tuple[int, ...], indices: list[Array], axes: tuple[int, ...]) -> _Indexed | None:
    """Return what indices of a value of a shape name; None if their axes are apart or they lie unevenly."""
    places = [axis % len(shape) for axis in axes]
    first, last = places[0], places[-1]
    if last - first >= len(places) or any(index.dtype not in INDICES for index in indices):
        return None
    spread = np.broadcast_arrays(*indices)
    found = [row_lots(index, index) for index in spread]
    words = [
        (index, index.itemsize == 8, *lots, extent)
        for index, lots, extent in zip(spread, found, shape[first : last + 1], strict=True)
        if lots is not None
    ]
    if len(words) < len(indices):
        return None
    count, extents = spread[0].size, shape[first : last + 1]
    sizes = math.prod(shape[:first]), math.prod(extents), math.prod(shape[last + 1 :]), count
    if len(indices) == 1:
        return _Indexed([], *sizes, (*words[0][:-1], Status()), 0)
    arguments = (len(indices), count, Scratch(), Status(), *(word for each in words for word in each))
    call = Call(flat_places, INT64, arguments, scratch=8 * count)
    return _Indexed([call], *sizes, (Scratch(), True, 8, count, 0, 0), 8 * count)


@lowers("index_get")
def _(work: Work) -> list[Call] | None:
    (x, *indices), (out,) = work.inputs, work.outputs
    if not out.size or not moves(x, out):
        return None
    found = _indexed(x.shape, indices, work.attrs["axes"])
    if found is None:
        return None
    x, out = as_bits(x), as_bits(out)
    return [*found.calls, Call(lookup, out.dtype, found.copying(x, out))]


@lowers("index_set")
def _(work: Work) -> list[Call] | None:
    (x, source, *indices), (out,) = work.inputs, work.outputs
    if not source.size or not alike(out, source) or x.dtype != out.dtype:
        return None
    found = _indexed(x.shape, indices, work.attrs["axes"])
    if found is None:
        return None
    return joined_calls(copied(x, out), [*found.calls, Call(set_rows, out.dtype, found.copying(source, out))])


@lowers("index_scatter")
def _(work: Work) -> list[Call] | None:
    (x, *indices), (out,) = work.inputs, work.outputs
    if not out.size or not x.size or not alike(out, x):
        return None
    found = _indexed(out.shape, indices, work.attrs["axes"])
    if found is None:
        return None
    given, step = x.reshape(found.before, found.count * found.behind), found.behind * x.itemsize
    tables = out.reshape(found.before, found.extent, found.behind)
    first = Rows(found.count, (given, step, found.count, 0), found.words)
    if found.before > 1 and tables[0].size <= MOST_SUMS:
        return [*found.calls, *summed(found.before, [first], out, found.behind, used=found.used)]
    if found.before > MOST_CALLS:
        return None
    each = (replace(first, x=(rows, *first.x[1:])) for rows in given)
    added = (added_up([rows], table, used=found.used) for rows, table in zip(each, tables, strict=True))
    return joined_calls(found.calls, *added)
