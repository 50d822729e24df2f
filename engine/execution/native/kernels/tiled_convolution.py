"""When convolutions by small kernels go by tiles, and the calls that they are: see `winograd`, whose kernels these are.

Of float32 and bfloat16 only: float64 is for those who want the last bits, which a number far larger than its neighbours
takes from the results of its tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.core.value import Array
from engine.execution.native.inline.blocks import VECTORS, block_rows
from engine.execution.native.inline.minimal_filters import FORMS
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import FLOATS
from engine.execution.native.kernels.correlation import computed, in_memory
from engine.execution.native.kernels.wide_convolution import WEIGHT_BYTES
from engine.execution.native.kernels.winograd import CONVOLUTION, DELIVERY, GRADIENT, WEIGHT_PLANES
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
OF_KERNEL, OF_KERNEL_PACKED = 25, 90
"""As many an element of a kernel counts when it is transformed, and in a correlation when it is packed, unless the
weight is so large that there would be products of patches."""
Axis = tuple[int, int, int, tuple[int, int], int]
"""Of an axis of a convolution: taps of the kernel, places of an image and of a result, zeros around, dilation."""
ONE_PLACE: Axis = (1, 1, 1, (0, 0), 1)
GAIN = 1.1
"""The least gain by tiles, counted so."""


@dataclass(frozen=True, slots=True)
class Tiled:
    """A convolution by tiles.

    Attributes:
        form: the place of the filters in the list of forms.
        images, inputs, outputs: how many images and channels there are.
        extents, positions: rows and columns of an image, and of the result.
        zeros: above and to the left of an image.
        rounded: whether operands are bfloat16.
    """

    form: int
    images: int
    inputs: int
    outputs: int
    extents: tuple[int, int]
    positions: tuple[int, int]
    zeros: tuple[int, int]
    rounded: bool

    @property
    def tiles(self) -> tuple[int, int]:
        """Rows and columns of the tiles of an image."""
        rows, columns = FORMS[self.form].results
        return -(-self.positions[0] // rows), -(-self.positions[1] // columns)

    @property
    def planes(self) -> int:
        """How many numbers a transformed tile has."""
        return FORMS[self.form].planes

    @property
    def taps(self) -> int:
        """How many elements a kernel has."""
        return math.prod(FORMS[self.form].kernel)

    @property
    def turned(self) -> Tiled:
        """The convolution of the result by turned kernels, which is the gradient by the images."""
        (rows, columns), (top, left) = FORMS[self.form].kernel, self.zeros
        zeros = rows - 1 - top, columns - 1 - left
        return replace(
            self, inputs=self.outputs, outputs=self.inputs, extents=self.positions, positions=self.extents, zeros=zeros
        )

    @property
    def row_bytes(self) -> int:
        """Bytes of the planes of a row of tiles, the fewest that a chunk has."""
        return self.tiles[1] * self.planes * (registers_of(self.inputs) + registers_of(self.outputs)) * vector_bytes()

    @property
    def is_far(self) -> bool:
        """Whether the planes of the weight are in no near cache."""
        return self.planes * self.inputs * registers_of(self.outputs) * vector_bytes() > NEAR_BYTES

    def chunk(self, *, far: bool = False) -> tuple[int, int]:
        """Return the images of a chunk and its rows of tiles."""
        of_channel, least, nbytes = self.planes * REAL.itemsize, LEAST_TILES, CHUNK_BYTES
        of_tile = of_channel * (self.inputs + self.outputs)
        if far:
            of_tile, least, nbytes = of_channel * self.inputs, LEAST_FAR_TILES, FAR_BYTES
        return self._cut(max(nbytes // of_tile, least))

    def _cut(self, most: int) -> tuple[int, int]:
        rows, columns = self.tiles
        if rows * columns <= most:
            return min(most // (rows * columns), self.images), rows
        strips = -(-rows // max(most // columns, 1))
        return 1, -(-rows // strips)

    @property
    def cost(self) -> float:
        """Multiplications that take as long as the convolution."""
        return self._cost(FORMS[self.form].overhead)

    @property
    def cost_by_weight(self) -> float:
        """Multiplications that take as long as the gradient by the weight."""
        planes = self.planes * self.outputs * registers_of(self.inputs) * vector_bytes()
        return self._cost(FORMS[self.form].overhead_by_weight) if planes <= MOST_OF_GRADIENT else math.inf

    def _cost(self, overhead: int) -> float:
        lanes = vector_bytes() // REAL.itemsize
        read, made = (registers_of(channels) * lanes for channels in (self.inputs, self.outputs))
        of_tile = self.planes * self.inputs * made + overhead * (read + made)
        elements = self.inputs * self.outputs * self.taps
        return self.images * math.prod(self.tiles) * of_tile + elements * OF_KERNEL

    def is_precise(self, *, by_weight: bool) -> bool:
        """Return whether the errors of the form are small enough for the dtype of the operands."""
        form = FORMS[self.form]
        return self.rounded or not (form.coarse_by_weight if by_weight else form.coarse)

    @property
    def cost_of_correlation(self) -> float:
        """Multiplications that take as long as a correlation of all elements of the kernels."""
        elements = self.inputs * self.outputs * self.taps
        of_packing = OF_KERNEL_PACKED if elements * REAL.itemsize < WEIGHT_BYTES else 0
        return elements * (self.images * math.prod(self.positions) + of_packing)


def registers_of(channels: int) -> int:
    """Return how many registers hold the channels of a position."""
    return -(-channels * REAL.itemsize // vector_bytes())


def tiled(image: Array, weight: Array, result: Array, work: Work) -> list[Tiled]:
    """Return the ways in which a convolution can go by tiles, one for each form of its kernel's extents."""
    attrs, arrays = work.attrs, (image, weight, result)
    if any(computed(each) != REAL or not each.size for each in arrays) or len({x.dtype for x in work.inputs}) > 1:
        return []
    if vector_bytes() < 32 or attrs["groups"] != 1 or max(attrs["stride"]) > 1:
        return []
    if not all(each[:1, :1].flags.c_contiguous for each in arrays):
        return []
    axes = _rows_and_columns(weight.shape[2:], image.shape[2:], result.shape[2:], attrs["padding"], attrs["dilation"])
    if axes is None:
        return []
    kernel, extents, positions, padding, _ = zip(*axes, strict=True)
    if not all(0 <= n < taps for taps, pair in zip(kernel, padding, strict=True) for n in pair):
        return []
    zeros, channels = (padding[0][0], padding[1][0]), (weight.shape[1], weight.shape[0])
    found = [
        Tiled(number, image.shape[0], *channels, extents, positions, zeros, image.dtype != REAL)
        for number, form in enumerate(FORMS)
        if form.kernel == kernel
    ]
    return [each for each in found if each.row_bytes <= MOST_BYTES]


def fastest(ways: Sequence[Tiled], *, by_weight: bool = False) -> Tiled | None:
    """Return the way that takes the least time, of a convolution or its gradient by the weight; None if none gains."""

    def cost(way: Tiled) -> float:
        return way.cost_by_weight if by_weight else way.cost

    found = min((way for way in ways if way.is_precise(by_weight=by_weight)), key=cost, default=None)
    return found if found is not None and found.cost_of_correlation >= GAIN * cost(found) else None


def _rows_and_columns(*properties: Sequence[Any]) -> list[Axis] | None:
    """Return the rows and columns of a convolution without dilation, given the properties of each spatial axis.

    One axis is taken as rows, which chunks may cut, and with a dilation of d as rows of d places, since taps meet those
    in one column. None if there is no such convolution.
    """
    axes: list[Axis] = [*zip(*properties, strict=True)]
    if len(axes) == 2 and axes[0] == ONE_PLACE:
        axes.reverse()
    if len(axes) == 1 or axes[1:] == [ONE_PLACE]:
        taps, extent, count, (before, behind), dilation = axes[0]
        if extent % dilation or count % dilation or before % dilation or behind % dilation:
            return None
        rows = taps, extent // dilation, count // dilation, (before // dilation, behind // dilation), 1
        return [rows, (1, dilation, dilation, (0, 0), 1)]
    return axes if len(axes) == 2 and all(axis[-1] == 1 for axis in axes) else None


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
    block, (planes,) = scratch_arrays(((found.planes * step // REAL.itemsize,), REAL))
    images, rows = found.chunk(far=found.is_far)
    geometry = _geometry(found, x, y, (images, rows), (planes, step), panel, memory)
    delivery = (KernelAddress(DELIVERY[in_memory(y)], REAL), 0, 0, 0, 0)
    words = (*geometry, weight, *steps, turned, *_taps(found, memory), found.is_far, *delivery)
    chunks, panels = -(-found.images // images) * -(-found.tiles[0] // rows), -(-registers // panel)
    transform = Call(WEIGHT_PLANES[in_memory(x)], REAL, words, memory.size, iterations=panels)
    convolve = Call(CONVOLUTION[in_memory(x)], REAL, words, memory.size, iterations=chunks)
    return [relocated(call, block) for call in ([convolve] if found.is_far else [transform, convolve])]


def correlate_tiles(found: Tiled, x: Array, g: Array, weight: Argument, memory: Memory) -> Call:
    """Return the call of the gradient by a weight, which is written as float32."""
    rows = block_rows()[0]
    step = -(-found.outputs // rows) * rows * registers_of(found.inputs) * vector_bytes() + LINE
    planes = (memory.take(found.planes * step), step)
    geometry = _geometry(found, x, g, found.chunk(), planes, registers_of(found.outputs), memory)
    kernel = found.taps * REAL.itemsize
    words = (*geometry, weight, found.inputs * kernel, kernel, 0, *_taps(found, memory))
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
    register, (images, rows), form = vector_bytes(), chunk, FORMS[found.form]
    tiles, reach = images * rows * found.tiles[1], tuple(taps - 1 for taps in form.kernel)
    words: list[Argument] = [found.images, images, rows, *found.tiles]
    words += [found.form, found.planes, found.taps, *form.results, *reach]
    scratch: list[Argument] = []
    operands = (
        (x, found.inputs, found.extents, found.zeros, reach, registers_of(found.inputs)),
        (y, found.outputs, found.positions, (0, 0), (0, 0), registers),
    )
    for operand, channels, extents, zeros, more, transformed in operands:
        position = registers_of(channels) * register
        words += [operand, *operand.strides[:2], channels, *extents, *zeros, registers_of(channels)]
        height, width = (results + others for results, others in zip(form.results, more, strict=True))
        window = min(form.results[0] * rows + more[0], extents[0]) * extents[1]
        step = tiles * transformed * register + LINE
        laid, places = (1 + images * window) * position, tiles * height * width * 8
        scratch += [memory.take(laid), memory.take(places), memory.take(found.planes * step), step]
    return (*words, *planes, *scratch, register, block_rows()[0], -1)


def _taps(found: Tiled, memory: Memory) -> tuple[Argument, Argument]:
    """Return scratch memory for some kernels, and for where their elements lie."""
    return memory.take(found.taps * vector_bytes()), memory.take(found.taps * 8)
