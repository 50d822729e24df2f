"""When convolutions by 3 x 3 kernels go by tiles, and the calls that they are: see `winograd`, whose kernels these are.

Of float32 and bfloat16 only: float64 is for those who want the last bits, which a number far larger than its neighbours
takes from the results of its tile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.core.value import Array
from engine.execution.native.inline.blocks import VECTORS, block_rows
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.inline.winograd import PLANES, ROWS
from engine.execution.native.kernel import FLOATS
from engine.execution.native.kernels.correlation import computed, in_memory
from engine.execution.native.kernels.winograd import CONVOLUTION, DELIVERY, GRADIENT, TAPS, WEIGHT_PLANES
from engine.execution.native.lowering import (
    LINE,
    Argument,
    Call,
    KernelAddress,
    Memory,
    Work,
    relocated,
    scratch_arrays,
)

REAL = FLOATS[0]
CHUNK_BYTES, LEAST_TILES = 2**18, 64
"""Bytes that the planes of a chunk of tiles may take, and how many tiles it has at least."""
OF_CHANNEL, OF_CHANNEL_IN_GRADIENT = 170, 120
"""As many multiplications what is done with a channel of a tile counts beside its products: copies and transforms."""
OF_KERNEL, OF_FAR_KERNEL, NEAR_BYTES = 250, 600, 2**22
"""As many the transform of a kernel counts, if the planes of all take at most so many bytes, and if they take more."""
MOST_BYTES = 2**25
"""The largest planes of a weight."""
GAIN = 1.1
"""The least gain by tiles, counted so."""


@dataclass(frozen=True, slots=True)
class Tiled:
    """A convolution by tiles.

    Attributes:
        images, inputs, outputs: how many images and channels there are.
        extents, positions: rows and columns of an image, and of the result.
        zeros: above and to the left of an image.
    """

    images: int
    inputs: int
    outputs: int
    extents: tuple[int, int]
    positions: tuple[int, int]
    zeros: tuple[int, int]

    @property
    def tiles(self) -> tuple[int, int]:
        """Rows and columns of the tiles of an image."""
        return -(-self.positions[0] // 2), -(-self.positions[1] // 2)

    @property
    def turned(self) -> Tiled:
        """The convolution of the result by turned kernels, which is the gradient by the images."""
        top, left = self.zeros
        return Tiled(self.images, self.outputs, self.inputs, self.positions, self.extents, (2 - top, 2 - left))

    def chunk(self) -> tuple[int, int]:
        """Return the images of a chunk and its rows of tiles."""
        rows, columns = self.tiles
        most = max(CHUNK_BYTES // (PLANES * REAL.itemsize * (self.inputs + self.outputs)), LEAST_TILES)
        if rows * columns <= most:
            return min(most // (rows * columns), self.images), rows
        strips = -(-rows // max(most // columns, 1))
        return 1, -(-rows // strips)

    def gains(self, of_channel: int = OF_CHANNEL) -> bool:
        """Tell whether it takes less time than a correlation of all kernel elements."""
        kernels, lanes = self.inputs * self.outputs, vector_bytes() // REAL.itemsize
        read, made = (registers_of(channels) * lanes for channels in (self.inputs, self.outputs))
        planes = PLANES * self.inputs * made * REAL.itemsize
        if planes > MOST_BYTES:
            return False
        of_tile = PLANES * self.inputs * made + of_channel * (read + made)
        of_weight = kernels * (OF_KERNEL if planes <= NEAR_BYTES else OF_FAR_KERNEL)
        counted = self.images * math.prod(self.tiles) * of_tile + of_weight
        return self.images * math.prod(self.positions) * TAPS * kernels >= GAIN * counted


def registers_of(channels: int) -> int:
    """Return how many registers hold the channels of a position."""
    return -(-channels * REAL.itemsize // vector_bytes())


def tiled(image: Array, weight: Array, result: Array, work: Work) -> Tiled | None:
    """Return what is convolved, if kernels take such operands by tiles; whether that gains time is another question."""
    attrs, arrays = work.attrs, (image, weight, result)
    if any(computed(each) != REAL or not each.size for each in arrays):
        return None
    if vector_bytes() != 64 or weight.shape[2:] != (3, 3) or attrs["groups"] != 1:
        return None
    if max(*attrs["stride"], *attrs["dilation"]) > 1 or not all(0 <= n <= 2 for pair in attrs["padding"] for n in pair):
        return None
    if not all(each[:1, :1].flags.c_contiguous for each in arrays):
        return None
    (top, _), (left, _) = attrs["padding"]
    extents, positions = ((each.shape[2], each.shape[3]) for each in (image, result))
    return Tiled(image.shape[0], weight.shape[1], weight.shape[0], extents, positions, (top, left))


def convolve_tiles(found: Tiled, x: Array, weight: Array, y: Array) -> list[Call]:
    """Return the calls of a convolution."""
    return _convolve(found, x, weight, weight.strides[:2], y, turned=False)


def convolve_tiles_back(found: Tiled, g: Array, weight: Array, x: Array) -> list[Call]:
    """Return the calls of the gradient by the images, given the convolution of the cotangent by turned kernels."""
    return _convolve(found, g, weight, weight.strides[1::-1], x, turned=True)


def _convolve(found: Tiled, x: Array, weight: Array, steps: tuple[int, ...], y: Array, *, turned: bool) -> list[Call]:
    register, vectors = vector_bytes(), registers_of(found.outputs)
    # A line more: numbers of all planes at the same place would be in the same set of the caches.
    step = vectors * found.inputs * register + LINE
    block, (planes,) = scratch_arrays(((PLANES * step // REAL.itemsize,), REAL))
    memory = Memory()
    taps, places = memory.take(TAPS * register), memory.take(TAPS * 8)
    of_weight: tuple[Argument, ...] = (
        found.outputs, vectors, found.inputs, weight, *steps, planes, step, register, turned, taps, places,
    )  # fmt: skip
    panels = -(-vectors // VECTORS)
    transform = Call(WEIGHT_PLANES[in_memory(weight)], REAL, of_weight, memory.size, iterations=panels)
    memory = Memory()
    delivery = (KernelAddress(DELIVERY[in_memory(y)], REAL), 0, 0, 0, 0)
    words = (*_words(found, x, y, (planes, step), memory), *delivery)
    images, rows = found.chunk()
    chunks = -(-found.images // images) * -(-found.tiles[0] // rows)
    convolve = Call(CONVOLUTION[in_memory(x)], REAL, words, memory.size, iterations=chunks)
    return [relocated(call, block) for call in (transform, convolve)]


def correlate_tiles(found: Tiled, x: Array, g: Array, weight: Argument, memory: Memory) -> Call:
    """Return the call of the gradient by a weight, which is written as float32."""
    register = vector_bytes()
    step = -(-found.outputs // ROWS) * ROWS * registers_of(found.inputs) * register + LINE
    words = _words(found, x, g, (memory.take(PLANES * step), step), memory)
    target = (weight, found.inputs * TAPS * REAL.itemsize, memory.take(TAPS * register), memory.take(TAPS * 8))
    return Call(GRADIENT[in_memory(x)], REAL, (*words, *target), memory.size)


def _words(found: Tiled, x: Array, y: Array, planes: tuple[Argument, int], memory: Memory) -> tuple[Argument, ...]:
    """Return the words of a convolution: see `winograd`."""
    register = vector_bytes()
    images, rows = found.chunk()
    tiles = images * rows * found.tiles[1]
    words: list[Argument] = [found.images, images, rows, *found.tiles]
    scratch: list[Argument] = []
    operands = ((x, found.inputs, found.extents, found.zeros, 2), (y, found.outputs, found.positions, (0, 0), 0))
    for operand, channels, extents, zeros, reach in operands:
        position = registers_of(channels) * register
        words += [operand, *operand.strides[:2], channels, *extents, *zeros, registers_of(channels)]
        window, step = min(2 * rows + reach, extents[0]) * extents[1], tiles * position + LINE
        laid, places = (1 + images * window) * position, tiles * (2 + reach) ** 2 * 8
        scratch += [memory.take(laid), memory.take(places), memory.take(PLANES * step), step]
    return (*words, *planes, *scratch, register, block_rows()[0], -1)
