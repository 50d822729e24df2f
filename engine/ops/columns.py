"""Kernels of convolution: windows are copied into columns of the size of a cache, and the BLAS does the arithmetic.

Inputs are [N, C, *spatial] and already padded, weights [out, in / groups, *kernel].
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.ops.windows import Ints, sliding, tap
from engine.value import Array, Shape

COLUMN_BYTES = 1 << 17
"""Bytes of columns made at a time: they should still be in the second-level cache when the BLAS reads them."""
WHOLE = (slice(None), slice(None))


def widen(x: Array) -> Array:
    """Return float16 as float32, in which it accumulates."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def store(result: Array, dtype: np.dtype, out: Array | None) -> Array:
    """Return the result as a contiguous array of `dtype`, or write it into `out`."""
    if out is None:
        return np.ascontiguousarray(result, dtype)
    np.copyto(out, result)
    return out


def _blocks(images: int, rows: int, row_bytes: int, limit: int = COLUMN_BYTES) -> Iterator[tuple[slice, slice]]:
    """Cut a batch into pieces whose columns take about `limit` bytes: some whole images, or some rows of one."""
    image_bytes = max(rows * row_bytes, 1)
    if image_bytes <= limit:
        step = limit // image_bytes
        yield from ((slice(n, min(n + step, images)), slice(0, rows)) for n in range(0, images, step))
        return
    step = max(limit // row_bytes, 1)
    for n in range(images):
        yield from ((slice(n, n + 1), slice(row, min(row + step, rows))) for row in range(0, rows, step))


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
    for images, lines in _blocks(x.shape[0], extents[0], weight[0].size * groups * line * x.itemsize):
        part = windows[(images, *(slice(None),) * (1 + len(kernel)), lines)]
        columns = part.reshape(part.shape[0], groups, weight[0].size, -1)
        _product(rows, columns, y[images, :, :, lines.start * line : lines.stop * line])
    return out


def scatter_columns(g: Array, weight: Array, shape: Shape, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The transpose of `correlate` in x: columns are computed and added to where their windows lie ("col2im")."""
    kernel, extents = weight.shape[2:], g.shape[2:]
    x = np.zeros(shape, g.dtype)
    rows = weight.reshape(groups, weight.shape[0] // groups, -1).transpose(0, 2, 1)
    cotangents = g.reshape(g.shape[0], groups, weight.shape[0] // groups, -1)
    line = math.prod(extents[1:])
    for images, lines in _blocks(g.shape[0], extents[0], weight[0].size * groups * line * g.itemsize):
        columns = _product(rows, cotangents[images, :, :, lines.start * line : lines.stop * line])
        columns = columns.reshape(-1, shape[1], *kernel, lines.stop - lines.start, *extents[1:])
        target = x[images, :, lines.start * stride[0] :]
        for offset in np.ndindex(*kernel):
            place = target[(*WHOLE, *tap(offset, columns.shape[2 + len(kernel) :], stride, dilation))]
            np.add(place, columns[(*WHOLE, *offset)], out=place)
    return x


def weight_products(x: Array, g: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """Products of columns and cotangents, summed over images and positions."""
    windows = np.moveaxis(sliding(x, kernel, stride, dilation), 0, 1 + len(kernel))  # [C, *kernel, N, *positions]
    extents, outputs, size = g.shape[2:], g.shape[1], x.shape[1] // groups * math.prod(kernel)
    cotangents = g.swapaxes(0, 1).reshape(groups, outputs // groups, g.shape[0], *extents)
    total = np.zeros((groups, size, outputs // groups), x.dtype)
    leading = (slice(None),) * (1 + len(kernel))
    row_bytes = size * groups * math.prod(extents[1:]) * x.itemsize
    for images, lines in _blocks(x.shape[0], extents[0], row_bytes, max(COLUMN_BYTES, total.nbytes)):
        columns = windows[(*leading, images, lines)].reshape(groups, size, -1)
        part = cotangents[:, :, images, lines].reshape(groups, outputs // groups, -1)
        total += _product(columns, part.transpose(0, 2, 1))
    return total.transpose(0, 2, 1).reshape(outputs, x.shape[1] // groups, *kernel)


def mirrored(weight: Array, groups: int) -> Array:
    """The weight of the convolution that `convolution_input` is when every stride is 1."""
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    flipped = np.flip(grouped.swapaxes(1, 2), axis=tuple(range(3, grouped.ndim)))
    return flipped.reshape(-1, weight.shape[0] // groups, *weight.shape[2:])
