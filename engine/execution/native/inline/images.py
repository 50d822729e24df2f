"""Tiles of images inside kernels: padded copies in which every element that a kernel meets lies a fixed step away.

A tile holds some rows of the windows of some images. Its copy is laid out [channel, kernel plane, row phase, column
phase, image, row, column]: where a stride is s, phase f holds elements f, s + f, 2 s + f ..., so that neighbouring
windows read neighbours. Rows share the zeros between them. Small images lie side by side instead, [channel,
kernel plane, row phase, column phase, row, column, image]: their rows would fill no register. All functions read the
words of a block that begins with the geometry below.
"""

from __future__ import annotations

from typing import Any

import numba

from engine.execution.native.inline.matrix_tiles import transpose, transpose_every_second, transpose_in_turn
from engine.execution.native.inline.pointers import size_of, view
from engine.execution.native.inline.vectors import copy_every_second, copy_number, copy_row
from engine.execution.native.kernel import linked

IMAGES, GROUPS, INPUTS, OUTPUTS = 0, 1, 2, 3
"""Words: images, groups of channels, and the channels of a group on both sides."""
SOURCE, SOURCE_IMAGE, SOURCE_CHANNEL = 4, 5, 6
"""Address of the images, bytes from image to image and from channel to channel; below that they are row-major."""
EXTENT, COUNT, STRIDE, BEFORE, DILATION, TAPS, SHIFT = 7, 10, 13, 16, 19, 22, 25
"""Three words each, for planes, rows and columns: of the image; windows; between windows; zeros before the image;
between the elements of the kernel; elements of the kernel; where the first of them lies in a window."""
TILE_IMAGES, TILE_ROWS, PITCH, HEIGHT = 28, 29, 30, 31
"""Images and rows of windows in a tile; numbers from row to row of its copy, and rows of an image there."""
PADDED, PADDED_BYTES, LANES = 32, 33, 34
"""Scratch memory for the copy, and its bytes; numbers in a vector register."""
SIDE = 35
"""How many images lie side by side: all of a tile, or 1."""
COPY, COPY_SOURCE, COPY_IMAGES, COPY_PLANE, COPY_FIRST, COPY_ROWS = 36, 37, 38, 39, 40, 41
"""Address of the kernel that copies a tile, and what the kernel that calls it sets: see `copy_tile`."""
HEAD = 42
"""How many words the geometry has."""


@linked
def phases(a: Any, axis: Any) -> Any:
    """Return how many phases of an axis are read."""
    return min(a[STRIDE + axis], (a[TAPS + axis] - 1) * a[DILATION + axis] + 1)


@linked
def clear(address: Any, size: Any) -> None:
    """Set bytes to zero."""
    words = view(address, size // 8, numba.int64)
    for i in range(words.size):
        words[i] = 0


@linked
def write_table(a: Any, table: Any, kernel: Any, itemsize: Any) -> Any:
    """Write where in a copy each element of a kernel lies, channel by channel; return how many there are.

    Args:
        a: the block.
        table: scratch memory for the result, 64-bit words.
        kernel: place of the nine words DILATION, TAPS and SHIFT of the kernel: those of the geometry, or of one whose
            elements are some of these.
        itemsize: bytes of a number.
    """
    image = a[HEIGHT] * a[PITCH]
    block = a[TILE_IMAGES] * image
    across, down = phases(a, 2), phases(a, 1)
    dilation, taps, shift = kernel, kernel + TAPS - DILATION, kernel + SHIFT - DILATION
    count = a[INPUTS] * a[taps] * a[taps + 1] * a[taps + 2]
    places = view(table, count, numba.int64)
    place = 0
    for channel in range(a[INPUTS]):
        for i in range(a[taps]):
            plane = channel * a[TAPS] + a[shift] + i * a[dilation] // a[DILATION]
            for j in range(a[taps + 1]):
                y = a[shift + 1] + j * a[dilation + 1]
                for k in range(a[taps + 2]):
                    x = a[shift + 2] + k * a[dilation + 2]
                    part = (plane * down + y % a[STRIDE + 1]) * across + x % a[STRIDE + 2]
                    row, column = y // a[STRIDE + 1], x // a[STRIDE + 2]
                    places[place] = (part * block + (row * a[PITCH] + column) * a[SIDE]) * itemsize
                    place += 1
    return count


@linked
def copy_tile(a: Any, real: Any, stored: Any) -> None:
    """Copy what some rows of windows of some images read; the copy's other places are zero already.

    Words: COPY_SOURCE the address of the first image's first channel, COPY_IMAGES how many images, COPY_PLANE the plane
    of the windows, COPY_FIRST their first row, COPY_ROWS how many rows. `real` is the dtype of the copy, `stored` that
    of the images.
    """
    target, source, images, plane, first = a[PADDED], a[COPY_SOURCE], a[COPY_IMAGES], a[COPY_PLANE], a[COPY_FIRST]
    rows = a[COPY_ROWS] + (a[TAPS + 1] - 1) * a[DILATION + 1] // a[STRIDE + 1]
    across, down = phases(a, 2), phases(a, 1)
    part = a[TILE_IMAGES] * a[HEIGHT] * a[PITCH] * size_of(real)
    for channel in range(a[INPUTS]):
        for i in range(a[TAPS]):
            z = plane * a[STRIDE] + i * a[DILATION] - a[BEFORE]
            base = source + channel * a[SOURCE_CHANNEL] + z * a[EXTENT + 1] * a[EXTENT + 2] * size_of(stored)
            for f in range(down):
                y = first * a[STRIDE + 1] + f - a[BEFORE + 1]
                # All rows are outside where the plane is.
                top = y if z >= 0 and z < a[EXTENT] else a[EXTENT + 1]
                if a[SIDE] > 1:
                    copy_rows_beside(a, target, part, base, images, top, rows, across, real, stored)
                else:
                    for g in range(across):
                        copy_rows(a, target + g * part, base, images, top, rows, g, real, stored)
                target += across * part


@linked
def columns_of(a: Any, phase: Any) -> Any:
    """Return what is copied of a column phase: the first place in a row of the copy, its column, and how many."""
    step = a[STRIDE + 2]
    start = max((a[BEFORE + 2] - phase + step - 1) // step, 0)
    column = start * step + phase - a[BEFORE + 2]
    width = a[COUNT + 2] + (a[TAPS + 2] - 1) * a[DILATION + 2] // step - start
    return start, column, max(min(width, (a[EXTENT + 2] - column + step - 1) // step), 0)


@linked
def copy_rows(
    a: Any, target: Any, base: Any, images: Any, top: Any, rows: Any, phase: Any, real: Any, stored: Any
) -> None:
    """Copy a column phase of `rows` rows of each image, from row `top` on; zeros for rows that are outside."""
    start, column, width = columns_of(a, phase)
    step = a[EXTENT + 2] * size_of(stored)
    for image in range(images):
        for row in range(rows):
            y = top + row * a[STRIDE + 1]
            line = base + image * a[SOURCE_IMAGE] + y * step + column * size_of(stored)
            place = target + ((image * a[HEIGHT] + row) * a[PITCH] + start) * size_of(real)
            copy_line(place, line, width, a[STRIDE + 2], y >= 0 and y < a[EXTENT + 1], real, stored)


@linked
def copy_rows_beside(
    a: Any,
    target: Any,
    part: Any,
    base: Any,
    images: Any,
    top: Any,
    rows: Any,
    across: Any,
    real: Any,
    stored: Any,
) -> None:
    """Copy all column phases, `part` bytes apart, of rows of images that lie side by side; as `copy_rows`."""
    side, step = a[SIDE], a[SIDE] * size_of(real)
    start, column, width = columns_of(a, 0)
    other_start, other_column, other_width = columns_of(a, 1)
    second = 1
    if other_column < column:
        start, column, width, other_start, other_width = other_start, other_column, other_width, start, width
        second = 0
    in_turn = across == 2 and a[STRIDE + 2] == 2 and images == side and width > 0 and width - other_width in (0, 1)
    for row in range(rows):
        y = top + row * a[STRIDE + 1]
        inside = y >= 0 and y < a[EXTENT + 1]
        line, place = base + y * a[EXTENT + 2] * size_of(stored), target + row * a[PITCH] * step
        if in_turn and inside:
            even, odd = place + (1 - second) * part + start * step, place + second * part + other_start * step
            for first in range(0, images, a[LANES]):
                read, shift = line + first * a[SOURCE_IMAGE] + column * size_of(stored), first * size_of(real)
                transpose_in_turn(
                    even + shift, odd + shift, step, read, a[SOURCE_IMAGE], min(a[LANES], images - first),
                    width + other_width, (real(0), stored(0)),
                )  # fmt: skip
        else:
            for g in range(across):
                begin, c, count = columns_of(a, g)
                copy_beside(
                    place + g * part + begin * step, side, line + c * size_of(stored), a[SOURCE_IMAGE],
                    images if inside else 0, a[STRIDE + 2], count, a[LANES], real, stored,
                )  # fmt: skip


@linked
def copy_beside(
    target: Any,
    side: Any,
    source: Any,
    image_step: Any,
    images: Any,
    step: Any,
    count: Any,
    lanes: Any,
    real: Any,
    stored: Any,
) -> None:
    """Copy `count` numbers of a row, every `step`-th, of images to where `side` of them lie side by side.

    Rows of the images lie `image_step` bytes apart; those behind the first `images` are zeros.
    """
    if images < side and count > 0:
        numbers = view(target, count * side, real)
        for e in range(numbers.size):
            numbers[e] = real(0)
    if count > 0 and step <= 2:
        apart = side * size_of(real)
        for first in range(0, images, lanes):
            place, line = target + first * size_of(real), source + first * image_step
            height = min(lanes, images - first)
            if step == 1:
                transpose(place, apart, line, image_step, height, count, (real(0), stored(0)))
            else:
                transpose_every_second(place, apart, line, image_step, height, count, (real(0), stored(0)))
    elif step > 2:
        for image in range(images):
            place, line = target + image * size_of(real), source + image * image_step
            copy_apart(place, side, line, step, count, real, stored)


@linked
def copy_apart(target: Any, apart: Any, source: Any, step: Any, count: Any, written: Any, read: Any) -> None:
    """Copy every `step`-th number to every `apart`-th place, `count` in all."""
    for _ in range(count):
        copy_number(target, source, (written(0), read(0)))
        target += apart * size_of(written)
        source += step * size_of(read)


@linked
def vectors_of(a: Any, rows: Any) -> Any:
    """Return how many vectors the windows of `rows` rows span, in the copy of an image or of images side by side."""
    numbers = ((rows - 1) * a[PITCH] + a[COUNT + 2]) * a[SIDE]
    return (numbers + a[LANES] - 1) // a[LANES]


@linked
def copy_line(target: Any, source: Any, width: Any, step: Any, inside: Any, real: Any, stored: Any) -> None:
    """Copy every `step`-th number of a row, or write zeros where there is no such row."""
    if not inside:
        numbers = view(target, max(width, 0), real)
        for e in range(numbers.size):
            numbers[e] = real(0)
    elif step == 1:
        copy_row(target, source, width, (real(0), stored(0)))
    elif step == 2:
        copy_every_second(target, source, width, (real(0), stored(0)))
    elif size_of(real) != size_of(stored):
        copy_apart(target, 1, source, step, width, real, stored)
    elif width > 0:
        numbers = view(target, width, real)
        spread = view(source, (width - 1) * step + 1, stored)
        for e in range(numbers.size):
            numbers[e] = spread[e * step]
