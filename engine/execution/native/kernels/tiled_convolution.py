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
from engine.execution.native.inline.winograd import PLANES
from engine.execution.native.kernel import FLOATS
from engine.execution.native.kernels.correlation import computed, in_memory
from engine.execution.native.kernels.wide_convolution import WEIGHT_BYTES
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
LEAST_TILES, CHUNK_BYTES = 64, 2**18
"""Minimum number of tiles per chunk, and the size in bytes up to which the planes of a chunk hold more tiles."""
NEAR_BYTES = 2**21
"""The largest planes of a weight that are transformed once, before all chunks: they stay in a near cache."""
LEAST_FAR_TILES, FAR_BYTES = 128, 2**23
"""As for other chunks, where a weight is larger: each chunk transforms it, panel by panel."""
MOST_BYTES, MOST_OF_GRADIENT = 2**24, 2**25
"""The largest planes of a row of tiles, and of the gradient of a weight."""
OF_CHANNEL, OF_CHANNEL_IN_GRADIENT = 170, 120
"""As many multiplications what is done with a channel of a tile counts beside its products: copies and transforms."""
OF_KERNEL, OF_KERNEL_PACKED = 225, 800
"""As many the transform of a kernel counts, and in a correlation its packing, unless the weight is so large that there
would be products of patches."""
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

    @property
    def row_bytes(self) -> int:
        """Bytes of the planes of a row of tiles, the fewest that a chunk has."""
        return self.tiles[1] * PLANES * (registers_of(self.inputs) + registers_of(self.outputs)) * vector_bytes()

    @property
    def is_far(self) -> bool:
        """Whether the planes of the weight are in no near cache."""
        return PLANES * self.inputs * registers_of(self.outputs) * vector_bytes() > NEAR_BYTES

    def chunk(self, *, far: bool = False) -> tuple[int, int]:
        """Return the images of a chunk and its rows of tiles."""
        of_tile, least, nbytes = PLANES * REAL.itemsize * (self.inputs + self.outputs), LEAST_TILES, CHUNK_BYTES
        if far:
            of_tile, least, nbytes = PLANES * REAL.itemsize * self.inputs, LEAST_FAR_TILES, FAR_BYTES
        return self._cut(max(nbytes // of_tile, least))

    def _cut(self, most: int) -> tuple[int, int]:
        rows, columns = self.tiles
        if rows * columns <= most:
            return min(most // (rows * columns), self.images), rows
        strips = -(-rows // max(most // columns, 1))
        return 1, -(-rows // strips)

    @property
    def gains(self) -> bool:
        """Whether it takes less time than a correlation of all kernel elements."""
        return self._gains(OF_CHANNEL)

    @property
    def gains_by_weight(self) -> bool:
        """Whether the gradient by the weight does."""
        planes = PLANES * self.outputs * registers_of(self.inputs) * vector_bytes()
        return planes <= MOST_OF_GRADIENT and self._gains(OF_CHANNEL_IN_GRADIENT)

    def _gains(self, of_channel: int) -> bool:
        kernels, lanes = self.inputs * self.outputs, vector_bytes() // REAL.itemsize
        read, made = (registers_of(channels) * lanes for channels in (self.inputs, self.outputs))
        of_tile = PLANES * self.inputs * made + of_channel * (read + made)
        of_packing = OF_KERNEL_PACKED if kernels * TAPS * REAL.itemsize < WEIGHT_BYTES else 0
        tiles, positions = (self.images * math.prod(extents) for extents in (self.tiles, self.positions))
        return kernels * (positions * TAPS + of_packing) >= GAIN * (tiles * of_tile + kernels * OF_KERNEL)


def registers_of(channels: int) -> int:
    """Return how many registers hold the channels of a position."""
    return -(-channels * REAL.itemsize // vector_bytes())


def tiled(image: Array, weight: Array, result: Array, work: Work) -> Tiled | None:
    """Return what is convolved, if kernels take such operands by tiles; whether that gains time is another question."""
    attrs, arrays = work.attrs, (image, weight, result)
    if any(computed(each) != REAL or not each.size for each in arrays) or len({x.dtype for x in work.inputs}) > 1:
        return None
    if vector_bytes() < 32 or weight.shape[2:] != (3, 3) or attrs["groups"] != 1:
        return None
    if max(*attrs["stride"], *attrs["dilation"]) > 1 or not all(0 <= n <= 2 for pair in attrs["padding"] for n in pair):
        return None
    if not all(each[:1, :1].flags.c_contiguous for each in arrays):
        return None
    (top, _), (left, _) = attrs["padding"]
    extents, positions = ((each.shape[2], each.shape[3]) for each in (image, result))
    found = Tiled(image.shape[0], weight.shape[1], weight.shape[0], extents, positions, (top, left))
    return found if found.row_bytes <= MOST_BYTES else None


def convolve_tiles(found: Tiled, x: Array, weight: Array, y: Array) -> list[Call]:
    """Return the call of a convolution."""
    return _convolve(found, x, weight, weight.strides[:2], y, turned=False)


def convolve_tiles_back(found: Tiled, g: Array, weight: Array, x: Array) -> list[Call]:
    """Return the call of the gradient by the images, given the convolution of the cotangent by turned kernels."""
    return _convolve(found, g, weight, weight.strides[1::-1], x, turned=True)


def _convolve(found: Tiled, x: Array, weight: Array, steps: tuple[int, ...], y: Array, *, turned: bool) -> list[Call]:
    panel = min(registers_of(found.outputs), VECTORS)
    registers = panel if found.is_far else registers_of(found.outputs)
    step, memory = registers * found.inputs * vector_bytes() + LINE, Memory()
    block, (planes,) = scratch_arrays(((PLANES * step // REAL.itemsize,), REAL))
    images, rows = found.chunk(far=found.is_far)
    geometry = _geometry(found, x, y, (images, rows), (planes, step), panel, memory)
    delivery = (KernelAddress(DELIVERY[in_memory(y)], REAL), 0, 0, 0, 0)
    words = (*geometry, weight, *steps, turned, *_taps(memory), found.is_far, *delivery)
    chunks, panels = -(-found.images // images) * -(-found.tiles[0] // rows), -(-registers // panel)
    transform = Call(WEIGHT_PLANES[in_memory(x)], REAL, words, memory.size, iterations=panels)
    convolve = Call(CONVOLUTION[in_memory(x)], REAL, words, memory.size, iterations=chunks)
    return [relocated(call, block) for call in ([convolve] if found.is_far else [transform, convolve])]


def correlate_tiles(found: Tiled, x: Array, g: Array, weight: Argument, memory: Memory) -> Call:
    """Return the call of the gradient by a weight, which is written as float32."""
    rows = block_rows()[0]
    step = -(-found.outputs // rows) * rows * registers_of(found.inputs) * vector_bytes() + LINE
    planes = (memory.take(PLANES * step), step)
    geometry = _geometry(found, x, g, found.chunk(), planes, registers_of(found.outputs), memory)
    kernel = TAPS * REAL.itemsize
    words = (*geometry, weight, found.inputs * kernel, kernel, 0, *_taps(memory))
    return Call(GRADIENT[in_memory(x)], REAL, words, memory.size)


def _geometry(
    found: Tiled,
    x: Array,
    y: Array,
    chunk: tuple[int, int],
    planes: tuple[Argument, int],
    registers: int,
    memory: Memory,
) -> tuple[Argument, ...]:
    """Return the words up to those of the weight: see `winograd`.

    Args:
        found: the convolution.
        x: the images.
        y: the result, or its cotangent.
        chunk: images and rows of tiles of a chunk.
        planes: scratch memory for the planes of the weight, and the bytes from one to the next.
        registers: of a tile in the planes of the result or cotangent.
        memory: where scratch memory is taken from.

    Planes are a cache line longer than their contents: else numbers at one place in all of them would be in one set of
    the caches.
    """
    register, (images, rows) = vector_bytes(), chunk
    tiles = images * rows * found.tiles[1]
    words: list[Argument] = [found.images, images, rows, *found.tiles]
    scratch: list[Argument] = []
    operands = (
        (x, found.inputs, found.extents, found.zeros, 2, registers_of(found.inputs)),
        (y, found.outputs, found.positions, (0, 0), 0, registers),
    )
    for operand, channels, extents, zeros, reach, transformed in operands:
        position = registers_of(channels) * register
        words += [operand, *operand.strides[:2], channels, *extents, *zeros, registers_of(channels)]
        window, step = min(2 * rows + reach, extents[0]) * extents[1], tiles * transformed * register + LINE
        laid, places = (1 + images * window) * position, tiles * (2 + reach) ** 2 * 8
        scratch += [memory.take(laid), memory.take(places), memory.take(PLANES * step), step]
    return (*words, *planes, *scratch, register, block_rows()[0], -1)


def _taps(memory: Memory) -> tuple[Argument, Argument]:
    """Return scratch memory for some kernels, and for where their elements lie."""
    return memory.take(TAPS * vector_bytes()), memory.take(TAPS * 8)
