"""Windows of images as columns, and back: a convolution as a matrix product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.attributes import Ints, Window
from engine.core.batching import folded
from engine.core.declarations import AUTOCAST_HALF, CallForms
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.shape_rules import require_float
from engine.core.sharding_rules import batch_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.conv.columns import Pairs, count_positions, pad_spatial, per_axis, tap, view_windows


def window_geometry(
    op: str, rank: int, kernel: Window, stride: Window, padding: Window, dilation: Window
) -> tuple[Ints, Ints, Pairs, Ints]:
    """Return kernel, stride, padding and dilation of each spatial axis."""
    if rank not in (1, 2, 3):
        raise ShapeError(f"{op} needs 1 to 3 spatial axes, got {rank}")
    widths = per_axis(f"{op}.padding", padding, rank, 0)
    return (
        per_axis(f"{op}.kernel", kernel, rank, 1),
        per_axis(f"{op}.stride", stride, rank, 1),
        tuple((width, width) for width in widths),
        per_axis(f"{op}.dilation", dilation, rank, 1),
    )


def _columns(op: str, shape: Shape, kernel: Window, stride: Window, padding: Window, dilation: Window) -> Shape:
    if len(shape) < 3:
        raise ShapeError(f"{op} needs images [N, C, *spatial], got {list(shape)}")
    kernels, strides, pairs, dilations = window_geometry(op, len(shape) - 2, kernel, stride, padding, dilation)
    extents = count_positions(op, shape[2:], kernels, strides, pairs, dilations)
    return shape[0], shape[1] * math.prod(kernels), math.prod(extents)


def _im2col(x: Value, *, kernel: Window, stride: Window, padding: Window, dilation: Window) -> Spec:
    return Spec(_columns("im2col", x.shape, kernel, stride, padding, dilation), require_float("im2col", x))


@primitive(
    shape_rule=_im2col,
    numerics=AUTOCAST_HALF,
    sharding=batch_axes("0", "0"),
    batching=folded(0),
    samples=[
        sample((1, 2, 3, 3), kernel=2),
        sample((2, 1, 4, 5), kernel=(2, 3), stride=2, padding=1),
        sample((1, 2, 5), kernel=2, dilation=2),
    ],
)
def im2col(
    x: Array, *, kernel: Window, stride: Window = 1, padding: Window = 0, dilation: Window = 1, out: Array | None = None
) -> Array:
    """The windows of x [N, C, *spatial] as columns [N, C * kernel elements, positions].

    PyTorch calls it nn.functional.unfold.
    """
    kernels, strides, pairs, dilations = window_geometry("im2col", x.ndim - 2, kernel, stride, padding, dilation)
    windows = view_windows(pad_spatial(x, pairs), kernels, strides, dilations)
    if out is None:
        out = np.empty(
            (x.shape[0], x.shape[1] * math.prod(kernels), math.prod(windows.shape[2 + len(kernels) :])), x.dtype
        )
    np.copyto(out.reshape(windows.shape, copy=False), windows)
    return out


@im2col.vjp
def _(g: Value, y: Value, x: Value, **window: Any) -> Value:
    return col2im(g, size=x.shape[2:], **window)


def _col2im(x: Value, *, size: Ints, kernel: Window, stride: Window, padding: Window, dilation: Window) -> Spec:
    if x.ndim != 3 or min(size, default=0) < 0:
        raise ShapeError(f"col2im needs columns [N, C * kernel elements, positions] and a size, got {list(x.shape)}")
    kernels = window_geometry("col2im", len(size), kernel, stride, padding, dilation)[0]
    shape = (x.shape[0], x.shape[1] // math.prod(kernels), *size)
    wanted = _columns("col2im", shape, kernel, stride, padding, dilation)
    if x.shape != wanted:
        raise ShapeError(
            f"col2im: columns {list(x.shape)} are not those of images {list(shape)}, which are {list(wanted)}"
        )
    return Spec(shape, require_float("col2im", x))


@primitive(
    shape_rule=_col2im,
    aliases=("fold",),
    call=CallForms(by_place=("size", "kernel", "dilation", "padding", "stride")),
    numerics=AUTOCAST_HALF,
    sharding=batch_axes("0", "0"),
    batching=folded(0),
    samples=[
        sample((1, 8, 4), size=(3, 3), kernel=2),
        sample((2, 6, 9), size=(4, 5), kernel=(2, 3), stride=2, padding=1),
        sample((1, 4, 3), size=(5,), kernel=2, dilation=2),
    ],
)
def col2im(
    x: Array,
    *,
    size: Ints,
    kernel: Window,
    stride: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    out: Array | None = None,
) -> Array:
    """Images [N, C, *size] in which each element is the sum of its copies in the columns x.

    The transpose of im2col; columns are [N, C * kernel elements, positions]. PyTorch calls it nn.functional.fold.
    """
    kernels, strides, pairs, dilations = window_geometry("col2im", len(size), kernel, stride, padding, dilation)
    extents = count_positions("col2im", size, kernels, strides, pairs, dilations)
    channels = x.shape[1] // math.prod(kernels)
    columns = x.reshape(x.shape[0], channels, *kernels, *extents)
    padded = tuple(e + low + high for e, (low, high) in zip(size, pairs, strict=True))
    images = np.zeros((x.shape[0], channels, *padded), np.float32 if x.dtype == np.float16 else x.dtype)
    for offset in np.ndindex(*kernels):
        place = images[(slice(None), slice(None), *tap(offset, extents, strides, dilations))]
        place += columns[(slice(None), slice(None), *offset)]
    result = pad_spatial(images, tuple((-low, -high) for low, high in pairs))
    if out is None:
        return np.ascontiguousarray(result, x.dtype)
    np.copyto(out, result, casting="same_kind")
    return out


@col2im.vjp
def _(g: Value, y: Value, x: Value, *, size: Ints, **window: Any) -> Value:
    return im2col(g, **window)
