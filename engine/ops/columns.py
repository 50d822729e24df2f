"""Kernels of convolution: windows are copied into columns of the size of a cache, and the BLAS does the arithmetic.

Inputs are [N, C, *spatial] and already padded, weights [out, in / groups, *kernel].
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.core.declarations import computing_itemsize
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.half_precision import convert_dtype
from engine.core.value import Array, Shape, Spec
from engine.ops.windows import Ints, Pairs, sliding, tap

COLUMN_BYTES = 1 << 18
"""Bytes of columns made at a time, as whole images: they should still be in a cache when the BLAS reads them."""
IMAGE_BYTES = 1 << 23
"""Bytes of columns beyond which an image is taken in pieces, so that a large one does not fill the memory."""
WHOLE = (slice(None), slice(None))


def widen(x: Array) -> Array:
    """Return float16 as float32, in which it accumulates."""
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
    """Cut a batch into images whose columns take about `limit` bytes, and a large image into pieces of its rows."""
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
    windows = sliding(x, kernel, stride, dilation)
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
    """The transpose of `correlate` in x: columns are computed and added to where their windows lie ("col2im")."""
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
    windows = sliding(x, kernel, stride, dilation)
    cotangents = g.reshape(images_count, groups, outputs, *extents)
    total = np.zeros((groups, size, outputs), x.dtype)
    row_bytes = size * groups * math.prod(extents[1:]) * x.itemsize
    each = 4 * outputs <= math.prod(extents)  # a product an image, where that is small beside the columns it is made of
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


def mirrored(weight: Array, groups: int) -> Array:
    """The weight of the convolution that `convolution_input` is when every stride is 1."""
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    flipped = np.flip(grouped.swapaxes(1, 2), axis=tuple(range(3, grouped.ndim)))
    return flipped.reshape(groups * weight.shape[1], weight.shape[0] // groups, *weight.shape[2:])
