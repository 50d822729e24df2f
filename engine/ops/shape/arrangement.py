"""Ops that move axes and elements without changing them."""

from __future__ import annotations

import math
from typing import Literal

from engine.core.attributes import Ints
from engine.core.errors import AttributeValueError, LimitError, ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Value
from engine.ops.shape.shape import MOST_PARTS, broadcast_to, concat, permute, reshape, slice, squeeze


@composite(samples=[sample((2, 3)), sample((2, 3), axis=-1)])
def unbind(x: Value, *, axis: int = 0) -> tuple[Value, ...]:
    """The slices of x along `axis`, without that axis."""
    place = normalize_axis(axis, x.ndim)
    if not x.ndim or not x.shape[place]:
        raise ShapeError(f"unbind needs an axis of extent at least 1, got shape {list(x.shape)} and axis {axis}")
    if x.shape[place] > MOST_PARTS:
        raise LimitError(f"unbind: axis {axis} has extent {x.shape[place]}, more than {MOST_PARTS}; use slice or split")
    return tuple(squeeze(slice(x, axis=place, start=i, stop=i + 1), axis=place) for i in range(x.shape[place]))


@composite(samples=[sample((5,), shifts=2), sample((2, 3), shifts=(1, -1), axis=(0, 1)), sample((2, 3), shifts=4)])
def roll(x: Value, *, shifts: int | Ints, axis: int | Ints | None = None) -> Value:
    """x with its elements shifted by `shifts` along `axis`, cyclically.

    Without an axis the flattened elements are rolled.
    """
    if axis is None:
        return reshape(roll(reshape(x, shape=(math.prod(x.shape),)), shifts=shifts, axis=0), shape=x.shape)
    moves = (shifts,) if isinstance(shifts, int) else shifts
    axes = (axis,) if isinstance(axis, int) else axis
    if len(moves) != len(axes):
        raise AttributeValueError(f"roll: {len(moves)} shifts for {len(axes)} axes; give one for each")
    for move, place in zip(moves, [normalize_axis(a, x.ndim) for a in axes], strict=True):
        cut = -move % x.shape[place] if x.size else 0
        if cut:
            x = concat(slice(x, axis=place, start=cut), slice(x, axis=place, stop=cut), axis=place)
    return x


@composite(
    aliases=("moveaxis",),
    samples=[sample((2, 3, 4), source=0, destination=2), sample((2, 3, 4), source=(0, 1), destination=(-1, 0))],
)
def movedim(x: Value, *, source: int | Ints, destination: int | Ints) -> Value:
    """x with the axes `source` moved to the positions `destination`; the others keep their order."""
    taken = [normalize_axis(axis, x.ndim) for axis in ((source,) if isinstance(source, int) else source)]
    places = [normalize_axis(a, x.ndim) for a in ((destination,) if isinstance(destination, int) else destination)]
    if len(taken) != len(places) or len(set(taken)) != len(taken) or len(set(places)) != len(places):
        raise AttributeValueError(
            f"movedim: source {source} and destination {destination} must name equally many axes, each once"
        )
    order = [axis for axis in range(x.ndim) if axis not in taken]
    for place, axis in sorted(zip(places, taken, strict=True)):
        order.insert(place, axis)
    return permute(x, axes=tuple(order))


@composite(samples=[sample((2,), (3,)), sample((2,), (3,), (2,), indexing="xy")])
def meshgrid(*xs: Value, indexing: Literal["ij", "xy"] = "ij") -> tuple[Value, ...]:
    """The coordinates of the grid of several vectors: result k varies along axis k as vector k does.

    With indexing "xy" the first two axes are exchanged, as in NumPy.
    """
    if not xs or any(x.ndim > 1 for x in xs):
        raise ShapeError(f"meshgrid needs vectors, got shapes {', '.join(str(list(x.shape)) for x in xs) or 'none'}")
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[:2] = 1, 0
    shape = tuple(xs[k].size for k in order)
    return tuple(
        broadcast_to(
            reshape(x, shape=tuple(x.size if axis == order.index(k) else 1 for axis in range(len(xs)))), shape=shape
        )
        for k, x in enumerate(xs)
    )
