"""Sliding windows along one axis, and the sum of windows where they overlap."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.core.batching import along
from engine.core.declarations import Memory
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Array, Spec, Value
from engine.ops.shape.shape import reshape


def _count(extent: int, size: int, step: int) -> int:
    return (extent - size) // step + 1


def _unfold(x: Value, *, axis: int, size: int, step: int) -> Spec:
    place = normalize_axis(axis, x.ndim)
    if size < 1 or step < 1:
        raise AttributeValueError(f"unfold: size {size} and step {step} must be at least 1")
    if not x.ndim and size == 1:
        return Spec((1,), x.dtype)  # a number is a vector of one element
    if not x.ndim or size > x.shape[place]:
        raise ShapeError(f"unfold: windows of {size} do not fit axis {axis} of shape {list(x.shape)}")
    return Spec((*x.shape[:place], _count(x.shape[place], size, step), *x.shape[place + 1 :], size), x.dtype)


@primitive(
    shape_rule=_unfold,
    memory=Memory(view="strided"),
    samples=[sample((5,), axis=0, size=2), sample((2, 6, 2), axis=1, size=3, step=2)],
)
def unfold(x: Array, *, axis: int, size: int, step: int = 1) -> Array:
    """Windows of `size` elements every `step` along `axis`: their number replaces it, their elements come last."""
    if not x.ndim:
        return x.reshape(1)
    place = axis % x.ndim
    shape = (*x.shape[:place], _count(x.shape[place], size, step), *x.shape[place + 1 :], size)
    strides = list(x.strides)
    strides[place] *= step
    return as_strided(x, shape, (*strides, x.strides[place]), writeable=False)


unfold.batch(along("axis"))


@unfold.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, size: int, step: int) -> Value:
    if not x.ndim:
        return reshape(g, shape=())
    place = normalize_axis(axis, x.ndim)
    return unfold_back(g, axis=place, extent=x.shape[place], step=step)


def _unfold_back(x: Value, *, axis: int, extent: int, step: int) -> Spec:
    place = normalize_axis(axis, max(x.ndim - 1, 1))
    if x.ndim < 2 or step < 1 or x.shape[-1] > extent or x.shape[place] != _count(extent, x.shape[-1], step):
        raise ShapeError(
            f"unfold_back: {list(x.shape)} are not the windows every {step} along axis {axis} of extent {extent}"
        )
    return Spec((*x.shape[:place], extent, *x.shape[place + 1 : -1]), x.dtype)


@primitive(
    shape_rule=_unfold_back, samples=[sample((4, 2), axis=0, extent=5), sample((2, 2, 2, 3), axis=1, extent=6, step=2)]
)
def unfold_back(x: Array, *, axis: int, extent: int, step: int = 1, out: Array | None = None) -> Array:
    """The sum of windows where they overlap, along an axis of `extent` elements: the transpose of unfold."""
    place = axis % (x.ndim - 1)
    windows = x.shape[place]
    wide = np.zeros(
        (*x.shape[:place], extent, *x.shape[place + 1 : -1]), np.float32 if x.dtype == np.float16 else x.dtype
    )
    lead = (slice(None),) * place
    for offset in range(x.shape[-1]):
        wide[(*lead, slice(offset, offset + (windows - 1) * step + 1, step))] += x[..., offset]
    if out is None:
        return wide.astype(x.dtype, copy=False)
    np.copyto(out, wide, casting="same_kind")
    return out


unfold_back.batch(along("axis"))


@unfold_back.vjp
def _(g: Value, y: Value, x: Value, *, axis: int, step: int) -> Value:
    return unfold(g, axis=normalize_axis(axis, x.ndim - 1), size=x.shape[-1], step=step)
