"""Kernels of convolution: windows are copied into columns that fit the cache, and the BLAS multiplies them.

Inputs are [N, C, *spatial] and already padded, weights [out, in / groups, *kernel].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.core.attributes import Window
from engine.core.declarations import computing_itemsize
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.half_precision import convert_dtype
from engine.core.value import Array, Shape, Spec

Ints = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]

LARGEST_STRIDE = 2**31 - 1
"""Maximum stride: the bytes from position to position are then a 64-bit number."""


def per_axis(place: str, value: Window, rank: int, least: int) -> Ints:
    """Return one number per spatial axis; a single number applies to every axis. `place` names it in errors."""
    numbers = (value,) * rank if isinstance(value, int) else value
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < least:
        raise AttributeValueError(
            f"{place} must be an integer or a list of {rank}, each at least {least}; got {list(numbers)}"
        )
    return numbers


def kernel_extents(kernel: Ints, dilation: Ints) -> Ints:
    """Return the extent that a dilated kernel spans: dilation * (kernel - 1) + 1."""
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def count_positions(op: str, extents: Shape, kernel: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Shape:
    """Return how many positions a kernel takes on each spatial axis; an error when it does not fit."""
    spans = kernel_extents(kernel, dilation)
    padded = tuple(e + low + high for e, (low, high) in zip(extents, padding, strict=True))
    if any(span > extent for span, extent in zip(spans, padded, strict=True)):
        raise ShapeError(
            f"{op}: the kernel {list(kernel)} with dilation {list(dilation)} spans {list(spans)}, more than the padded "
            f"input {list(padded)}; use a smaller kernel or more padding"
        )
    if max(stride) > LARGEST_STRIDE:
        raise AttributeValueError(f"{op}.stride must be at most {LARGEST_STRIDE}; got {list(stride)}")
    return tuple((e - span) // s + 1 for e, span, s in zip(padded, spans, stride, strict=True))


def pad_spatial(x: Array, padding: Pairs, value: float = 0.0) -> Array:
    """Surround the spatial axes of x with `value`; a negative width cuts off. x itself when there is nothing to do."""
    if not any(low or high for low, high in padding):
        return x
    extents = x.shape[2:]
    padded = np.full(
        (*x.shape[:2], *(e + lo + hi for e, (lo, hi) in zip(extents, padding, strict=True))), value, x.dtype
    )
    target, source = [slice(None)] * 2, [slice(None)] * 2
    for extent, (low, high) in zip(extents, padding, strict=True):
        target.append(slice(max(low, 0), max(low, 0) + extent + min(low, 0) + min(high, 0)))
        source.append(slice(max(-low, 0), extent - max(-high, 0)))
    padded[tuple(target)] = x[tuple(source)]
    return padded


def view_windows(x: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """View [N, C, *kernel, *positions] of the windows of x [N, C, *extents]; nothing is copied."""
    rank = len(kernel)
    extents = count_positions("window", x.shape[2:], kernel, stride, ((0, 0),) * rank, dilation)
    steps = x.strides[2:]
    return as_strided(
        x,
        (*x.shape[:2], *kernel, *extents),
        (
            *x.strides[:2],
            *(step * d for step, d in zip(steps, dilation, strict=True)),
            *(step * s for step, s in zip(steps, stride, strict=True)),
        ),
        writeable=False,
    )


def tap(offset: Sequence[int], extents: Shape, stride: Ints, dilation: Ints) -> tuple[slice, ...]:
    """Return the slices of a padded input that kernel element `offset` reads at `extents` positions."""
    return tuple(
        slice(o * d, o * d + (e - 1) * s + 1, s) for o, e, s, d in zip(offset, extents, stride, dilation, strict=True)
    )


COLUMN_BYTES = 1 << 18
"""Bytes of columns computed at a time, for whole images: they stay in the cache until the BLAS reads them."""
IMAGE_BYTES = 1 << 23
"""Bytes of columns beyond which an image is processed in pieces, to bound the memory."""
WHOLE = (slice(None), slice(None))


def widen(x: Array) -> Array:
    """Return float16 as float32, in which it is accumulated."""
    return convert_dtype(x, FLOAT32) if x.dtype == FLOAT16 else x


def store(result: Array, dtype: np.dtype, out: Array | None) -> Array:
    """Return the result as a contiguous array of `dtype`, or write it into `out`."""
    if result.dtype != dtype:
        return convert_dtype(np.ascontiguousarray(result), dtype, out)
    if out is None:
        return np.ascontiguousarray(result)
    np.copyto(out, result)
    return out


def _blocks(images: int, rows: int, row_bytes: int, limit: int) -> Iterator[tuple[slice, slice]]:
    """Split a batch into images whose columns take about `limit` bytes, and a large image into pieces of its rows."""
    step = max(limit // max(rows * row_bytes, 1), 1)
    height = max(IMAGE_BYTES // max(row_bytes, 1), 1) if step == 1 else rows
    for n in range(0, images, step):
        for row in range(0, rows, height):
            yield slice(n, min(n + step, images)), slice(row, min(row + height, rows))


def column_bytes(images: int, line: int, extents: Shape, itemsize: int, limit: int = COLUMN_BYTES) -> int:
    """Return the bytes of the columns of a block of images; `line` elements for each position."""
    image = line * math.prod(extents) * itemsize
    if 2 * image <= limit:
        return min(images, limit // max(image, 1)) * image
    row = max(image // max(extents[0], 1), 1)
    return min(image, max(IMAGE_BYTES // row, 1) * row)


def padded_bytes(x: Spec, padding: Pairs) -> int:
    """Return the bytes of a copy of x with its padding; none where there is none."""
    if not any(low or high for low, high in padding):
        return 0
    extents = (extent + low + high for extent, (low, high) in zip(x.shape[2:], padding, strict=True))
    return math.prod(x.shape[:2]) * math.prod(extents) * computing_itemsize(x)


def _product(a: Array, b: Array, out: Array | None = None) -> Array:
    """Matrix product; outer products go by multiply, for which NumPy's matmul is slow."""
    return np.multiply(a, b, out=out) if a.shape[-1] == 1 else np.matmul(a, b, out=out)


def correlate(x: Array, weight: Array, stride: Ints, dilation: Ints, groups: int, out: Array | None = None) -> Array:
    """Cross-correlation of a padded input, a block of columns at a time."""
    kernel, outputs = weight.shape[2:], weight.shape[0]
    windows = view_windows(x, kernel, stride, dilation)
    extents = windows.shape[2 + len(kernel) :]
    if out is None:
        out = np.empty((x.shape[0], outputs, *extents), x.dtype)
    y = out.reshape((x.shape[0], groups, outputs // groups, math.prod(extents)), copy=False)
    rows = weight.reshape(groups, outputs // groups, -1)
    line = math.prod(extents[1:])
    for images, lines in _blocks(x.shape[0], extents[0], weight[0].size * groups * line * x.itemsize, COLUMN_BYTES):
        part = windows[(images, *(slice(None),) * (1 + len(kernel)), lines)]
        columns = part.reshape(part.shape[0], groups, weight[0].size, -1)
        _product(rows, columns, y[images, :, :, lines.start * line : lines.stop * line])
    return out


def scatter_columns(g: Array, weight: Array, shape: Shape, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The transpose of `correlate` in x: columns are computed and added to their windows ("col2im")."""
    kernel, extents = weight.shape[2:], g.shape[2:]
    x = np.zeros(shape, g.dtype)
    rows = weight.reshape(groups, weight.shape[0] // groups, -1).transpose(0, 2, 1)
    cotangents = g.reshape(g.shape[0], groups, weight.shape[0] // groups, math.prod(extents))
    line = math.prod(extents[1:])
    for images, lines in _blocks(g.shape[0], extents[0], weight[0].size * groups * line * g.itemsize, COLUMN_BYTES):
        columns = _product(rows, cotangents[images, :, :, lines.start * line : lines.stop * line])
        columns = columns.reshape(-1, shape[1], *kernel, lines.stop - lines.start, *extents[1:])
        target = x[images, :, lines.start * stride[0] :]
        for offset in np.ndindex(*kernel):
            place = target[(*WHOLE, *tap(offset, columns.shape[2 + len(kernel) :], stride, dilation))]
            np.add(place, columns[(*WHOLE, *offset)], out=place)
    return x


def weight_products(x: Array, g: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """Products of columns and cotangents, summed over images and positions."""
    images_count, inputs, outputs = x.shape[0], x.shape[1] // groups, g.shape[1] // groups
    extents, size = g.shape[2:], inputs * math.prod(kernel)
    windows = view_windows(x, kernel, stride, dilation)
    cotangents = g.reshape(images_count, groups, outputs, *extents)
    total = np.zeros((groups, size, outputs), x.dtype)
    row_bytes = size * groups * math.prod(extents[1:]) * x.itemsize
    each = 4 * outputs <= math.prod(extents)  # one product per image, if it is small compared with its columns
    for images, lines in _blocks(images_count, extents[0], row_bytes, max(COLUMN_BYTES, total.nbytes)):
        columns = windows[(images, *(slice(None),) * (1 + len(kernel)), lines)]
        part = cotangents[images, :, :, lines]
        if each:
            columns = columns.reshape(len(columns), groups, size, -1)
            total += _product(columns, part.reshape(len(part), groups, outputs, -1).swapaxes(-1, -2)).sum(axis=0)
        else:  # one product for all, with their columns side by side
            columns = np.moveaxis(columns, 0, 1 + len(kernel)).reshape(groups, size, -1)
            part = np.moveaxis(part, 0, 2).reshape(groups, outputs, -1)
            total += _product(columns, part.swapaxes(-1, -2))
    return total.swapaxes(-1, -2).reshape(-1, inputs, *kernel)


def mirror_weight(weight: Array, groups: int) -> Array:
    """The weight of the convolution that `convolution_input` is when every stride is 1."""
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    flipped = np.flip(grouped.swapaxes(1, 2), axis=tuple(range(3, grouped.ndim)))
    return flipped.reshape(groups * weight.shape[1], weight.shape[0] // groups, *weight.shape[2:])
