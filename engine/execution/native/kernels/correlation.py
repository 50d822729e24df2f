"""Correlation of images with kernels: the products of a convolution and of the gradients of its input and weight.

No columns are written: blocks of the product read a padded copy of a few images, which stays in the cache, at the
places that a table names. Numbers of a result are the sums of products in one fixed order. The copy is of `real`, from
and to operands of `stored`: bfloat16 are widened when they are copied, and results rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.dtypes import BFLOAT16, DType
from engine.core.value import Array
from engine.execution.native.inline.blocks import gradient_block, product_block
from engine.execution.native.inline.images import (
    COPY,
    COPY_FIRST,
    COPY_IMAGES,
    COPY_PLANE,
    COPY_ROWS,
    COPY_SOURCE,
    COUNT,
    DILATION,
    GROUPS,
    HEAD,
    HEIGHT,
    IMAGES,
    INPUTS,
    LANES,
    OUTPUTS,
    PADDED,
    PADDED_BYTES,
    PITCH,
    SIDE,
    SOURCE,
    SOURCE_CHANNEL,
    SOURCE_IMAGE,
    TILE_IMAGES,
    TILE_ROWS,
    clear,
    copy_apart,
    copy_beside,
    copy_tile,
    vectors_of,
    write_table,
)
from engine.execution.native.inline.matrix_tiles import transpose, transpose_to_every_second
from engine.execution.native.inline.pointers import call_with, size_of, view
from engine.execution.native.inline.vectors import copy_number, copy_row, copy_to_every_second
from engine.execution.native.kernel import BITS, FLOATS, Kernel, inline, itemsize, kernel, real, stored
from engine.execution.native.kernels.shared_loop import round_parts, run_round


def copy_images(a: Any) -> None:
    """Copy a tile of images: a kernel of its own, that is compiled beside those that call it."""
    copy_tile(a, real, stored)


@inline
def copy(a: Any, source: Any, images: Any, plane: Any, first: Any, rows: Any) -> None:
    """Have a tile of images copied: see `copy_tile`."""
    a[COPY_SOURCE], a[COPY_IMAGES], a[COPY_PLANE] = source, images, plane
    a[COPY_FIRST], a[COPY_ROWS] = first, rows
    call_with(a[COPY], a)


TARGET = HEAD
"""Words of a correlation: bytes from image to image, channel, plane, row and column of the result;"""
WEIGHT = HEAD + 5
"""of the weight, bytes from group to group, output channel, input channel, and along the three axes of the kernel;"""
RESULT, SEGMENT, DEPTH, ROWS, PHASES = HEAD + 11, HEAD + 12, HEAD + 13, HEAD + 14, HEAD + 15
"""scratch memory for a tile's result; numbers in that of an image, or of images side by side; kernel elements and rows
a block; how many kernels there are, which the words of each follow:"""
DELIVER, DELIVER_PHASE, DELIVER_PLACE, DELIVER_IMAGES, DELIVER_ROWS = range(HEAD + 16, HEAD + 21)
"""Address of the kernel that delivers a tile's result, and what is set before it is called."""
PHASE = HEAD + 21
PHASE_KERNEL, PHASE_COUNT, PHASE_TARGET, PHASE_WEIGHT, PHASE_TABLE, PHASE_PACKED = 0, 9, 12, 13, 14, 15
"""DILATION, TAPS and SHIFT of a kernel; how many planes, rows and columns its result has; address of the result, and of
the weight; scratch memory for where its elements lie, and for the weight."""
PHASE_WORDS = 16


def correlate_images(a: Any) -> None:
    """Correlate images with kernels, all by one copy of the images: see the words above.

    The tiles of all groups are the iterations of a loop that threads share.
    """
    clear(a[PADDED], a[PADDED_BYTES])
    for p in range(PHASE, PHASE + a[PHASES] * PHASE_WORDS, PHASE_WORDS):
        write_table(a, a[p + PHASE_TABLE], p + PHASE_KERNEL, itemsize)
        pack(a, p, real, stored)
    run_round(a)


def correlate_tile(a: Any, tile: Any) -> None:
    """Correlate a tile with all kernels: some rows of a plane of some images of a group."""
    heights = (a[COUNT + 1] + a[TILE_ROWS] - 1) // a[TILE_ROWS]
    lots = (a[IMAGES] + a[TILE_IMAGES] - 1) // a[TILE_IMAGES]
    row, plane = tile % heights * a[TILE_ROWS], tile // heights % a[COUNT]
    first, group = tile // (heights * a[COUNT]) % lots * a[TILE_IMAGES], tile // (heights * a[COUNT] * lots)
    images, rows = min(a[TILE_IMAGES], a[IMAGES] - first), min(a[TILE_ROWS], a[COUNT + 1] - row)
    source = a[SOURCE] + group * a[INPUTS] * a[SOURCE_CHANNEL] + first * a[SOURCE_IMAGE]
    target = group * a[OUTPUTS] * a[TARGET + 1] + first * a[TARGET]
    copy(a, source, images, plane, row, rows)
    place = target + plane * a[TARGET + 2] + row * a[TARGET + 3]
    for p in range(PHASE, PHASE + a[PHASES] * PHASE_WORDS, PHASE_WORDS):
        if plane < a[p + PHASE_COUNT] and row < a[p + PHASE_COUNT + 1]:
            written = min(rows, a[p + PHASE_COUNT + 1] - row)
            multiply(a, p, group, images, written, itemsize, real)
            a[DELIVER_PHASE], a[DELIVER_PLACE] = p, place + a[p + PHASE_TARGET]
            a[DELIVER_IMAGES], a[DELIVER_ROWS] = images, written
            call_with(a[DELIVER], a)


@inline
def multiply(a: Any, p: Any, group: Any, images: Any, rows: Any, itemsize: Any, real: Any) -> None:
    """Multiply a tile by the weight of the kernel whose words begin at `p`."""
    outputs, segment = a[OUTPUTS], a[SEGMENT]
    step = a[TILE_IMAGES] // a[SIDE] * segment * itemsize
    depth = elements(a, p)
    packed = a[p + PHASE_PACKED] + group * outputs * depth * itemsize
    vectors = vectors_of(a, rows)
    for k in range(0, depth, a[DEPTH]):
        taken = min(a[DEPTH], depth - k)
        for image in range(images if a[SIDE] == 1 else 1):
            x = a[PADDED] + image * a[HEIGHT] * a[PITCH] * itemsize
            y = a[RESULT] + image * segment * itemsize
            v = 0
            while v < vectors:
                left = vectors - v
                block = 2 if left == 4 else min(left, 3)
                shift = v * a[LANES] * itemsize
                m = 0
                while m < outputs:
                    height = rows_of(a[ROWS], outputs - m)
                    product_block(
                        height, block, packed + (m * depth + k * height) * itemsize, a[p + PHASE_TABLE] + k * 8, taken,
                        x + shift, y + m * step + shift, step, k, real(0),
                    )  # fmt: skip
                    m += height
                v += block


@inline
def elements(a: Any, p: Any) -> Any:
    """Return how many elements a kernel has, of all input channels of a group."""
    taps = p + PHASE_KERNEL + 3
    return a[INPUTS] * a[taps] * a[taps + 1] * a[taps + 2]


@kernel
def clear_bytes(a: Any) -> None:
    """Set bytes to zero. Words: address, bytes."""
    numbers = view(a[0], a[1] // itemsize, real)
    for e in range(numbers.size):
        numbers[e] = real(0)


@inline
def rows_of(most: Any, left: Any) -> Any:
    """Return how many rows the next block has: powers of two."""
    while most > left:
        most //= 2
    return most


@inline
def pack(a: Any, p: Any, real: Any, stored: Any) -> None:
    """Copy a kernel's weight so that the rows of a block lie side by side, element after element."""
    target, taps = a[p + PHASE_PACKED], p + PHASE_KERNEL + 3
    planes, rows, columns = a[taps], a[taps + 1], a[taps + 2]
    for group in range(a[GROUPS]):
        m = 0
        while m < a[OUTPUTS]:
            height = rows_of(a[ROWS], a[OUTPUTS] - m)
            for channel in range(a[INPUTS]):
                first = a[p + PHASE_WEIGHT] + group * a[WEIGHT] + m * a[WEIGHT + 1] + channel * a[WEIGHT + 2]
                for i in range(planes):
                    for j in range(rows):
                        for k in range(columns):
                            place = first + i * a[WEIGHT + 3] + j * a[WEIGHT + 4] + k * a[WEIGHT + 5]
                            for r in range(height):
                                copy_number(target, place + r * a[WEIGHT + 1], (real(0), stored(0)))
                                target += size_of(real)
            m += height


def deliver_rows(a: Any) -> None:
    """Copy the rows of a tile's result to where they belong."""
    p, place, images, rows = a[DELIVER_PHASE], a[DELIVER_PLACE], a[DELIVER_IMAGES], a[DELIVER_ROWS]
    columns, apart, itemsize = a[p + PHASE_COUNT + 2], a[TARGET + 4] // size_of(stored), size_of(real)
    step = a[TILE_IMAGES] // a[SIDE] * a[SEGMENT] * itemsize
    together = a[SIDE] > 1 and apart <= most_apart(a[LANES] * itemsize)
    for image in range(1 if together else images):
        for m in range(a[OUTPUTS]):
            source = a[RESULT] + m * step + image * (a[SEGMENT] if a[SIDE] == 1 else 1) * itemsize
            target = place + image * a[TARGET] + m * a[TARGET + 1]
            for _ in range(rows):
                if together:
                    deliver_together(a, target, source, images, columns, apart, real, stored)
                elif a[SIDE] > 1 or apart > most_apart(a[LANES] * itemsize):
                    copy_apart(target, apart, source, a[SIDE], columns, stored, real)
                elif apart == 1:
                    copy_row(target, source, columns, (stored(0), real(0)))
                else:
                    copy_to_every_second(target, source, columns, (stored(0), real(0)))
                source += a[PITCH] * a[SIDE] * itemsize
                target += a[TARGET + 3]


@inline
def most_apart(register: Any) -> Any:
    """Return up to which distance vectors of numbers are stored: others than neighbours by a mask of AVX-512."""
    return 2 if register == 64 else 1


@inline
def deliver_together(
    a: Any, target: Any, source: Any, images: Any, columns: Any, apart: Any, real: Any, stored: Any
) -> None:
    """Copy a row of images that lie side by side to where their rows belong."""
    for c in range(0, columns, a[LANES]):
        step, count = a[SIDE] * size_of(real), min(a[LANES], columns - c)
        place, read = target + c * apart * size_of(stored), source + c * step
        if apart == 1:
            transpose(place, a[TARGET], read, step, count, images, (stored(0), real(0)))
        else:
            transpose_to_every_second(place, a[TARGET], read, step, count, images, (stored(0), real(0)))


COTANGENT = HEAD
"""Words of a weight's gradient: address of the cotangent, bytes from image to image, and from channel to channel;"""
GRADIENT = HEAD + 3
"""of the result;"""
WIDE, WIDE_BYTES, SPAN, PARTIAL, TILES = HEAD + 4, HEAD + 5, HEAD + 6, HEAD + 7, HEAD + 8
"""scratch memory for a tile of the cotangent, its bytes, numbers in that of an image, or of images side by side;
scratch memory for the sum over some tiles, the result's own if all are few, and how many these are;"""
BLOCK_OUTPUTS, BLOCK_TAPS = HEAD + 9, HEAD + 10
"""how many outputs and kernel elements a block takes;"""
LAID_OUT = HEAD + 11
"""scratch memory for where kernel elements lie;"""
WIDEN, WIDEN_PLACE, WIDEN_IMAGES, WIDEN_ROWS = range(HEAD + 12, HEAD + 16)
"""address of the kernel that copies a tile of the cotangent, and what is set before it is called."""


def correlate_with_cotangent(a: Any) -> None:
    """Correlate images with a cotangent into the gradient of a weight: see the words above.

    Sums over the numbers of a tile are in the lanes of a register, sums over tiles in the dtype, in two levels.
    """
    clear(a[PADDED], a[PADDED_BYTES])
    clear(a[WIDE], a[WIDE_BYTES])
    depth = write_table(a, a[LAID_OUT], DILATION, itemsize)
    outputs = a[OUTPUTS]
    numbers = outputs * depth
    for group in range(a[GROUPS]):
        gradient = a[GRADIENT] + group * numbers * itemsize
        partial = a[PARTIAL] if a[PARTIAL] != a[GRADIENT] else gradient
        tile, lots = 0, 0
        for first in range(0, a[IMAGES], a[TILE_IMAGES]):
            images = min(a[TILE_IMAGES], a[IMAGES] - first)
            source = a[SOURCE] + group * a[INPUTS] * a[SOURCE_CHANNEL] + first * a[SOURCE_IMAGE]
            cotangent = a[COTANGENT] + group * outputs * a[COTANGENT + 2] + first * a[COTANGENT + 1]
            for plane in range(a[COUNT]):
                for row in range(0, a[COUNT + 1], a[TILE_ROWS]):
                    rows = min(a[TILE_ROWS], a[COUNT + 1] - row)
                    copy(a, source, images, plane, row, rows)
                    place = cotangent + (plane * a[COUNT + 1] + row) * a[COUNT + 2] * size_of(stored)
                    a[WIDEN_PLACE], a[WIDEN_IMAGES], a[WIDEN_ROWS] = place, images, rows
                    call_with(a[WIDEN], a)
                    vectors = vectors_of(a, rows)
                    add_products(a, depth, images if a[SIDE] == 1 else 1, vectors, partial, tile, itemsize, real)
                    tile += 1
                    if tile == a[TILES] and partial != gradient:
                        add_up(gradient, partial, numbers, lots, real)
                        tile, lots = 0, lots + 1
        if tile and partial != gradient:
            add_up(gradient, partial, numbers, lots, real)


@inline
def add_products(
    a: Any, depth: Any, images: Any, vectors: Any, partial: Any, tile: Any, itemsize: Any, real: Any
) -> None:
    """Add a tile's products to the sum; the first one starts it."""
    step = a[TILE_IMAGES] // a[SIDE] * a[SPAN] * itemsize
    m = 0
    while m < a[OUTPUTS]:
        height = a[BLOCK_OUTPUTS] if a[OUTPUTS] - m >= a[BLOCK_OUTPUTS] else 1
        k = 0
        while k < depth:
            taken = a[BLOCK_TAPS] if depth - k >= a[BLOCK_TAPS] else (3 if depth - k >= 3 else 1)
            gradient_block(
                height, taken, a[WIDE] + m * step, step, a[SPAN] * itemsize, a[LAID_OUT] + k * 8, a[PADDED],
                a[HEIGHT] * a[PITCH] * itemsize, images, vectors, partial + (m * depth + k) * itemsize,
                depth * itemsize, tile, real(0),
            )  # fmt: skip
            k += taken
        m += height


def copy_cotangent(a: Any) -> None:
    """Copy a tile of the cotangent, its rows as far apart as those of the images' copy, with zeros between them."""
    place, images, rows = a[WIDEN_PLACE], a[WIDEN_IMAGES], a[WIDEN_ROWS]
    row_step, pitch = a[COUNT + 2] * size_of(stored), a[PITCH] * size_of(real)
    for m in range(a[OUTPUTS]):
        source, target = place + m * a[COTANGENT + 2], a[WIDE] + m * a[SPAN] * size_of(real)
        for _ in range(rows if a[SIDE] > 1 else 0):
            copy_beside(target, a[SIDE], source, a[COTANGENT + 1], images, 1, a[COUNT + 2], a[LANES], real, stored)
            source += row_step
            target += pitch * a[SIDE]
        for image in range(images if a[SIDE] == 1 else 0):
            source = place + image * a[COTANGENT + 1] + m * a[COTANGENT + 2]
            target = a[WIDE] + (m * a[TILE_IMAGES] + image) * a[SPAN] * size_of(real)
            for _ in range(rows):
                copy_row(target, source, a[COUNT + 2], (real(0), stored(0)))
                source += row_step
                target += pitch
            if rows < a[TILE_ROWS]:
                # What an earlier, higher tile has left in the last vector.
                clear_row(target, min(a[LANES], (a[TILE_ROWS] - rows) * a[PITCH]), real)


@inline
def clear_row(address: Any, count: Any, real: Any) -> None:
    """Set numbers to zero."""
    numbers = view(address, count, real)
    for e in range(numbers.size):
        numbers[e] = real(0)


@inline
def add_up(total: Any, partial: Any, count: Any, resume: Any, real: Any) -> None:
    """Add to a total, or start it."""
    sums, parts = view(total, count, real), view(partial, count, real)
    for e in range(sums.size):
        sums[e] = sums[e] + parts[e] if resume else parts[e]


def kernels_of(body: Callable[[Any], None], name: str, **parts: Callable[..., Any]) -> dict[DType, Kernel]:
    """Return the kernels of a function and its parts by the dtype of operands in memory."""
    of_floats = Kernel(body, name=name, parts=parts)
    of_bits = Kernel(body, FLOATS[:1], name=f"{name}_bfloat16", stored=BITS, parts=parts)
    return {**dict.fromkeys(FLOATS, of_floats), BITS: of_bits}


def computed(x: Array) -> DType:
    """Return the dtype that an operand is computed in: bfloat16 are widened."""
    return FLOATS[0] if x.dtype is BFLOAT16 else x.dtype


def in_memory(x: Array) -> DType:
    """Return the dtype as which kernels find an operand in memory."""
    return BITS if x.dtype is BFLOAT16 else x.dtype


CORRELATION = kernels_of(correlate_images, "correlate", **round_parts(correlate_tile))
COTANGENT_CORRELATION = kernels_of(correlate_with_cotangent, "correlate_cotangent")
IMAGE_COPY = kernels_of(copy_images, "copy_images")
COTANGENT_COPY = kernels_of(copy_cotangent, "copy_cotangent")
DELIVERY = kernels_of(deliver_rows, "deliver_rows")
