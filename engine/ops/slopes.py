"""Slopes of sampled functions by finite differences, exact for parabolas inside (and at the ends, if so asked)."""

from __future__ import annotations

from engine.core.attributes import Axes
from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import Argument, sample
from engine.core.shape_rules import normalize_axis, require_axes, require_float
from engine.core.value import Value
from engine.ops.differences import diff
from engine.ops.shape import concat, reshape, slice


def _rising(*shape: int) -> Argument:
    """Draw places at least 0.5 apart."""
    return Argument(shape, lambda g, shape: (g.uniform(0.5, 1.5, shape)).cumsum())


def _slopes(x: Value, places: Value | None, step: float, place: int, edge_order: int) -> Value:
    """The slopes along an axis: of the parabola through three points, at the ends of the line through two."""
    if places is None:
        slopes = diff(x, axis=place) / step
    else:
        steps = reshape(diff(places), shape=(places.size - 1, *(1,) * (x.ndim - 1 - place)))
        slopes = diff(x, axis=place) / steps
    left, right = slice(slopes, axis=place, stop=-1), slice(slopes, axis=place, start=1)
    if places is None:
        inner = (left + right) * 0.5
    else:
        before, after = slice(steps, axis=0, stop=-1), slice(steps, axis=0, start=1)
        inner = (left * after + right * before) / (before + after)
    first, last = slice(slopes, axis=place, stop=1), slice(slopes, axis=place, start=-1)
    if edge_order == 2:
        # A parabola's slope changes evenly, and halfway along a step it is the slope of the line.
        first = first * 2.0 - slice(inner, axis=place, stop=1)
        last = last * 2.0 - slice(inner, axis=place, start=-1)
    return concat(first, inner, last, axis=place)


def _axes(x: Value, axis: Axes, edge_order: int) -> list[int]:
    require_float("gradient", x)
    require_axes("gradient", x)
    if edge_order not in (1, 2):
        raise AttributeValueError(f"gradient: edge_order {edge_order} must be 1 or 2")
    wanted = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [normalize_axis(one, x.ndim) for one in wanted]
    if not axes or len(set(axes)) != len(axes):
        raise ShapeError(f"gradient: axis {list(wanted)} must name at least one axis, and none twice")
    for one in axes:
        if x.shape[one] <= edge_order:
            raise ShapeError(f"gradient: axis {one} of {list(x.shape)} needs an extent of at least {edge_order + 1}")
    return axes


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[
        sample((4,), spacing=0.5),
        sample((3, 4), spacing=(0.5, 2.0), edge_order=2),
        sample((3, 4), _rising(4), axis=-1),
        sample((2, 3, 4), _rising(4), _rising(3), axis=(2, 1), edge_order=2),
    ],
)
def gradient(
    *xs: Value, spacing: float | tuple[float, ...] = 1.0, axis: Axes = None, edge_order: int = 1
) -> tuple[Value, ...]:
    """The slopes of the first input along each axis in `axis` (by default all), as PyTorch's gradient.

    The points are `spacing` apart, one number or one for each axis, or lie at the places in the other inputs, one
    vector for each axis. Inside the slope is that of the parabola through three points, at the ends that of the line
    through two, or with an edge_order of 2 of the parabola.
    """
    x, *places = xs
    axes = _axes(x, axis, edge_order)
    steps = spacing if isinstance(spacing, tuple) else (spacing,) * len(axes)
    if len(steps) != len(axes) or 0.0 in steps:
        raise AttributeValueError(f"gradient: spacing {spacing} must be a number but 0, or one for each of {axes}")
    if not places:
        return tuple(_slopes(x, None, step, one, edge_order) for step, one in zip(steps, axes, strict=True))
    if len(places) != len(axes) or spacing != 1.0:
        raise ShapeError(f"gradient: {len(places)} vectors of places for the axes {axes}, beside spacing {spacing}")
    for along, one in zip(places, axes, strict=True):
        if along.shape != (x.shape[one],):
            raise ShapeError(f"gradient: axis {one} of {list(x.shape)} needs as many places, got {list(along.shape)}")
    return tuple(_slopes(x, along, 1.0, one, edge_order) for along, one in zip(places, axes, strict=True))
