"""Parts of arrays at even distances, copied and added up: strided slices, windows and their sums, columns of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from engine.core.value import Array, Shape
from engine.execution.native.kernel import FLOATS
from engine.execution.native.kernels.arrangement import UNROLLED, copied, joined_calls, zeroed
from engine.execution.native.kernels.elementwise import BINARY_KERNELS, operands
from engine.execution.native.lowering import Call, Work, lowers
from engine.ops.conv.columns import count_positions
from engine.ops.conv.patches import window_geometry

MOST_TAPS = 64
"""Places in a window that take a call each."""


def added(x: Array, out: Array) -> list[Call] | None:
    """Return the calls that add an array to another of its shape."""
    if not out.size:
        return []
    if out.dtype not in FLOATS or x.dtype != out.dtype:
        return None
    words = operands(Work([out, x], [out], {}))
    return None if words is None else [Call(BINARY_KERNELS["add"], out.dtype, words)]


def _part(x: Array, shape: Shape, strides: Sequence[int], offset: int) -> Array:
    """Return the part of a row-major array, strides counted in elements."""
    steps = [step * x.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(x.reshape(-1, copy=False)[offset:], shape, steps)


@lowers("strided_slice")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    if not x.flags.c_contiguous:
        return None
    return copied(_part(x, out.shape, work.attrs["strides"], work.attrs["offset"]), out)


def _placed(work: Work, write: Callable[[Array, Array], list[Call] | None]) -> list[Call] | None:
    (x, y), (out,) = work.inputs, work.outputs
    if not out.flags.c_contiguous:
        return None
    part = _part(out, y.shape, work.attrs["strides"], work.attrs["offset"])
    return joined_calls(copied(x, out), write(y, part))


lowers("slice_set")(lambda work: _placed(work, copied))
lowers("slice_add")(lambda work: _placed(work, added))


@lowers("unfold_back")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    axis, step = work.attrs["axis"] % (x.ndim - 1), work.attrs["step"]
    windows = x.shape[axis]
    if x.shape[-1] > UNROLLED:
        return None
    lead = (slice(None),) * axis
    places = [slice(first, first + (windows - 1) * step + 1, step) for first in range(x.shape[-1])]
    return joined_calls(zeroed(out), *(added(x[..., i], out[(*lead, place)]) for i, place in enumerate(places)))


# -- columns of images ------------------------------------------------------------------------------------------------


def _parts(op: str, columns: Array, image: Array, attrs: Mapping[str, Any]) -> list[tuple[Array, Array]] | None:
    """Return, by places of a window, the parts of columns and those of the image that they hold; None of too many."""
    size = image.shape[2:]
    geometry = window_geometry(op, len(size), *(attrs[name] for name in ("kernel", "stride", "padding", "dilation")))
    extents = count_positions(op, size, *geometry)
    if math.prod(geometry[0]) > MOST_TAPS or not columns.flags.c_contiguous:
        return None
    apart = columns.reshape(*image.shape[:2], *geometry[0], *extents, copy=False)
    every, found = (slice(None), slice(None)), []
    for offset in product(*map(range, geometry[0])):
        axes = [_met(*axis) for axis in zip(offset, *geometry[1:], extents, size, strict=True)]
        windows, places = zip(*axes, strict=True)
        found.append((apart[(*every, *offset, *windows)], image[(*every, *places)]))
    return found


def _met(
    offset: int, stride: int, padding: tuple[int, int], dilation: int, count: int, extent: int
) -> tuple[slice, slice]:
    """Return which windows along an axis have their place `offset` in the image, and where."""
    shift = offset * dilation - padding[0]
    first = max(-(shift // stride), 0)
    last = max(min((extent - 1 - shift) // stride + 1, count), first)
    return slice(first, last), slice(first * stride + shift, last * stride + shift, stride)


@lowers("im2col")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    parts = _parts("im2col", out, x, work.attrs)
    return None if parts is None else joined_calls(zeroed(out), *(copied(place, column) for column, place in parts))


@lowers("col2im")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    parts = _parts("col2im", x, out, work.attrs)
    return None if parts is None else joined_calls(zeroed(out), *(added(column, place) for column, place in parts))
