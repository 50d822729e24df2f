"""Average pooling with fixed windows and with bins, and the transposes that their gradients are."""

from __future__ import annotations

import math
from typing import Any

from engine.core.shape_rules import normalize_axis
from engine.core.value import Array
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.vectors import add_row, copy_row
from engine.execution.native.inline.windows import (
    BEFORE,
    COUNT,
    EXTENT,
    GEOMETRY,
    IMAGES,
    KERNEL,
    STRIDE,
    WIDTH,
    clipped,
    copied_columns,
    row_met,
)
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.kernels.max_pooling import SPARE, window_words
from engine.execution.native.lowering import Argument, Call, Scratch, Work, alike, lowers

IMAGE, POOLED = GEOMETRY, GEOMETRY + 1
"""Words of an average pooling: addresses of what is the larger, and of the means or their cotangent;"""
ROWS, SUMS, DIVISORS, CELLS = GEOMETRY + 2, GEOMETRY + 3, GEOMETRY + 4, GEOMETRY + 5
"""scratch memory for a wide copy, for sums of windows and what they are divided by; numbers in the copy;"""
PADDED, FIXED, DIVISOR = GEOMETRY + 6, GEOMETRY + 7, GEOMETRY + 8
"""does padding count, is there one divisor for all, and which."""


@kernel
def avg_pool(a: Any) -> None:
    """Divide the sum of each window by how many elements count."""
    channel, cells = a[EXTENT] * a[EXTENT + 1] * a[EXTENT + 2], a[COUNT + 1] * a[WIDTH]
    clear(a[ROWS], a[CELLS], real)
    sums, divisors = view(a[SUMS], cells, real), view(a[DIVISORS], cells, real)
    step = a[STRIDE + 2]
    for plane in range(a[COUNT]):
        write_divisors(a, plane, real)
        for image in range(a[IMAGES]):
            add_up_rows(a, a[IMAGE] + image * channel * itemsize, plane, itemsize, real)
            for e in range(sums.size):
                sums[e] = real(0)
            for k in range(a[KERNEL + 2]):
                add_apart(a[SUMS], a[ROWS] + k * itemsize, cells, step, real)
            for e in range(sums.size):
                sums[e] /= divisors[e]
            target = a[POOLED] + (image * a[COUNT] + plane) * a[COUNT + 1] * a[COUNT + 2] * itemsize
            for row in range(a[COUNT + 1]):
                copy_row(
                    target + row * a[COUNT + 2] * itemsize, a[SUMS] + row * a[WIDTH] * itemsize, a[COUNT + 2], real(0)
                )


@kernel
def avg_pool_input(a: Any) -> None:
    """Add each number, divided as its window's sum was, to all elements of the window."""
    channel, cells = a[EXTENT] * a[EXTENT + 1] * a[EXTENT + 2], a[COUNT + 1] * a[WIDTH]
    clear(a[SUMS], cells, real)
    clear(a[IMAGE], a[IMAGES] * channel, real)
    shares, divisors = view(a[SUMS], cells, real), view(a[DIVISORS], cells, real)
    step = a[STRIDE + 2]
    for plane in range(a[COUNT]):
        write_divisors(a, plane, real)
        for image in range(a[IMAGES]):
            source = a[POOLED] + (image * a[COUNT] + plane) * a[COUNT + 1] * a[COUNT + 2] * itemsize
            for row in range(a[COUNT + 1]):
                copy_row(
                    a[SUMS] + row * a[WIDTH] * itemsize, source + row * a[COUNT + 2] * itemsize, a[COUNT + 2], real(0)
                )
            for e in range(shares.size):
                shares[e] /= divisors[e]
            clear(a[ROWS], a[CELLS], real)
            for k in range(a[KERNEL + 2]):
                spread_apart(a[ROWS] + k * itemsize, a[SUMS], cells, step, real)
            spread_rows(a, a[IMAGE] + image * channel * itemsize, plane, itemsize, real)


@inline
def clear(address: Any, count: Any, real: Any) -> None:
    """Set numbers to zero."""
    numbers = view(address, count, real)
    for e in range(numbers.size):
        numbers[e] = real(0)


@inline
def add_apart(sums: Any, source: Any, count: Any, step: Any, real: Any) -> None:
    """Add numbers that are `step` apart to `count` sums."""
    if step == 1:
        add_row(sums, source, count, real(0))
        return
    whole, terms = view(sums, count, real), view(source, count * step, real)
    for e in range(whole.size):
        whole[e] += terms[e * step]


@inline
def spread_apart(target: Any, shares: Any, count: Any, step: Any, real: Any) -> None:
    """Add `count` numbers to sums that are `step` apart."""
    if step == 1:
        add_row(target, shares, count, real(0))
        return
    whole, terms = view(shares, count, real), view(target, count * step, real)
    for e in range(whole.size):
        terms[e * step] += whole[e]


@inline
def write_divisors(a: Any, plane: Any, real: Any) -> None:
    """Write what the sums of a plane's windows are divided by; 1 in the junk between rows."""
    divisors = view(a[DIVISORS], a[COUNT + 1] * a[WIDTH], real)
    for e in range(divisors.size):
        divisors[e] = real(float_of(a[DIVISOR])) if a[FIXED] else real(1)
    if a[FIXED]:
        return
    padded = a[PADDED]
    depth = clipped(a, 0, plane, padded * a[BEFORE])
    for row in range(a[COUNT + 1]):
        height = clipped(a, 1, row, padded * a[BEFORE + 1])
        for column in range(a[COUNT + 2]):
            width = clipped(a, 2, column, padded * a[BEFORE + 2])
            divisors[row * a[WIDTH] + column] = real(depth * height * width)


@inline
def add_up_rows(a: Any, source: Any, plane: Any, itemsize: Any, real: Any) -> None:
    """Fill the wide copy with sums over planes and rows of the windows."""
    count = copied_columns(a)
    for row in range(a[COUNT + 1]):
        target = a[ROWS] + (row * a[WIDTH] * a[STRIDE + 2] + a[BEFORE + 2]) * itemsize
        clear(target, count, real)
        for i in range(a[KERNEL]):
            for j in range(a[KERNEL + 1]):
                met = row_met(a, plane, row, i, j)
                if met >= 0:
                    add_row(target, source + met * a[EXTENT + 2] * itemsize, count, real(0))


@inline
def spread_rows(a: Any, target: Any, plane: Any, itemsize: Any, real: Any) -> None:
    """Add the rows of the wide copy to all rows that their windows meet."""
    count = copied_columns(a)
    for row in range(a[COUNT + 1]):
        source = a[ROWS] + (row * a[WIDTH] * a[STRIDE + 2] + a[BEFORE + 2]) * itemsize
        for i in range(a[KERNEL]):
            for j in range(a[KERNEL + 1]):
                met = row_met(a, plane, row, i, j)
                if met >= 0:
                    add_row(target + met * a[EXTENT + 2] * itemsize, source, count, real(0))


def pooling_call(pooling: Any, image: Array, pooled: Array, work: Work) -> list[Call] | None:
    """Return the call of a pooling between an image and its means."""
    if not alike(image, pooled) or not pooled.size or not image.size:
        return None
    words, _, cells = window_words(image.shape[2:], pooled.shape[2:], work)
    size, kernel, stride = image.itemsize, work.attrs["kernel"][-1], work.attrs["stride"][-1]
    wide = -(-(cells * stride + kernel + SPARE) // 16) * 16
    divisor = work.attrs["divisor"]
    operands: tuple[Argument, ...] = (
        image, pooled, Scratch(), Scratch(wide * size), Scratch(2 * wide * size), wide,
        bool(work.attrs["count_include_pad"]), divisor is not None, float(divisor or 1),
    )  # fmt: skip
    return [Call(pooling, image.dtype, (image.shape[0] * image.shape[1], *words, *operands), 3 * wide * size)]


@lowers("avg_pool")
def _(work: Work) -> list[Call] | None:
    return pooling_call(avg_pool, work.inputs[0], work.outputs[0], work)


@lowers("avg_pool_input")
def _(work: Work) -> list[Call] | None:
    return pooling_call(avg_pool_input, work.outputs[0], work.inputs[0], work)


@kernel
def bin_mean(a: Any) -> None:
    """Words: extents before, along and behind the axis; bins; x, out."""
    before, extent, behind, bins = a[0], a[1], a[2], a[3]
    for i in range(before):
        for b in range(bins):
            first, last = b * extent // bins, ((b + 1) * extent + bins - 1) // bins
            target, source = a[5] + (i * bins + b) * behind * itemsize, a[4] + i * extent * behind * itemsize
            clear(target, behind, real)
            for place in range(first, last):
                add_row(target, source + place * behind * itemsize, behind, real(0))
            sums = view(target, behind, real)
            for e in range(sums.size):
                sums[e] /= real(last - first)


@kernel
def bin_mean_back(a: Any) -> None:
    """Words: extents before, along and behind the axis; bins; x, out; scratch memory for the shares of a bin."""
    before, extent, behind, bins = a[0], a[1], a[2], a[3]
    clear(a[5], before * extent * behind, real)
    for i in range(before):
        for b in range(bins):
            first, last = b * extent // bins, ((b + 1) * extent + bins - 1) // bins
            whole, shares = view(a[4] + (i * bins + b) * behind * itemsize, behind, real), view(a[6], behind, real)
            for e in range(shares.size):
                shares[e] = whole[e] / real(last - first)
            for place in range(first, last):
                add_row(a[5] + (i * extent + place) * behind * itemsize, a[6], behind, real(0))


def bin_words(large: Array, small: Array, axis: int) -> tuple[int, int, int, int] | None:
    """Return the extents of an array before, along and behind an axis, and its bins."""
    if not alike(large, small) or not large.size:
        return None
    place = normalize_axis(axis, large.ndim)
    before, behind = math.prod(large.shape[:place]), math.prod(large.shape[place + 1 :])
    return before, large.shape[place], behind, small.shape[place]


@lowers("bin_mean")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    words = bin_words(x, out, work.attrs["axis"])
    return None if words is None else [Call(bin_mean, x.dtype, (*words, x, out))]


@lowers("bin_mean_back")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    words = bin_words(out, x, work.attrs["axis"])
    if words is None:
        return None
    return [Call(bin_mean_back, x.dtype, (*words, x, out, Scratch()), words[2] * x.itemsize)]
