"""Differences of neighbours, the trapezoidal rule, and gradients of sampled functions (numpy.gradient)."""

from __future__ import annotations

from engine.core.attributes import Axes
from engine.core.declarations import AUTOCAST_FLOAT32, COMPUTE_FLOAT32, CallForms
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import Argument, sample
from engine.core.shape_rules import normalize_axis, require_axes, require_float
from engine.core.value import Value
from engine.ops.reduce.reduce import sum
from engine.ops.reduce.scan import cumsum
from engine.ops.shape.shape import broadcast_to, concat, reshape, slice


@composite(
    call=CallForms(orders=(("x", "order", "axis", "prepend", "append"),)),
    samples=[sample((4,)), sample((2, 3), axis=0), sample((2, 3), (2, 1), (2, 2), order=2)],
)
def diff(
    x: Value, prepend: Value | None = None, append: Value | None = None, *, order: int = 1, axis: int = -1
) -> Value:
    """The difference of each element and the one before it along `axis`, applied `order` times.

    The extent shrinks by one each time. `prepend` and `append` are concatenated to x along `axis` first.
    """
    if not x.ndim or order < 0:
        raise (
            AttributeValueError(f"diff: order {order} must be at least 0")
            if x.ndim
            else ShapeError("diff needs an input with at least one axis")
        )
    place = normalize_axis(axis, x.ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    if not order:
        return x
    x = concat(*parts, axis=place) if len(parts) > 1 else x
    for _ in range(min(order, x.shape[place])):
        x = slice(x, axis=place, start=1) - slice(x, axis=place, stop=-1)
    return x


def _areas(op: str, y: Value, x: Value | None, dx: float, place: int) -> Value:
    """Return the areas between neighbours along an axis."""
    sums = slice(y, axis=place, start=1) + slice(y, axis=place, stop=-1)
    if x is None:
        return sums * (dx * 0.5)
    if x.ndim == 1:
        if x.size != y.shape[place]:
            raise ShapeError(f"{op}: {x.size} places for {y.shape[place]} numbers")
        x = reshape(x, shape=(x.size, *(1,) * (y.ndim - 1 - place)))
    else:
        x = broadcast_to(x, shape=y.shape)
    return sums * diff(x, axis=place - y.ndim if x.ndim == y.ndim else 0) * 0.5


def _checked(op: str, y: Value, axis: int) -> int:
    if not y.ndim or not y.shape[normalize_axis(axis, y.ndim)]:
        raise ShapeError(f"{op} needs an axis of extent at least 1, got shape {list(y.shape)}")
    return normalize_axis(axis, y.ndim)


@composite(
    aliases=("trapz",),
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((4,), dx=0.5), sample((2, 3), (3,)), sample((3, 2), (3, 2), axis=0)],
)
def trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1) -> Value:
    """The area below the points (x, y) along `axis` by the trapezoidal rule; without x their distance is `dx`."""
    place = _checked("trapezoid", y, axis)
    return sum(_areas("trapezoid", y, x, dx, place), axis=place)


@composite(
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((4,), dx=0.5), sample((2, 3), (3,)), sample((3, 2), (3, 2), axis=0)],
)
def cumulative_trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1) -> Value:
    """The area below the points (x, y) from the first one to each of the others: see trapezoid."""
    place = _checked("cumulative_trapezoid", y, axis)
    return cumsum(_areas("cumulative_trapezoid", y, x, dx, place), axis=place)


def _rising(*shape: int) -> Argument:
    """Draw coordinates at least 0.5 apart."""
    return Argument(shape, lambda g, shape: (g.uniform(0.5, 1.5, shape)).cumsum())


def _slopes(x: Value, places: Value | None, step: float, place: int, edge_order: int) -> Value:
    """Return the derivatives along an axis: of the parabola through three points, at the ends of the secant."""
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
    numerics=COMPUTE_FLOAT32,
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
    """The derivatives of the first input along each axis in `axis` (by default all), as PyTorch's gradient.

    The points are `spacing` apart, one number or one for each axis, or have the coordinates in the other inputs, one
    vector for each axis. Inner derivatives are those of the parabola through three points, those at the ends of the
    line through two, or with an edge_order of 2 of the parabola.
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
