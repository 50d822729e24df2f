"""Convolutions of images by small kernels without strides, as matrix products of transformed tiles.

They take fewer multiplications than correlations: see `engine.execution.native.inline.minimal_filters`. Copies of some
images are laid out with the channels of a position as neighbours, which are transformed by registers; of each of the
numbers of all transformed tiles there is a matrix [tiles, channels], a plane.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.execution.native.inline.matrix_tiles import product_tile, transpose
from engine.execution.native.inline.pointers import call_with, size_of, view
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.winograd import (
    cotangent_to_planes,
    image_to_planes,
    outer_tile,
    result_from_planes,
    weight_from_planes,
    weight_to_planes,
)
from engine.execution.native.kernel import inline, real, stored
from engine.execution.native.kernels.blocked_product import panel_vectors
from engine.execution.native.kernels.correlation import kernels_of
from engine.execution.native.kernels.shared_loop import round_parts, run_round

DEPTH = 256
"""Number of products that are summed in registers before their sum is added to the result."""

IMAGES, CHUNK_IMAGES, CHUNK_ROWS, TILE_ROWS, TILE_COLUMNS = range(5)
"""Words: images, those of a chunk, rows of tiles of a chunk, rows and columns of the tiles of an image;"""
FORM, PLANES, TAPS, RESULT_ROWS, RESULT_COLUMNS, REACH_ROWS, REACH_COLUMNS = range(5, 12)
"""the form, its planes, elements of a kernel, rows and columns of a tile of a result, and by how many more places an
image's goes on;"""
X, Y = 12, 21
"""of the images, and of the result or its cotangent, the words that follow;"""
SOURCE, IMAGE_STEP, CHANNEL_STEP, CHANNELS, HEIGHT, WIDTH, TOP, LEFT, VECTORS = range(9)
"""address, bytes from image to image and channel to channel, channels, rows, columns, zeros above and to the left,
registers that hold the channels of a position;"""
PLANES_OF_WEIGHT, WEIGHT_STEP = 30, 31
"""scratch memory for planes of a weight, its gradient, or a panel of it, and bytes from one to the next;"""
X_LAID, X_PLACES, X_PLANES, X_STEP, Y_LAID, Y_PLACES, Y_PLANES, Y_STEP = range(32, 40)
"""scratch memory for the images of a chunk laid out, the places of their tiles, their planes, and bytes from one to the
next; and for the result or cotangent: planes of a result are those of a panel;"""
REGISTER, MOST_ROWS, PREPARED, WEIGHT = 40, 41, 42, 43
"""bytes of a register, most rows of a tile of a product, from which row of tiles on places are listed, and of the
weight, or its gradient, the words that follow:"""
KERNELS, OUTPUT_STEP, INPUT_STEP, TURNED, TAPS_LAID, TAPS_PLACES = range(6)
"""address, bytes from output to output and input to input, whether kernels are turned; scratch memory for some kernels
and for where their elements lie."""
FAR, DELIVER, DELIVER_IMAGE, DELIVER_IMAGES, DELIVER_FIRST, DELIVER_ROWS = range(49, 55)
"""Of a convolution also whether each chunk transforms the weight, panel by panel, and not a call before it all at once;
the address of the kernel that delivers the results of a chunk, and what is set before it is called."""


@inline
def chunk_of(a: Any, number: Any) -> Any:
    """Return the first image of a chunk, how many it has, the first row of its tiles and how many these are."""
    lots = (a[IMAGES] + a[CHUNK_IMAGES] - 1) // a[CHUNK_IMAGES]
    image, row = number % lots * a[CHUNK_IMAGES], number // lots * a[CHUNK_ROWS]
    return image, min(a[CHUNK_IMAGES], a[IMAGES] - image), row, min(a[CHUNK_ROWS], a[TILE_ROWS] - row)


@inline
def window_of(a: Any, p: Any, row: Any, rows: Any, reach: Any) -> Any:
    """Return the first row of an operand that some rows of tiles meet, and how many they are."""
    first = max(a[RESULT_ROWS] * row - a[p + TOP], 0)
    return first, min(a[RESULT_ROWS] * (row + rows) + reach - a[p + TOP], a[p + HEIGHT]) - first


@inline
def lay_out(
    a: Any, p: Any, target: Any, image: Any, images: Any, first: Any, rows: Any, real: Any, stored: Any
) -> None:
    """Copy rows of images with the channels of each position as neighbours; in front of them are zeros."""
    lanes, position = a[REGISTER] // size_of(real), a[p + VECTORS] * a[REGISTER]
    fill(view(target, a[p + VECTORS] * lanes, real), real(0))
    target += position
    for i in range(image, image + images):
        source = a[p + SOURCE] + i * a[p + IMAGE_STEP] + first * a[p + WIDTH] * size_of(stored)
        for c in range(0, a[p + CHANNELS], lanes):
            channels, step = min(lanes, a[p + CHANNELS] - c), a[p + CHANNEL_STEP]
            place = target + c * size_of(real)
            transpose(place, position, source + c * step, step, channels, rows * a[p + WIDTH], (real(0), stored(0)))
        target += rows * a[p + WIDTH] * position


@inline
def list_places(
    a: Any, p: Any, table: Any, laid: Any, first: Any, rows: Any, below: Any, right: Any, row: Any, tiles: Any
) -> None:
    """List where the places of all tiles of a chunk lie in a layout; those outside of the images in front of it.

    Tiles are as large as those of a result, and some rows `below` and columns to the `right`.
    """
    position, columns = a[p + VECTORS] * a[REGISTER], a[TILE_COLUMNS]
    height, width, number = a[RESULT_ROWS] + below, a[RESULT_COLUMNS] + right, 0
    places = view(table, a[CHUNK_IMAGES] * tiles * height * width, np.int64)
    for image in range(a[CHUNK_IMAGES]):
        for tile in range(tiles):
            top = a[RESULT_ROWS] * (row + tile // columns) - a[p + TOP]
            left = a[RESULT_COLUMNS] * (tile % columns) - a[p + LEFT]
            for u in range(top, top + height):
                for v in range(left, left + width):
                    inside = (u >= first) & (u < first + rows) & (v >= 0) & (v < a[p + WIDTH])
                    place = 1 + (image * rows + u - first) * a[p + WIDTH] + v
                    places[number] = laid + (place * position if inside else 0)
                    number += 1


@inline
def begin_chunk(a: Any, number: Any, real: Any, stored: Any) -> Any:
    """List the places of the tiles of a chunk, unless those of the last one were the same, and lay out its images.

    Returns:
        The first image, how many there are, tiles of each, the first row of the result and how many rows it has.
    """
    image, images, row, rows = chunk_of(a, number)
    first, count = window_of(a, X, row, rows, a[REACH_ROWS])
    top, height = window_of(a, Y, row, rows, 0)
    tiles = rows * a[TILE_COLUMNS]
    if a[PREPARED] != row:
        a[PREPARED] = row
        list_places(a, X, a[X_PLACES], a[X_LAID], first, count, a[REACH_ROWS], a[REACH_COLUMNS], row, tiles)
        list_places(a, Y, a[Y_PLACES], a[Y_LAID], top, height, 0, 0, row, tiles)
    lay_out(a, X, a[X_LAID], image, images, first, count, real, stored)
    return image, images, tiles, top, height


def convolve_chunks(a: Any) -> None:
    """Convolve images by tiles: see the words above. Chunks are the iterations of a loop that threads share."""
    a[PREPARED] = -1
    run_round(a)


def convolve_chunk(a: Any, number: Any) -> None:
    """Convolve a chunk of images: some whole ones, or some rows of one."""
    image, images, tiles, top, height = begin_chunk(a, number, real, stored)
    read, position = a[X_PLANES], a[X + VECTORS] * a[REGISTER]
    for tile in range(images * tiles):
        image_to_planes(a[FORM], a[X_PLACES] + tile * 8 * a[PLANES], read, a[X_STEP], a[X + VECTORS], real(0))
        read += position
    panel = 0
    while panel < a[Y + VECTORS]:
        taken = panel_vectors(a[Y + VECTORS] - panel, 1)
        weight = a[PLANES_OF_WEIGHT] + (0 if a[FAR] else panel * a[X + CHANNELS] * a[REGISTER])
        if a[FAR]:
            transform_panel(a, panel, taken, weight, real, stored)
        multiply_panel(a, images * tiles, taken, weight, real)
        made = a[Y_PLANES]
        for tile in range(images * tiles):
            places = a[Y_PLACES] + tile * 8 * a[RESULT_ROWS] * a[RESULT_COLUMNS]
            result_from_planes(a[FORM], places, panel * a[REGISTER], made, a[Y_STEP], taken, real(0))
            made += taken * a[REGISTER]
        panel += taken
    a[DELIVER_IMAGE], a[DELIVER_IMAGES], a[DELIVER_FIRST], a[DELIVER_ROWS] = image, images, top, height
    call_with(a[DELIVER], a)


@inline
def transform_panel(a: Any, panel: Any, taken: Any, target: Any, real: Any, stored: Any) -> None:
    """Transform the kernels of a panel: of some outputs, those that a product takes at a time."""
    register, lanes, step = a[REGISTER], a[REGISTER] // size_of(real), a[WEIGHT + OUTPUT_STEP]
    places, laid = a[WEIGHT + TAPS_PLACES], a[WEIGHT + TAPS_LAID]
    list_taps(places, laid, register, a[TAPS], a[WEIGHT + TURNED])
    for c in range(a[X + CHANNELS]):
        for first in range(panel * lanes, (panel + taken) * lanes, lanes):
            source = a[WEIGHT + KERNELS] + first * step + c * a[WEIGHT + INPUT_STEP]
            transpose(laid, register, source, step, min(lanes, a[Y + CHANNELS] - first), a[TAPS], (real(0), stored(0)))
            weight_to_planes(a[FORM], places, target, a[WEIGHT_STEP], 1, real(0))
            target += register


def transform_near(a: Any, number: Any) -> None:
    """Transform the kernels of a panel, for all chunks."""
    panel = 0
    for _ in range(number):
        panel += panel_vectors(a[Y + VECTORS] - panel, 1)
    target = a[PLANES_OF_WEIGHT] + panel * a[X + CHANNELS] * a[REGISTER]
    transform_panel(a, panel, panel_vectors(a[Y + VECTORS] - panel, 1), target, real, stored)


@inline
def list_taps(table: Any, laid: Any, register: Any, taps: Any, turned: Any) -> None:
    """List the places of the elements of a kernel, from the last one to the first if it is turned."""
    places = view(table, taps, np.int64)
    for k in range(taps):
        places[k] = laid + (taps - 1 - k if turned else k) * register


@inline
def multiply_panel(a: Any, tiles: Any, taken: Any, weight: Any, real: Any) -> None:
    """Multiply the planes of a chunk by those of a panel of the weight."""
    register, size, depth = a[REGISTER], size_of(real), a[X + CHANNELS]
    read, made, columns = a[X + VECTORS] * register, taken * register, taken * register // size
    for plane in range(a[PLANES]):
        left, right = a[X_PLANES] + plane * a[X_STEP], weight + plane * a[WEIGHT_STEP]
        target, tile = a[Y_PLANES] + plane * a[Y_STEP], 0
        while tile < tiles:
            height = a[MOST_ROWS]
            while height > tiles - tile:
                height //= 2
            for k in range(0, depth, DEPTH):
                source, factors, some = left + tile * read + k * size, right + k * made, min(DEPTH, depth - k)
                product_tile(
                    height, taken, source, read, factors, some, target + tile * made, made, columns, k, real(0)
                )
            tile += height


def deliver_chunk(a: Any) -> None:
    """Copy rows of the results of a chunk to where they belong."""
    lanes, position = a[REGISTER] // size_of(real), a[Y + VECTORS] * a[REGISTER]
    source, step, places = a[Y_LAID] + position, a[Y + CHANNEL_STEP], a[DELIVER_ROWS] * a[Y + WIDTH]
    for image in range(a[DELIVER_IMAGE], a[DELIVER_IMAGE] + a[DELIVER_IMAGES]):
        target = a[Y + SOURCE] + image * a[Y + IMAGE_STEP] + a[DELIVER_FIRST] * a[Y + WIDTH] * size_of(stored)
        # Not all channels of some positions: where these are a power of 2 apart, few stay in the first-level cache.
        for c in range(0, a[Y + CHANNELS], lanes):
            channels = min(lanes, a[Y + CHANNELS] - c)
            for j in range(0, places, lanes):
                place, read = target + c * step + j * size_of(stored), source + c * size_of(real) + j * position
                transpose(place, step, read, position, min(lanes, places - j), channels, (stored(0), real(0)))
        source += places * position


def correlate_chunks(a: Any) -> None:
    """Add up the gradient of a weight over all chunks: see the words above."""
    a[PREPARED] = -1
    lots = (a[IMAGES] + a[CHUNK_IMAGES] - 1) // a[CHUNK_IMAGES]
    for number in range(lots * ((a[TILE_ROWS] + a[CHUNK_ROWS] - 1) // a[CHUNK_ROWS])):
        image, images, tiles, top, height = begin_chunk(a, number, real, stored)
        lay_out(a, Y, a[Y_LAID], image, images, top, height, real, stored)
        read, given = a[X_PLANES], a[Y_PLANES]
        for tile in range(images * tiles):
            image_to_planes(a[FORM], a[X_PLACES] + tile * 8 * a[PLANES], read, a[X_STEP], a[X + VECTORS], real(0))
            places = a[Y_PLACES] + tile * 8 * a[RESULT_ROWS] * a[RESULT_COLUMNS]
            cotangent_to_planes(a[FORM], places, given, a[Y_STEP], a[Y + VECTORS], real(0))
            read += a[X + VECTORS] * a[REGISTER]
            given += a[Y + VECTORS] * a[REGISTER]
        add_products(a, images * tiles, number, real)
    put_gradient(a, real)


@inline
def add_products(a: Any, tiles: Any, resume: Any, real: Any) -> None:
    """Add the products of the planes of a chunk to those of the gradient."""
    register, vectors = a[REGISTER], a[X + VECTORS]
    read, given = vectors * register, a[Y + VECTORS] * register
    for plane in range(a[PLANES]):
        left, right = a[Y_PLANES] + plane * a[Y_STEP], a[X_PLANES] + plane * a[X_STEP]
        target, column = a[PLANES_OF_WEIGHT] + plane * a[WEIGHT_STEP], 0
        while column < vectors:
            taken = panel_vectors(vectors - column, 1)
            for o in range(0, a[Y + CHANNELS], a[MOST_ROWS]):
                source, factors = left + o * size_of(real), right + column * register
                place = target + o * read + column * register
                outer_tile(taken, source, given, factors, read, tiles, place, read, resume, real(0))
            column += taken


@inline
def put_gradient(a: Any, real: Any) -> None:
    """Transform the planes of the gradient of a weight, to where it belongs."""
    register, lanes = a[REGISTER], a[REGISTER] // size_of(real)
    places, laid = a[WEIGHT + TAPS_PLACES], a[WEIGHT + TAPS_LAID]
    list_taps(places, laid, register, a[TAPS], 0)
    for o in range(a[Y + CHANNELS]):
        for vector in range(a[X + VECTORS]):
            source = a[PLANES_OF_WEIGHT] + (o * a[X + VECTORS] + vector) * register
            weight_from_planes(a[FORM], places, 0, source, a[WEIGHT_STEP], 1, real(0))
            step, channels = a[WEIGHT + INPUT_STEP], min(lanes, a[X + CHANNELS] - vector * lanes)
            target = a[WEIGHT + KERNELS] + o * a[WEIGHT + OUTPUT_STEP] + vector * lanes * step
            for k in range(0, a[TAPS], lanes):
                place, taps = target + k * size_of(real), min(lanes, a[TAPS] - k)
                transpose(place, step, laid + k * register, register, taps, channels, real(0))


CONVOLUTION = kernels_of(convolve_chunks, "convolve_tiles", **round_parts(convolve_chunk))
GRADIENT = kernels_of(correlate_chunks, "correlate_tiles")
WEIGHT_PLANES = kernels_of(run_round, "transform_weight", iterate=transform_near)
DELIVERY = kernels_of(deliver_chunk, "deliver_tiles")
