"""Repeating a value whole or element by element, and the transposes of repetition and of pad's border modes."""

from __future__ import annotations

import builtins
import math
from typing import Literal

import numpy as np

from engine.core.attributes import Ints
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Shape, Value, as_value
from engine.ops.index.index import index_select
from engine.ops.reduce.reduce import sum
from engine.ops.shape.pad_modes import Pairs, check_border
from engine.ops.shape.shape import broadcast_to, flip, pad, reshape, slice, slice_scatter


def _interleaved(outer: Ints, inner: Shape) -> Shape:
    """Return the extents of one after the other in turn: (outer0, inner0, outer1, inner1, ...)."""
    return tuple(extent for pair in zip(outer, inner, strict=True) for extent in pair)


@composite(aliases=("tile",), samples=[sample((2, 3), repeats=(2, 1)), sample((2,), repeats=(3, 2))])
def repeat(x: Value, *, repeats: Ints) -> Value:
    """x tiled `repeats` times along each axis; more repeats than axes add axes in front (NumPy's tile)."""
    if any(times < 0 for times in repeats):
        raise AttributeValueError(f"repeat: repeats {list(repeats)} must be at least 0")
    rank = max(len(repeats), x.ndim)
    times = (1,) * (rank - len(repeats)) + repeats
    shape = (1,) * (rank - x.ndim) + x.shape
    apart = reshape(x, shape=_interleaved((1,) * rank, shape))
    copies = broadcast_to(apart, shape=_interleaved(times, shape))
    return reshape(copies, shape=tuple(t * extent for t, extent in zip(times, shape, strict=True)))


@composite(samples=[sample((4, 3), shape=(2, 3)), sample((2, 4), shape=(2,))])
def repeat_back(x: Value, *, shape: Ints) -> Value:
    """The sum of the tiles of `shape` that x consists of: the transpose of repeat."""
    extra = x.ndim - len(shape)
    padded = (1,) * extra + shape
    if extra < 0 or any(part < 1 or extent % part for extent, part in zip(x.shape, padded, strict=True)):
        raise ShapeError(f"repeat_back: shape {list(x.shape)} is not made of whole tiles of {list(shape)}")
    times = tuple(extent // part for extent, part in zip(x.shape, padded, strict=True))
    tiles = reshape(x, shape=_interleaved(times, padded))
    return reshape(sum(tiles, axis=tuple(range(0, tiles.ndim, 2))), shape=shape)


@composite(
    samples=[sample((2, 3), repeats=2), sample((2, 3), repeats=3, axis=1), sample((2, 3), repeats=(2, 0, 1), axis=1)]
)
def repeat_interleave(x: Value, *, repeats: int | Ints, axis: int | None = None) -> Value:
    """Each element of x along `axis`, or of the flattened x, `repeats` times in a row.

    A list has one number per element.
    """
    if not isinstance(repeats, int):
        return _repeated(x, repeats, axis)
    if repeats < 0:
        raise AttributeValueError(f"repeat_interleave: repeats {repeats} must be at least 0")
    flat = reshape(x, shape=(math.prod(x.shape),)) if axis is None or not x.ndim else x
    after = 1 + (0 if axis is None else normalize_axis(axis, flat.ndim))
    before, behind = flat.shape[:after], flat.shape[after:]
    copies = broadcast_to(reshape(flat, shape=(*before, 1, *behind)), shape=(*before, repeats, *behind))
    return reshape(copies, shape=(*before[:-1], before[-1] * repeats, *behind))


def _repeated(x: Value, repeats: Ints, axis: int | None) -> Value:
    """Repeat each slice of an axis, or element, its own number of times; one number applies to all."""
    flat = reshape(x, shape=(math.prod(x.shape),)) if axis is None or not x.ndim else x
    place = 0 if axis is None else normalize_axis(axis, flat.ndim)
    extent = flat.shape[place]
    if len(repeats) not in (1, extent) or min(repeats, default=0) < 0:
        raise AttributeValueError(
            f"repeat_interleave: repeats must hold 1 or {extent} numbers, each at least 0, got {list(repeats)[:10]}"
        )
    charge_table("repeat_interleave", extent)
    times = repeats * extent if len(repeats) == 1 else repeats
    charge_table("repeat_interleave", builtins.sum(times))
    return index_select(flat, as_value(np.repeat(np.arange(extent), times)), axis=place)


Mode = Literal["reflect", "replicate", "circular"]


@composite(
    samples=[
        sample((6, 3), widths=((1, 2), (0, 0)), mode="reflect"),
        sample((4, 5), widths=((1, 0), (0, 3)), mode="replicate"),
        sample((5,), widths=((1, 2),), mode="circular"),
    ]
)
def pad_back(x: Value, *, widths: Pairs, mode: Mode) -> Value:
    """The transpose of pad: the inner part of x.

    Its borders of `widths` are added to the elements they were copied from.
    """
    if len(widths) != x.ndim or any(e < low + high for e, (low, high) in zip(x.shape, widths, strict=True)):
        raise ShapeError(
            f"pad_back: widths {[list(pair) for pair in widths]} are not those of a pad to {list(x.shape)}"
        )
    check_border(tuple(e - low - high for e, (low, high) in zip(x.shape, widths, strict=True)), widths, mode)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = _folded(x, axis, before, after, mode)
    return x


def _folded(x: Value, axis: int, before: int, after: int, mode: Mode) -> Value:
    extent = x.shape[axis] - before - after
    places = {"reflect": (1, extent - 1 - after), "replicate": (0, extent - 1), "circular": (extent - before, 0)}
    inner = slice(x, axis=axis, start=before, stop=before + extent)
    borders = (slice(x, axis=axis, stop=before), slice(x, axis=axis, start=before + extent))
    for border, start in zip(borders, places[mode], strict=True):
        if border.shape[axis]:
            inner = inner + slice_scatter(_source(border, axis, mode), axis=axis, extent=extent, start=start)
    return inner


def _source(border: Value, axis: int, mode: Mode) -> Value:
    """Return the elements of a border in the order of the elements that they were copied from."""
    if mode == "replicate":
        return sum(border, axis=axis, keepdims=True)
    return flip(border, axis=axis) if mode == "reflect" else border


@composite(samples=[sample((2, 4), before=1, after=2)])
def pad_reflect_1d(x: Value, *, before: int, after: int) -> Value:
    """x with its last axis continued by reflection at both ends (ggml's pad_reflect_1d)."""
    if not x.ndim:
        raise ShapeError("pad_reflect_1d needs at least one axis")
    return pad(x, widths=((0, 0),) * (x.ndim - 1) + ((before, after),), mode="reflect")
