"""Max pooling with the places of the maxima, and its transpose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from engine.execution.native.inline.maxima import larger_apart, larger_row, window_maxima
from engine.execution.native.inline.pointers import size_of, view
from engine.execution.native.inline.vectors import copy_row, number_at
from engine.execution.native.inline.windows import (
    BEFORE,
    COUNT,
    DILATION,
    EXTENT,
    GEOMETRY,
    IMAGES,
    KERNEL,
    STRIDE,
    WIDTH,
    copied_columns,
    row_met,
)
from engine.execution.native.kernel import BITS, FLOATS, Kernel, inline, itemsize, kernel, real, stored
from engine.execution.native.lowering import Call, Scratch, Status, Work, alike, are_bfloat16, lowers

NOWHERE = 2**31 - 1
"""The place of padding, which loses against every element of the same value."""
SPARE = 64
"""Numbers behind the end of scratch memory that whole registers may touch."""

SOURCE, TARGET, INDEX = GEOMETRY, GEOMETRY + 1, GEOMETRY + 2
"""Words of a max pooling: addresses of the image, the maxima and their places;"""
ROWS, PLACES, BEST, FOUND, CELLS = GEOMETRY + 3, GEOMETRY + 4, GEOMETRY + 5, GEOMETRY + 6, GEOMETRY + 7
"""scratch memory for a wide copy and the places of its numbers, for maxima and theirs; numbers in the copy."""

INSIDE_FOUND, INSIDE_OFFSETS = GEOMETRY + 3, GEOMETRY + 4
"""Those of one whose windows lie inside the image: scratch memory for places, and for where elements lie."""


@kernel
def max_pool(a: Any) -> None:
    """Find the largest element of each window and its place among the elements of its channel."""
    channel = a[EXTENT] * a[EXTENT + 1] * a[EXTENT + 2]
    found = a[COUNT] * a[COUNT + 1] * a[COUNT + 2]
    rows, places = view(a[ROWS], a[CELLS], real), view(a[PLACES], a[CELLS], np.int32)
    for e in range(rows.size):
        rows[e] = real(-np.inf)
        places[e] = np.int32(NOWHERE)
    cells = a[COUNT + 1] * a[WIDTH]
    for image in range(a[IMAGES]):
        source = a[SOURCE] + image * channel * itemsize
        for plane in range(a[COUNT]):
            along_rows(a, source, plane, itemsize, real)
            along_columns(a, cells, itemsize, real)
            first = image * found + plane * a[COUNT + 1] * a[COUNT + 2]
            for row in range(a[COUNT + 1]):
                place = first + row * a[COUNT + 2]
                copy_row(a[TARGET] + place * itemsize, a[BEST] + row * a[WIDTH] * itemsize, a[COUNT + 2], real(0))
            if a[WIDTH] == a[COUNT + 2]:
                widen(a[INDEX] + first * 8, a[FOUND], cells)
            else:
                for row in range(a[COUNT + 1]):
                    place = first + row * a[COUNT + 2]
                    widen(a[INDEX] + place * 8, a[FOUND] + row * a[WIDTH] * 4, a[COUNT + 2])


def pool_inside(a: Any) -> None:
    """Find the largest element of each window and its place, where no window reaches over the image's end.

    Words: those of the geometry; addresses of the image, the maxima and their places; scratch memory for the places of
    a plane, int32, and for where the elements of a window lie, int64.
    """
    found, offsets = a[INSIDE_FOUND], view(a[INSIDE_OFFSETS], a[KERNEL] * a[KERNEL + 1] * a[KERNEL + 2], np.int64)
    tap = 0
    for i in range(a[KERNEL]):
        for j in range(a[KERNEL + 1]):
            for k in range(a[KERNEL + 2]):
                line = i * a[DILATION] * a[EXTENT + 1] + j * a[DILATION + 1]
                offsets[tap] = line * a[EXTENT + 2] + k * a[DILATION + 2]
                tap += 1
    columns, done = a[COUNT + 2], 0
    for image in range(a[IMAGES]):
        source = a[SOURCE] + image * a[EXTENT] * a[EXTENT + 1] * a[EXTENT + 2] * size_of(stored)
        for plane in range(a[COUNT]):
            for row in range(a[COUNT + 1]):
                first = (plane * a[STRIDE] * a[EXTENT + 1] + row * a[STRIDE + 1]) * a[EXTENT + 2]
                window_maxima(
                    a[TARGET] + (done + row * columns) * size_of(stored), found + row * columns * 4,
                    source + first * size_of(stored), first, a[INSIDE_OFFSETS], offsets.size, a[STRIDE + 2], columns,
                    stored(0),
                )  # fmt: skip
            widen(a[INDEX] + done * 8, found, a[COUNT + 1] * columns)
            done += a[COUNT + 1] * columns


max_pool_inside = Kernel(pool_inside, name="max_pool_inside")
max_pool_inside_bfloat16 = Kernel(pool_inside, FLOATS[:1], name="max_pool_inside_bfloat16", stored=BITS)


@inline
def along_rows(a: Any, source: Any, plane: Any, itemsize: Any, real: Any) -> None:
    """Fill the wide copy with the maxima over planes and rows of the windows."""
    count = copied_columns(a)
    for row in range(a[COUNT + 1]):
        start = row * a[WIDTH] * a[STRIDE + 2] + a[BEFORE + 2]
        fresh = 1
        for i in range(a[KERNEL]):
            for j in range(a[KERNEL + 1]):
                met = row_met(a, plane, row, i, j)
                if met >= 0:
                    first = met * a[EXTENT + 2]
                    larger_row(
                        a[ROWS] + start * itemsize, a[PLACES] + start * 4, source + first * itemsize, first, count,
                        fresh, real(0),
                    )  # fmt: skip
                    fresh = 0


@inline
def along_columns(a: Any, cells: Any, itemsize: Any, real: Any) -> None:
    """Find the maxima over the columns of the windows."""
    step = a[STRIDE + 2]
    for k in range(a[KERNEL + 2]):
        shift = k * a[DILATION + 2]
        rows, places = a[ROWS] + shift * itemsize, a[PLACES] + shift * 4
        if step <= 2:
            larger_apart(a[BEST], a[FOUND], rows, places, cells, step, k == 0, real(0))
        else:
            fold(a, rows, places, cells, k == 0, real)


@inline
def fold(a: Any, rows: Any, places: Any, cells: Any, fresh: Any, real: Any) -> None:
    """Do what `larger_apart` does for windows further apart."""
    step = a[STRIDE + 2]
    best, found = view(a[BEST], cells, real), view(a[FOUND], cells, np.int32)
    numbers, positions = view(rows, cells * step, real), view(places, cells * step, np.int32)
    for e in range(best.size):
        number, place, old, at = numbers[e * step], positions[e * step], best[e], found[e]
        larger = (number > old or number != number) and old == old
        equal = number == old or (number != number and old != old)
        if fresh or larger or (equal and place < at):
            best[e] = number
            found[e] = place


@inline
def widen(target: Any, source: Any, count: Any) -> None:
    """Write int32 as int64."""
    wide, narrow = view(target, count, np.int64), view(source, count, np.int32)
    for e in range(wide.size):
        wide[e] = np.int64(narrow[e])


def add_at_places(a: Any) -> None:
    """Add numbers at their places among those of their channel, which begin as zeros.

    Words: channels of all images; numbers and places of each; numbers; places; result; status; scratch memory for the
    sums of a channel where numbers are stored in another dtype.
    """
    for channel in range(a[0]):
        target = a[5] + channel * a[2] * size_of(stored)
        channel_sums = target if size_of(stored) == itemsize else a[7]
        sums = view(channel_sums, a[2], real)
        for e in range(sums.size):
            sums[e] = real(0)
        terms, places = a[3] + channel * a[1] * size_of(stored), view(a[4] + channel * a[1] * 8, a[1], np.int64)
        for e in range(places.size):
            place = places[e]
            if place >= 0 and place < a[2]:
                term = number_at(terms + e * size_of(stored), (real(0), stored(0)))
                view(channel_sums + place * itemsize, 1, real)[0] += term
            else:
                view(a[6], 1, numba.int64)[0] = 1
        if size_of(stored) != itemsize:
            copy_row(target, channel_sums, a[2], (stored(0), real(0)))


max_unpool = Kernel(add_at_places, name="max_unpool")
max_unpool_bfloat16 = Kernel(add_at_places, FLOATS[:1], name="max_unpool_bfloat16", stored=BITS)


def window_words(extents: Sequence[int], counts: Sequence[int], work: Work) -> tuple[list[int], int, int]:
    """Return the words of a pooling's geometry behind the first, its width, and the numbers of a wide copy."""
    attrs, missing = work.attrs, 3 - len(extents)
    kernel, stride, padding = attrs["kernel"], attrs["stride"], attrs["padding"]
    dilation = attrs.get("dilation", (1,) * len(extents))
    reach = (counts[-1] - 1) * stride[-1] + (kernel[-1] - 1) * dilation[-1] + 1
    width = max(counts[-1], -(-reach // stride[-1]))
    ones, zeros = [1] * missing, [0] * missing
    words = [*ones, *extents, *ones, *counts, *ones, *kernel, *ones, *stride, *zeros, *padding, *ones, *dilation, width]
    rows = counts[-2] if len(counts) > 1 else 1
    return words, width, rows * width


def _lie_inside(extents: Sequence[int], counts: Sequence[int], work: Work) -> bool:
    """Return whether no window reaches over an end, and windows follow one another by 1 or 2 columns."""
    attrs = work.attrs
    axes = zip(extents, counts, attrs["kernel"], attrs["stride"], attrs["dilation"], strict=True)
    inside = all((count - 1) * step + (taps - 1) * apart < extent for extent, count, taps, step, apart in axes)
    return inside and attrs["stride"][-1] <= 2 and not any(attrs["padding"])


@lowers("max_pool")
def _(work: Work) -> list[Call] | None:
    (x,), (best, index) = work.inputs, work.outputs
    halves = are_bfloat16(x, best)
    if not (halves or alike(x, best)) or not index.flags.c_contiguous:
        return None
    if not best.size or math.prod(x.shape[2:]) >= NOWHERE:
        return None
    words, _, cells = window_words(x.shape[2:], best.shape[2:], work)
    channels = x.shape[0] * x.shape[1]
    if _lie_inside(x.shape[2:], best.shape[2:], work):
        offsets = -(-math.prod(best.shape[-2:]) * 4 // 64) * 64
        inside = (channels, *words, x, best, index, Scratch(), Scratch(offsets))
        code, dtype = (max_pool_inside_bfloat16, FLOATS[0]) if halves else (max_pool_inside, x.dtype)
        return [Call(code, dtype, inside, offsets + 8 * math.prod(work.attrs["kernel"]))]
    if halves:
        return None
    stride, size = work.attrs["stride"][-1], x.itemsize
    spread = cells * stride + work.attrs["kernel"][-1] * work.attrs["dilation"][-1] + SPARE
    wide = -(-spread // 16) * 16
    places = wide * size
    maxima = places + wide * 4
    found = maxima + wide * size
    scratch = Scratch(), Scratch(places), Scratch(maxima), Scratch(found)
    return [Call(max_pool, x.dtype, (channels, *words, x, best, index, *scratch, wide), found + wide * 4)]


@lowers("max_unpool")
def _(work: Work) -> list[Call] | None:
    (x, index), (out,) = work.inputs, work.outputs
    halves = are_bfloat16(x, out)
    if not (halves or alike(x, out)) or index.dtype != np.int64 or not index.flags.c_contiguous or not out.size:
        return None
    channels = out.shape[0] * out.shape[1]
    words = (channels, x.size // channels, out.size // channels, x, index, out, Status(), Scratch())
    if halves:
        return [Call(max_unpool_bfloat16, FLOATS[0], words, out.size // channels * FLOATS[0].itemsize)]
    return [Call(max_unpool, x.dtype, words)]
