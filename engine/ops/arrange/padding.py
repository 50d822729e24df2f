"""The transpose of pad's border modes, and pads of one axis."""

from __future__ import annotations

from typing import Literal

from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.value import Value
from engine.ops.reduce.reduce import sum
from engine.ops.shape.pad_modes import Pairs, check_border
from engine.ops.shape.shape import flip, pad, slice, slice_scatter

Mode = Literal["reflect", "replicate", "circular"]


@composite(
    samples=[
        sample((6, 3), widths=((1, 2), (0, 0)), mode="reflect"),
        sample((4, 5), widths=((1, 0), (0, 3)), mode="replicate"),
        sample((5,), widths=((1, 2),), mode="circular"),
    ]
)
def pad_back(x: Value, *, widths: Pairs, mode: Mode) -> Value:
    """The inner part of x with its borders of `widths` added to the elements pad took them from: its transpose."""
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
    """Turn what came into a border into what goes back to the elements it was taken from, in their order."""
    if mode == "replicate":
        return sum(border, axis=axis, keepdims=True)
    return flip(border, axis=axis) if mode == "reflect" else border


@composite(samples=[sample((2, 4), before=1, after=2)])
def pad_reflect_1d(x: Value, *, before: int, after: int) -> Value:
    """x with its last axis continued by reflection at both ends (ggml's pad_reflect_1d)."""
    if not x.ndim:
        raise ShapeError("pad_reflect_1d needs at least one axis")
    return pad(x, widths=((0, 0),) * (x.ndim - 1) + ((before, after),), mode="reflect")
