"""Convolutions in 1 to 3 spatial axes, with any strides, dilations, paddings and groups, as correlations.

The gradient of a convolution's input is a correlation too: one for each phase of the strides, that is for all places of
the input that the same elements of the kernel meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from engine.core.dtypes import BFLOAT16
from engine.core.value import Array
from engine.execution.native.inline.blocks import VECTORS, block_outputs, block_rows, block_taps
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import BITS, FLOATS
from engine.execution.native.kernels.casting import converting
from engine.execution.native.kernels.correlation import (
    CORRELATION,
    COTANGENT_COPY,
    COTANGENT_CORRELATION,
    DELIVERY,
    IMAGE_COPY,
    clear_bytes,
    computed,
    in_memory,
)
from engine.execution.native.kernels.pointwise import is_pointwise, pointwise, pointwise_weight
from engine.execution.native.kernels.tiled_convolution import (
    convolve_tiles,
    convolve_tiles_back,
    correlate_tiles,
    fastest,
    tiled,
)
from engine.execution.native.kernels.wide_convolution import convolve, convolve_back, convolve_weight, wide
from engine.execution.native.lowering import (
    Argument,
    Call,
    KernelAddress,
    Memory,
    Work,
    alike,
    are_bfloat16,
    is_half,
    lowers,
    rounded,
)

TILE = 640 * 1024
"""Bytes that a tile's copy and result may take: what a second-level cache keeps beside the weight."""
POSITIONS = 256
"""A tile of small images has about this many positions in all."""
LONG = 1024
"""The same for gradients of a weight, whose blocks end with sums over the lanes of registers."""
SPARED, TERMS = 1.1, 32
"""Small images are laid side by side if so many times as many vectors would hold them one by one, and if each number
of the result is the sum of at least so many products, which pay for it."""
DEPTH = 256
"""Kernel elements of all channels that a block takes at a time: what it reads stays in the first-level cache."""
TILES = 64
"""Number of tiles that are summed before their sum is added to the result."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a correlation: position i meets element i stride + j dilation - before with tap j.

    Attributes:
        extent: of the image.
        count: positions.
        stride: from position to position.
        before: zeros before the image; a negative number cuts off.
        dilation: from tap to tap.
        taps: elements of the kernel; a phase that none meets has no other number.
        weight: the first tap's place in the weight, in taps, and the step to the next.
        target: the first position's place in the result, and the step to the next.
    """

    extent: int
    count: int
    stride: int
    before: int
    dilation: int
    taps: int
    weight: tuple[int, int] = (0, 1)
    target: tuple[int, int] = (0, 1)

    @property
    def reach(self) -> int:
        """How far behind a position's own element of a phase its last one lies."""
        return (self.taps - 1) * self.dilation // self.stride

    @property
    def phases(self) -> int:
        """How many phases are read."""
        return min(self.stride, (self.taps - 1) * self.dilation + 1)

    @property
    def pitch(self) -> int:
        """Numbers from row to row of a copy, so that what reads behind a row's end finds zeros that begin the next."""
        starts = [max(-(-(self.before - phase) // self.stride), 0) for phase in range(self.phases)]
        ends = [-(-(self.extent + self.before - phase) // self.stride) for phase in range(self.phases)]
        end = min(max(ends), self.count + self.reach)
        return max(self.count, end, self.count + self.reach - min(starts))


@dataclass(frozen=True, slots=True)
class Tiling:
    """How images are cut: images and rows a tile, rows of one image in the copy, and images that lie side by side."""

    images: int
    rows: int
    height: int
    side: int = 1

    def vectors(self, axes: Sequence[Axis], lanes: int) -> int:
        """Return how many vectors the windows of a tile span, an image or of images side by side."""
        return -(-((self.rows - 1) * axes[2].pitch + axes[2].count) * self.side // lanes)


def forward_axes(x: Array, weight: Sequence[int], y: Sequence[int], work: Work) -> list[Axis]:
    """Return the axes of a convolution: planes, rows, columns."""
    attrs = work.attrs
    rest = zip(x.shape[2:], y, attrs["stride"], attrs["padding"], attrs["dilation"], weight, strict=True)
    axes = [Axis(extent, count, s, pad[0], d, taps) for extent, count, s, pad, d, taps in rest]
    return [Axis(1, 1, 1, 0, 1, 1)] * (3 - len(axes)) + axes


def backward_axes(g: Array, weight: Sequence[int], x: Sequence[int], work: Work) -> list[list[Axis]]:
    """Return, for planes, rows and columns, an axis for each phase of the input's gradient.

    With u = v + padding, place v takes part in position i through tap t where u = i stride + t dilation.
    """
    attrs = work.attrs
    result: list[list[Axis]] = []
    for positions, extent, s, pad, d, taps in zip(
        g.shape[2:], x, attrs["stride"], attrs["padding"], attrs["dilation"], weight, strict=True
    ):
        result.append([])
        for phase in range(s):
            first = (phase - pad[0]) % s
            count = -(-(extent - first) // s)
            meeting = [tap for tap in range(taps) if tap * d % s == phase]
            if count <= 0:
                continue
            if not meeting:
                result[-1].append(Axis(positions, count, 1, 0, 1, 0, (0, 0), (first, s)))
                continue
            step = s // math.gcd(d, s)
            before = (meeting[-1] * d - phase) // s - (first + pad[0] - phase) // s
            result[-1].append(
                Axis(positions, count, 1, before, step * d // s, len(meeting), (meeting[-1], -step), (first, s))
            )
    return [[Axis(1, 1, 1, 0, 1, 1)]] * (3 - len(result)) + result


def tiling(axes: Sequence[Axis], images: int, inputs: int, outputs: int, itemsize: int, positions: int) -> Tiling:
    """Cut images so that a tile stays in the cache, or join small ones."""
    planes, rows, columns = axes
    row = columns.pitch * itemsize
    copied = inputs * planes.taps * rows.phases * columns.phases * row
    most = max((TILE - copied * rows.reach) // (copied + outputs * row), -(-96 // columns.pitch), 1)
    tiles = -(-rows.count // most)
    height = -(-rows.count // tiles)
    together = max(min(positions // (height * columns.pitch), images), 1) if tiles == 1 else 1
    together = max(min(together, TILE // (height * (copied + outputs * row))), 1)
    separate = Tiling(together, height, height + rows.reach)
    if tiles > 1 or inputs * math.prod(axis.taps for axis in axes) < TERMS:
        return separate
    lanes = vector_bytes() // itemsize
    whole = min(-(-together // lanes) * lanes, images)
    fits = whole * height * (copied + outputs * row) <= TILE
    joined = whole if fits else together // lanes * lanes or together
    beside = Tiling(joined, height, height + rows.reach, joined)
    gained = separate.vectors(axes, lanes) * joined / beside.vectors(axes, lanes)
    return beside if joined > 1 and gained >= SPARED else separate


def geometry(
    axes: Sequence[Axis], x: Array, groups: int, outputs: int, tile: Tiling, memory: Memory
) -> tuple[Argument, ...]:
    """Return the words that a block begins with: see engine.execution.native.inline.images."""
    inputs = x.shape[1] // groups
    size = computed(x).itemsize
    lanes = vector_bytes() // size
    planes, rows, columns = axes
    numbers = inputs * planes.taps * rows.phases * columns.phases * tile.images * tile.height * columns.pitch
    # Blocks read whole vectors behind the last row.
    copied = rounded((numbers + columns.reach * tile.side + VECTORS * lanes) * size)
    words: list[Argument] = [x.shape[0], groups, inputs, outputs, x, x.strides[0], x.strides[1]]
    words += [axis.extent for axis in axes]
    words += [axis.count for axis in axes]
    words += [axis.stride for axis in axes]
    words += [axis.before for axis in axes]
    words += [axis.dilation for axis in axes]
    words += [axis.taps for axis in axes]
    words += [0, 0, 0, tile.images, tile.rows, columns.pitch, tile.height]
    copying = KernelAddress(IMAGE_COPY[in_memory(x)], computed(x))
    return (*words, memory.take(copied), copied, lanes, tile.side, copying, 0, 0, 0, 0, 0)


def correlation(
    phases: Sequence[Sequence[Axis]],
    x: Array,
    weight: Array,
    out: Array,
    groups: int,
    steps: tuple[int, int, int],
) -> Call:
    """Return the call that correlates x with the weight into out, at the places that the axes of each phase name.

    `steps` are those of the weight in bytes: from group to group, output to output and input to input channel.
    """
    outputs, size = out.shape[1] // groups, computed(x).itemsize
    whole = [joined_axis(axes) for axes in zip(*phases, strict=True)]
    tile = tiling(whole, x.shape[0], x.shape[1] // groups, outputs, size, POSITIONS)
    memory = Memory()
    words = geometry(whole, x, groups, outputs, tile, memory)
    lanes = vector_bytes() // size
    segment = -(-tile.rows * whole[2].pitch * tile.side // lanes) * lanes
    kernel, image = _row_major(weight), _row_major(out)
    return Call(
        CORRELATION[in_memory(x)],
        computed(x),
        (
            *words,
            *out.strides[:2], *(s * axis.target[1] for s, axis in zip(image, phases[0], strict=True)),
            *steps, *(s * axis.weight[1] for s, axis in zip(kernel, phases[0], strict=True)),
            memory.take(outputs * tile.images // tile.side * segment * size), segment, DEPTH, block_rows()[0],
            len(phases),
            KernelAddress(DELIVERY[in_memory(out)], computed(x)), 0, 0, 0, 0,
            *(word for axes in phases for word in _phase(axes, whole, x, weight, out, groups, memory)),
        ),
        memory.size,
        iterations=groups * -(-x.shape[0] // tile.images) * whole[0].count * -(-whole[1].count // tile.rows),
    )  # fmt: skip


def joined_axis(axes: Sequence[Axis]) -> Axis:
    """Return an axis whose windows hold those of all phases, each as far behind its start as it has fewer zeros."""
    first = axes[0]
    if all(axis == first for axis in axes):
        return first
    before = max(axis.before for axis in axes)
    reach = max(before - axis.before + (axis.taps - 1) * axis.dilation for axis in axes)
    return Axis(first.extent, max(axis.count for axis in axes), 1, before, 1, reach + 1)


def _phase(
    axes: Sequence[Axis],
    whole: Sequence[Axis],
    x: Array,
    weight: Array,
    out: Array,
    groups: int,
    memory: Memory,
) -> list[Argument]:
    """Return the words of a phase: see engine.execution.native.kernels.correlation."""
    words: list[Argument] = [axis.dilation for axis in axes]
    words += [axis.taps for axis in axes]
    words += [joint.before - axis.before for joint, axis in zip(whole, axes, strict=True)]
    words += [axis.count for axis in axes]
    elements = x.shape[1] // groups * math.prod(axis.taps for axis in axes)
    table, packed = memory.take(elements * 8), memory.take(out.shape[1] * elements * computed(x).itemsize)
    target, taken = _from(out, [axis.target[0] for axis in axes]), _from(weight, [axis.weight[0] for axis in axes])
    return [*words, target, taken, table, packed]


def _from(x: Array, first: Sequence[int]) -> Array:
    """Return an array from places of its spatial axes on: kernels get the address of its first element."""
    part: Array = x.reshape(*x.shape[:2], *_three(x.shape[2:]), copy=False)
    return part[:, :, first[0] :, first[1] :, first[2] :]


def _three(extents: Sequence[int]) -> tuple[int, ...]:
    return (1,) * (3 - len(extents)) + tuple(extents)


def _row_major(x: Array) -> tuple[int, int, int]:
    """Return the bytes from plane to plane, row to row and column to column of an array's spatial axes."""
    size, (_, rows, columns) = x.itemsize, _three(x.shape[2:])
    return rows * columns * size, columns * size, size


def _are_taken(x: Array, y: Array, result: Array) -> bool:
    """Tell whether kernels take arrays of these dtypes: bfloat16 are convolved to bfloat16 or float32."""
    return alike(x, y, result) or (
        are_bfloat16(x, y) and (are_bfloat16(result) or (result.dtype == FLOATS[0] and alike(result)))
    )


def _has_halves(work: Work) -> bool:
    """Tell whether operands are to be widened first, as those of steps that no kernel takes as they are."""
    return any(is_half(each.dtype) for each in (*work.inputs, *work.outputs))


@lowers("convolution")
def _(work: Work) -> list[Call] | None:
    x, weight = work.inputs
    (y,) = work.outputs
    if found := fastest(tiled(x, weight, y, work)):
        return convolve_tiles(found, x, weight, y)
    if large := wide(x, weight, y, work):
        return None if _has_halves(work) else convolve(large, x, weight, y)
    if not _are_taken(x, weight, y) or not y.size or not weight.size:
        return None
    groups = work.attrs["groups"]
    if is_pointwise(weight.shape, x.shape, work):
        return pointwise(x, weight, y, groups, transposed=False)
    outputs = weight.shape[0] // groups
    steps = (outputs * weight.strides[0], weight.strides[0], weight.strides[1])
    return [correlation([forward_axes(x, weight.shape[2:], y.shape[2:], work)], x, weight, y, groups, steps)]


@lowers("convolution_input")
def _(work: Work) -> list[Call] | None:
    g, weight = work.inputs
    (x,) = work.outputs
    if found := fastest([way.turned for way in tiled(x, weight, g, work)]):
        return convolve_tiles_back(found, g, weight, x)
    if large := wide(x, weight, g, work):
        return None if _has_halves(work) else convolve_back(large, g, weight, x)
    if not _are_taken(g, weight, x) or not x.size or not weight.size or not g.size:
        return None
    groups = work.attrs["groups"]
    if is_pointwise(weight.shape, x.shape, work):
        return pointwise(g, weight, x, groups, transposed=True)
    steps = (weight.shape[0] // groups * weight.strides[0], weight.strides[1], weight.strides[0])
    phases = list(product(*backward_axes(g, weight.shape[2:], x.shape[2:], work)))
    met = [axes for axes in phases if all(axis.taps for axis in axes)]
    if x.dtype is BFLOAT16 and len(met) < len(phases):
        return None
    cleared = [] if len(met) == len(phases) else [Call(clear_bytes, x.dtype, (x, x.nbytes))]
    return cleared + ([correlation(met, g, weight, x, groups, steps)] if met else [])


@lowers("convolution_weight")
def _(work: Work) -> list[Call] | None:
    x, g = work.inputs
    (weight,) = work.outputs
    found = fastest(tiled(x, weight, g, work), by_weight=True)
    if found is None and (large := wide(x, weight, g, work)):
        return None if _has_halves(work) else convolve_weight(large, x, g, weight)
    if not _are_taken(x, g, weight) or not x.size or not g.size or not weight.size:
        return None
    groups = work.attrs["groups"]
    if is_pointwise(weight.shape, x.shape, work):
        return None if weight.dtype is BFLOAT16 else pointwise_weight(x, g, weight, groups)
    memory = Memory()
    total = memory.take(weight.size * FLOATS[0].itemsize) if weight.dtype is BFLOAT16 else weight
    if found is not None:
        calls = [correlate_tiles(found, x, g, total, memory)]
    else:
        calls = [weight_gradient(work, total, memory)]
    if weight.dtype is BFLOAT16:
        words = (1, 1, 1, weight.size, weight, 0, 0, 0, BITS.itemsize, total, 0, 0, 0, FLOATS[0].itemsize)
        calls.append(Call(converting("narrowed", "float32", "bfloat16"), BITS, words))
    return calls


def weight_gradient(work: Work, total: Argument, memory: Memory) -> Call:
    """Return the call that correlates images with a cotangent into a total of the dtype that it computes in."""
    (x, g), (weight,), groups = work.inputs, work.outputs, work.attrs["groups"]
    outputs, size = weight.shape[0] // groups, computed(x).itemsize
    axes = forward_axes(x, weight.shape[2:], g.shape[2:], work)
    tile = tiling(axes, x.shape[0], x.shape[1] // groups, outputs, size, LONG)
    words = geometry(axes, x, groups, outputs, tile, memory)
    lanes = vector_bytes() // size
    span = -(-tile.rows * axes[2].pitch * tile.side // lanes) * lanes
    taps = math.prod(weight.shape[1:])
    wide = outputs * tile.images // tile.side * span * size
    tiles = -(-x.shape[0] // tile.images) * axes[0].count * -(-axes[1].count // tile.rows)
    partial: Argument = total if tiles <= TILES else memory.take(outputs * taps * size)
    return Call(
        COTANGENT_CORRELATION[in_memory(x)],
        computed(x),
        (
            *words, g, g.strides[0], g.strides[1], total, memory.take(wide), wide, span, partial, TILES,
            block_outputs()[0], block_taps()[0], memory.take(taps * 8),
            KernelAddress(COTANGENT_COPY[in_memory(x)], computed(x)), 0, 0, 0,
        ),
        memory.size,
    )  # fmt: skip
